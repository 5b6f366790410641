// GPU of `dlroof model`, and its measured figures. Pure.
//
// `dlroof model`: the convolutions that it is asked about, of a problem, of suites, of a run file
// (layers.cpp); its answer, predictions of groups of layers on a design, what-if designs beside it,
// sweeps (study.cpp). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/conv2d/case.h"
#include "ceilings/machine/machine.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/prediction.h"
#include "counters/work.h"
#include "reporters/record/run_file.h"

namespace dlroof::predict {

// Ceilings that are given, or were measured on the GPU and passed their self-proof, in place of the
// parameter file's rates: bytes per level, FLOPs per pipe; and the launch. Throws BadInput for a
// machine that is no GPU.
delta::GpuSpec WithCeilings(delta::GpuSpec gpu, const machine::Machine& machine);

struct GpuChoice {
  std::string gpu;  // --gpu: a built-in name or a file's path; empty: not given
  const machine::Machine* machine = nullptr;  // --machine; null: not given
  const record::RunFile* run = nullptr;       // the run file asked about; null: none
  std::string run_path;                       // for messages
};

// The GPU that is named, else the one that ran the run file, else the machine file's, else "v100".
// Ceilings are the machine file's; without one, and where nobody named a GPU, the run file's.
// Throws BadInput in one sentence: what FindGpu and WithCeilings refuse, a GPU that is not named
// and not known, ceilings of another GPU than the built-in one (a parameter file of one's own takes
// any).
delta::GpuSpec ChosenGpu(const GpuChoice& choice);

struct ModelLayer {
  std::string name;  // the problem's text, or the record's name
  delta::ConvQuestion question;
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
  delta::TensorLayout layout = delta::TensorLayout::kNchw;
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
LayerGroup LayersOfRunFile(const record::RunFile& file, const std::string& path);

// A GPU, perhaps changed, and a tile that it also has: a layer takes it where that is faster, as a
// library that tunes would.
struct Design {
  std::string name;  // "sm=2,dram=1.5"; empty: as it is
  delta::GpuSpec gpu;
  std::optional<delta::CtaTile> tile;
};

// "sm=2,dram=1.5,tile=256x128" of a design. Throws BadInput: not of that form, what Scaled refuses,
// a tile outside multiples of 8 from 16 to 512, a resource twice.
Design Rescaled(const Design& design, const std::string& scales);

struct PredictedLayer {
  ModelLayer layer;
  delta::ConvPrediction prediction;
  double seconds = 0;  // [s] of one call: the kernel, or its launch where that takes longer
};

struct PredictedGroup {
  std::string name;
  std::vector<PredictedLayer> layers;
  double seconds = 0;                                 // [s] all calls of all layers
  std::map<delta::Bottleneck, double> bound_seconds;  // [s] of the calls that each resource bounds
  std::vector<NotPredicted> not_predicted;            // the group's
};

// A run file's group without those layers that the model refuses on this GPU, which are not
// predicted, each with its reason. Throws BadInput, with the first reason, when none is left.
LayerGroup OnlyPredicted(const LayerGroup& group, const delta::GpuSpec& gpu);

// `exact`: bytes by enumeration. Throws what PredictConv refuses, with the layer's name.
PredictedGroup Predict(const LayerGroup& group, const Design& design, bool exact);

// Puts each layer's prediction, bytes at L1, L2 (tile form) and DRAM, beside what was measured:
// into the file's records of that name.
void SetPredictions(const PredictedGroup& group, const delta::GpuSpec& gpu, record::RunFile& file);

// Speed-up of the group by twice of one resource, the most useful first.
struct Gain {
  std::string resource;
  double speedup = 1;  // [1]
};
std::vector<Gain> GainsOfDoubling(const LayerGroup& group, const Design& design);

// A resource's values: "dram=1:4:0.5" is 1, 1.5, ... 4.
struct SweepAxis {
  std::string resource;
  std::vector<double> factors;
};
// One axis or two, with a comma between. Throws BadInput: not of that form, more than 64 values, a
// resource that cannot be scaled.
std::vector<SweepAxis> ParseSweep(const std::string& text);

struct DesignPoint {
  std::vector<double> factors;                                 // of each axis
  double speedup = 1;                                          // [1] against the design as it is
  delta::Bottleneck bottleneck = delta::Bottleneck::kCompute;  // that bounds the most time
};
std::vector<DesignPoint> Sweep(const LayerGroup& group, const Design& design,
                               const std::vector<SweepAxis>& axes);

// The bottleneck that bounds the most time.
delta::Bottleneck MainBottleneck(const PredictedGroup& group);

// [1] predicted / measured - 1 of the layers that have a measurement, by "time", "l1", "l2",
// "dram".
std::map<std::string, double> Residuals(const PredictedLayer& layer);
// Mean and median of the absolute residuals of a group, by the same keys.
std::map<std::string, double> MeanAbsoluteResiduals(const PredictedGroup& group);
std::map<std::string, double> MedianAbsoluteResiduals(const PredictedGroup& group);

}  // namespace dlroof::predict
