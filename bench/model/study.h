// The computations of `dlroof model`: the GPU and its parameters, the convolutions of a problem, of
// suites or of a run file, and the predictions of groups of layers for a design, for what-if
// designs and for sweeps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/conv2d/case.h"
#include "ceilings/machine/machine.h"
#include "counters/base/work.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/prediction.h"
#include "reporters/record/run_file.h"

namespace dlroof::model {

// Returns `gpu` with the ceilings of `machine` in place of its rates (bytes per level, FLOPs per
// pipe, launch), if they are specified, or measured on the GPU and validated. Throws BadInput for a
// machine that is not a GPU.
delta::GpuSpec WithCeilings(delta::GpuSpec gpu, const machine::Machine& machine);

struct GpuChoice {
  std::optional<std::string> gpu;             // --machine; null if absent
  const machine::Machine* machine = nullptr;  // the run file that is the input, or null
  const record::RunFile* run = nullptr;       // the run file that is modelled, or null
  std::string run_path;                       // path of that run file, for messages
};

// Returns the GPU that --gpu names, or else that of the run file, of the machine file, or "v100".
// Its ceilings come from the machine file, or else from the run file if --gpu is absent. Throws
// BadInput if FindGpu or WithCeilings does, for a GPU without built-in parameters, and for ceilings
// of another GPU than the built-in one (a parameter file accepts any ceilings).
delta::GpuSpec ChosenGpu(const GpuChoice& choice);

struct ModelLayer {
  std::string name;  // the problem's text, or the name of a run file's record
  delta::ConvQuestion question;
  double count = 1;                        // [1] occurrences in the model
  std::optional<double> measured_seconds;  // [s] in a run file; absent if not measured
  std::map<Level, double> measured_bytes;  // [byte] in a run file, at the measured levels
};

// A record that the model does not cover, with the reason in one sentence.
struct NotPredicted {
  std::string name, reason;
};

struct LayerGroup {
  std::string name;  // name of a suite, problem or file
  std::vector<ModelLayer> layers;
  std::vector<NotPredicted> not_predicted;  // only of a run file
};

// The user's choices, which apply to every layer.
struct LayerChoice {
  ProductDirection direction = ProductDirection::kForward;
  delta::TensorLayout layout = delta::TensorLayout::kNchw;
  std::string type = "f32";
  std::optional<int64_t> batch;  // replaces the batch of the problem
};

// Throws BadInput for an invalid problem, or for a batch whose tensors overflow 64 bits.
LayerGroup LayersOfProblem(const std::string& text, const LayerChoice& choice);

// Returns each convolution of the chosen direction in the suites once, with its number of
// occurrences. Ignores the types, devices and libraries in the suites. Throws BadInput if
// SelectSuites does, and for a suite without such a convolution.
std::vector<LayerGroup> LayersOfSuites(const std::vector<std::string>& suites,
                                       const LayerChoice& choice);

// Returns the convolutions that a GPU ran, with their own types, layouts, kernels (named by the
// record's algorithm or CUPTI's trace), counters and times. Records that the model does not cover
// are in `not_predicted`. Throws BadInput if there are no convolutions of a GPU.
LayerGroup LayersOfRunFile(const record::RunFile& file, const std::string& path);

// A GPU, possibly with scaled resources and an additional tile. A layer uses that tile if it is
// faster, as with a tuned library.
struct Design {
  std::string name;  // "sm=2,dram=1.5", or "" for the unchanged GPU
  delta::GpuSpec gpu;
  std::optional<delta::CtaTile> tile;
};

// Applies "sm=2,dram=1.5,tile=256x128" to a design. Throws BadInput for another syntax, if Scaled
// does, for a tile size that is no multiple of 8 from 16 to 512, and for a repeated resource.
Design Rescaled(const Design& design, const std::string& scales);

struct PredictedLayer {
  ModelLayer layer;
  delta::ConvPrediction prediction;
  double seconds = 0;  // [s] of one call: the longer one of kernel time and launch time
};

struct PredictedGroup {
  std::string name;
  std::vector<PredictedLayer> layers;
  double seconds = 0;                                 // [s] of all calls of all layers
  std::map<delta::Bottleneck, double> bound_seconds;  // [s] of all calls with that bottleneck
  std::vector<NotPredicted> not_predicted;            // as in the LayerGroup
};

// Returns the group with those layers moved to `not_predicted`, with the reason, that the model
// does not cover on this GPU. Throws BadInput with the first reason if no layer is left.
LayerGroup OnlyPredicted(const LayerGroup& group, const delta::GpuSpec& gpu);

// Predicts a group. Throws as PredictConv, with the layer's name.
PredictedGroup Predict(const LayerGroup& group, const Design& design);

// Adds each layer's prediction (bytes at L1, L2 in tile form, and DRAM) to the file's records of
// that name, next to the measured values.
void SetPredictions(const PredictedGroup& group, const delta::GpuSpec& gpu, record::RunFile& file);

// The speed-up of a group if one resource is doubled. GainsOfDoubling returns the largest first.
struct Gain {
  std::string resource;
  double speedup = 1;  // [1]
};
std::vector<Gain> GainsOfDoubling(const LayerGroup& group, const Design& design);

// The factors of one resource in a sweep: "dram=1:4:0.5" means 1, 1.5, ... 4.
struct SweepAxis {
  std::string resource;
  std::vector<double> factors;
};
// Parses the axis of one resource, or two axes separated by a comma. Throws BadInput for another
// syntax, more than 64 values, and a resource that cannot be scaled.
std::vector<SweepAxis> ParseSweep(const std::string& text);

struct DesignPoint {
  std::vector<double> factors;                                 // one for each axis
  double speedup = 1;                                          // [1] against the unchanged design
  delta::Bottleneck bottleneck = delta::Bottleneck::kCompute;  // the bottleneck with the most time
};
std::vector<DesignPoint> Sweep(const LayerGroup& group, const Design& design,
                               const std::vector<SweepAxis>& axes);

// Returns the bottleneck that accounts for most of the group's time.
delta::Bottleneck MainBottleneck(const PredictedGroup& group);

// Returns predicted / measured - 1 [1] for each of "time", "l1", "l2" and "dram" that is measured.
std::map<std::string, double> Residuals(const PredictedLayer& layer);
// Return mean and median of the absolute residuals over a group's layers, by the same keys.
std::map<std::string, double> MeanAbsoluteResiduals(const PredictedGroup& group);
std::map<std::string, double> MedianAbsoluteResiduals(const PredictedGroup& group);

}  // namespace dlroof::model
