// The training steps that a run measured: a model's layers by batch size. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baselines/scale/step.h"
#include "baselines/versus/versus_models.h"

namespace dlroof {

// A layer's problem without its batch size.
struct LayerShape {
  int64_t batch = 1;       // [1]
  int64_t parameters = 0;  // [1] each has a gradient
  std::string problem;     // with a batch of 1
};
// Returns the shape of a benchmark's call; absent where its op has no parameters or no batch size.
using ShapeOf = std::function<std::optional<LayerShape>(const Record& record)>;

// One type and library of a model's layers, at the batch sizes at which the same layers were timed.
struct MeasuredSteps {
  std::string model, type, library;
  double layers = 0;                             // [1] of the model, each as often as it occurs
  double timed = 0;                              // [1] of these that count below
  std::map<int64_t, std::vector<StepLayer>> at;  // by batch size; not empty
  std::vector<std::string> missing;              // problems without a time, each once
  bool disturbed = false;                        // a time is an estimate

  int64_t least_batch() const { return at.begin()->first; }
  int64_t most_batch() const { return at.rbegin()->first; }
};

// Returns the steps of each type and library of which the run timed a layer's forward pass and its
// gradients. `gradient_bytes`: [byte] of one parameter's gradient.
std::vector<MeasuredSteps> StepsOf(const PlacedRun& run, const Model& model,
                                   const ShapeOf& shape_of, const IsManner& is_manner,
                                   double gradient_bytes);

// Returns the layers at a batch size. Between two measured ones each time lies on the line between
// the two; absent beyond them.
std::optional<std::vector<StepLayer>> LayersAt(const MeasuredSteps& steps, double batch);

}  // namespace dlroof
