// The computations of `dlroof model`: the choice of the GPU and its figures, the convolutions of a
// problem, of suites or of a run file, and the predictions of groups of layers for a design, for
// what-if designs and for sweeps. Pure.
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

// Replaces the rates of the parameter file (bytes per level, FLOPs per pipe, launch) by ceilings
// that are specified, or were measured on the GPU and validated. Throws BadInput for a machine that
// is not a GPU.
delta::GpuSpec WithCeilings(delta::GpuSpec gpu, const machine::Machine& machine);

struct GpuChoice {
  std::optional<std::string> gpu;             // --gpu, a built-in name or a file's path
  const machine::Machine* machine = nullptr;  // --machine, or null
  const record::RunFile* run = nullptr;       // the run file that is modelled, or null
  std::string run_path;                       // for messages
};

// Returns the GPU that --gpu names, or else that of the run file, of the machine file, or "v100".
// The ceilings come from the machine file, or else from the run file if --gpu names no GPU. Throws
// BadInput for what FindGpu and WithCeilings refuse, for an unknown GPU without --gpu, and for
// ceilings of another GPU than the built-in one (a parameter file accepts any ceilings).
delta::GpuSpec ChosenGpu(const GpuChoice& choice);

struct ModelLayer {
  std::string name;  // the problem's text, or the record's name
  delta::ConvQuestion question;
  double count = 1;                        // [1] occurrences in the model
  std::optional<double> measured_seconds;  // [s] of a run file's record, if measured
  std::map<Level, double> measured_bytes;  // [byte] likewise, at the measured levels
};

// A record that the model does not cover. The reason is one sentence.
struct NotPredicted {
  std::string name, reason;
};

struct LayerGroup {
  std::string name;  // suite, problem or file
  std::vector<ModelLayer> layers;
  std::vector<NotPredicted> not_predicted;  // only of a run file
};

// Choices of the command line for every layer.
struct LayerChoice {
  ProductDirection direction = ProductDirection::kForward;
  delta::TensorLayout layout = delta::TensorLayout::kNchw;
  std::string type = "f32";
  std::optional<int64_t> batch;  // replaces the problem's
};

// Throws BadInput for a text that is not a problem, or a batch whose tensors overflow 64 bits.
LayerGroup LayersOfProblem(const std::string& text, const LayerChoice& choice);

// Returns each convolution of this direction in the suites once, with its number of occurrences,
// and ignores the types, devices and libraries of the suites' lines. Throws BadInput for what
// SelectSuites refuses, and for a suite without such a convolution.
std::vector<LayerGroup> LayersOfSuites(const std::vector<std::string>& suites,
                                       const LayerChoice& choice);

// Returns the convolutions that a GPU ran, with their own types, layouts, kernels (named by the
// record's algorithm or CUPTI's trace), counters and times. Records that the model cannot handle
// are not predicted. Throws BadInput if there are no convolutions of a GPU.
LayerGroup LayersOfRunFile(const record::RunFile& file, const std::string& path);

// A GPU, possibly with scaled resources and an additional tile. A layer uses that tile if it is
// faster, as a tuned library would.
struct Design {
  std::string name;  // "sm=2,dram=1.5", or "" for the unchanged GPU
  delta::GpuSpec gpu;
  std::optional<delta::CtaTile> tile;
};

// Applies "sm=2,dram=1.5,tile=256x128" to a design. Throws BadInput for another form, for what
// Scaled refuses, for a tile outside multiples of 8 from 16 to 512, and for a repeated resource.
Design Rescaled(const Design& design, const std::string& scales);

struct PredictedLayer {
  ModelLayer layer;
  delta::ConvPrediction prediction;
  double seconds = 0;  // [s] of one call: the longer of the kernel and its launch
};

struct PredictedGroup {
  std::string name;
  std::vector<PredictedLayer> layers;
  double seconds = 0;                                 // [s] all calls of all layers
  std::map<delta::Bottleneck, double> bound_seconds;  // [s] of the calls that each resource bounds
  std::vector<NotPredicted> not_predicted;            // of the LayerGroup
};

// Moves the layers that the model refuses on this GPU to `not_predicted`, with their reasons.
// Throws BadInput with the first reason if no layer is left.
LayerGroup OnlyPredicted(const LayerGroup& group, const delta::GpuSpec& gpu);

// With `exact`, bytes are enumerated. Throws what PredictConv refuses, with the layer's name.
PredictedGroup Predict(const LayerGroup& group, const Design& design, bool exact);

// Adds each layer's prediction (bytes at L1, L2 in tile form, and DRAM) to the file's records of
// that name, besides the measured values.
void SetPredictions(const PredictedGroup& group, const delta::GpuSpec& gpu, record::RunFile& file);

// Returns the speed-up of the group by doubling each resource, the largest first.
struct Gain {
  std::string resource;
  double speedup = 1;  // [1]
};
std::vector<Gain> GainsOfDoubling(const LayerGroup& group, const Design& design);

// The values of a resource: "dram=1:4:0.5" stands for 1, 1.5, ... 4.
struct SweepAxis {
  std::string resource;
  std::vector<double> factors;
};
// Parses one axis, or two separated by a comma. Throws BadInput for another form, more than 64
// values, and a resource that cannot be scaled.
std::vector<SweepAxis> ParseSweep(const std::string& text);

struct DesignPoint {
  std::vector<double> factors;                                 // of each axis
  double speedup = 1;                                          // [1] over the unchanged design
  delta::Bottleneck bottleneck = delta::Bottleneck::kCompute;  // that bounds the most time
};
std::vector<DesignPoint> Sweep(const LayerGroup& group, const Design& design,
                               const std::vector<SweepAxis>& axes);

// Returns the bottleneck that bounds the most time.
delta::Bottleneck MainBottleneck(const PredictedGroup& group);

// Returns predicted / measured - 1 [1] for the measured ones of "time", "l1", "l2" and "dram".
std::map<std::string, double> Residuals(const PredictedLayer& layer);
// Return the mean and the median of the absolute residuals of a group, by the same keys.
std::map<std::string, double> MeanAbsoluteResiduals(const PredictedGroup& group);
std::map<std::string, double> MedianAbsoluteResiduals(const PredictedGroup& group);

}  // namespace dlroof::predict
