// The convolutions that dlroof model is asked about: of a problem, of suites, of a run file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/conv2d/problem.h"
#include "counters/delta/source.h"
#include "counters/work.h"
#include "reporters/record/run_file.h"

namespace dlroof {

struct ModelLayer {
  std::string name;  // the problem's text, or the record's name
  ConvQuestion question;
  double count = 1;  // [1] times that it occurs in the model
  // Measured values of a run file's record. Absent: not measured.
  std::optional<double> measured_seconds;  // [s]
  std::map<Level, double> measured_bytes;  // [byte]
};

// A record that the model says nothing of.
struct NotPredicted {
  std::string name, reason;  // one sentence
};

struct LayerGroup {
  std::string name;  // suite, problem or file
  std::vector<ModelLayer> layers;
  std::vector<NotPredicted> not_predicted;  // of a run file alone
};

// Choices of the command line for every layer.
struct LayerChoice {
  ProductDirection direction = ProductDirection::kForward;
  TensorLayout layout = TensorLayout::kNchw;
  std::string type = "f32";
  std::optional<int64_t> batch;  // replaces the problem's
};

// Throws BadInput for a text that is no problem, or a batch beyond 64 bits' worth of elements.
LayerGroup LayersOfProblem(const std::string& text, const LayerChoice& choice);

// Each convolution of the suites' lines that has this direction, once, with how often it occurs;
// types, devices and libraries of the lines do not matter. Throws BadInput: what SelectSuites
// refuses, or a suite without such a convolution.
std::vector<LayerGroup> LayersOfSuites(const std::vector<std::string>& suites,
                                       const LayerChoice& choice);

// The convolutions that a GPU ran, with their own types, layouts and kernels, and with the counters
// and times that they have (a kernel is named by its algorithm or by CUPTI's trace); what is no
// problem the model could be asked about is not predicted. Throws BadInput when there is none of
// either.
LayerGroup LayersOfRunFile(const RunFile& file, const std::string& path);

}  // namespace dlroof
