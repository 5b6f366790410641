// The computations of `dlroof model`: the GPU and its parameters, the convolutions (layers) of a
// problem, suites or a run file, predictions for groups of layers, what-if designs and sweeps.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/conv2d/case.h"
#include "ceilings/machine/machine.h"
#include "counters/base/work.h"
#include "counters/delta/prediction.h"
#include "reporters/document/document.h"
#include "reporters/record/run_file.h"

namespace dlroof::model {

// Returns `gpu` with its rates (bytes per level, FLOPs per pipe, launch) replaced by the ceilings
// of `machine` that are specified, or measured and validated. Throws BadInput if it is not a GPU.
delta::GpuSpec WithCeilings(delta::GpuSpec gpu, const machine::Machine& machine);

struct GpuChoice {
  std::optional<std::string> gpu;             // value of --gpu
  const machine::Machine* machine = nullptr;  // from --machine, or null
  const record::RunFile* run = nullptr;       // run file to model, or null
  std::string run_path;                       // path of that run file, for messages
};

// Returns the GPU named by --gpu, else the run file's, else the machine file's, else "v100".
// Its ceilings are from the machine file or, without --gpu, from the run file. Throws BadInput as
// FindGpu and WithCeilings, for a GPU without built-in parameters, and for ceilings of another GPU
// than the built-in one (a parameter file accepts any ceilings).
delta::GpuSpec ChosenGpu(const GpuChoice& choice);

struct ModelLayer {
  std::string name;  // the problem's text, or the name of a run file's record
  delta::ConvQuestion question;
  double count = 1;                        // [1] occurrences in the model
  std::optional<double> measured_seconds;  // [s] from the run file, if measured
  std::map<Level, double> measured_bytes;  // [byte] from the run file, at the measured levels
};

// A record that the model does not cover, with the reason in one sentence.
struct NotPredicted {
  std::string name, reason;
};

struct LayerGroup {
  std::string name;  // name of a suite, problem or file
  std::vector<ModelLayer> layers;
  std::vector<NotPredicted> not_predicted;  // only for run files
};

struct LayerChoice {
  ProductDirection direction = ProductDirection::kForward;
  delta::TensorLayout layout = delta::TensorLayout::kNchw;
  std::string type = "f32";
  std::optional<int64_t> batch;  // replaces the batch of the problem
};

// Returns a group of one problem. Throws BadInput if it is invalid or its tensors overflow 64 bits.
LayerGroup LayersOfProblem(const std::string& text, const LayerChoice& choice);

// Returns the suites' convolutions in the chosen direction, each once with its count. Ignores the
// suites' types, devices and libraries. Throws BadInput as SelectSuites, and if a suite has none.
std::vector<LayerGroup> LayersOfSuites(const std::vector<std::string>& suites,
                                       const LayerChoice& choice);

// Returns the convolutions that a GPU ran, with their types, layouts, kernels (from the record's
// algorithm or CUPTI's trace), counters and times. Records whose direction or problem cannot be
// parsed are in `not_predicted`. Throws BadInput if there are no GPU convolutions.
LayerGroup LayersOfRunFile(const record::RunFile& file, const std::string& path);

// A GPU, maybe with scaled resources and another tile size, which a layer uses if it is faster.
struct Design {
  std::string name;  // e.g. "sm=2,dram=1.5", or "" for the unchanged GPU
  delta::GpuSpec gpu;
  std::optional<delta::CtaTile> tile;
};

// Applies `scales`, e.g. "sm=2,dram=1.5,tile=256x128", to a design. Throws BadInput for bad syntax,
// as delta::Scaled, for a repeated resource, and unless tile sizes are multiples of 8 in [16, 512].
Design Rescaled(const Design& design, const std::string& scales);

struct PredictedLayer {
  ModelLayer layer;
  delta::ConvPrediction prediction;
  double seconds = 0;  // [s] per call: maximum of kernel time and launch time
};

struct PredictedGroup {
  std::string name;
  std::vector<PredictedLayer> layers;
  double seconds = 0;                                 // [s] of all calls
  std::map<delta::Bottleneck, double> bound_seconds;  // [s] of the calls with each bottleneck
  std::vector<NotPredicted> not_predicted;            // from LayerGroup
};

// Returns the group with the layers that the model does not cover on this GPU moved to
// `not_predicted`, with the reason. Throws BadInput with the first reason if no layer is left.
LayerGroup OnlyPredicted(const LayerGroup& group, const delta::GpuSpec& gpu);

// Predicts a group. Throws as PredictConv, with the layer's name.
PredictedGroup Predict(const LayerGroup& group, const Design& design);

// Sets the prediction (time, and bytes of L1, L2 and DRAM) of each record that has a layer's name.
void SetPredictions(const PredictedGroup& group, const delta::GpuSpec& gpu, record::RunFile& file);

// Speedup of a group if one resource is doubled. GainsOfDoubling returns the largest first.
struct Gain {
  std::string resource;
  double speedup = 1;  // [1]
};
std::vector<Gain> GainsOfDoubling(const LayerGroup& group, const Design& design);

// The scale factors of one resource in a sweep, e.g. 1, 1.5, ... 4 for "dram=1:4:0.5".
struct SweepAxis {
  std::string resource;
  std::vector<double> factors;
};
// Parses one axis, or two separated by a comma. Throws BadInput for other syntax, more than 64
// values, and a resource that cannot be scaled.
std::vector<SweepAxis> ParseSweep(const std::string& text);

struct DesignPoint {
  std::vector<double> factors;  // one per axis
  double speedup = 1;           // [1] relative to the unchanged design
  delta::Bottleneck bottleneck = delta::Bottleneck::kCompute;  // bottleneck with the most time
};
std::vector<DesignPoint> Sweep(const LayerGroup& group, const Design& design,
                               const std::vector<SweepAxis>& axes);

delta::Bottleneck MainBottleneck(const PredictedGroup& group);  // with the most time

// Returns predicted / measured - 1 [1] for those of "time", "l1", "l2", "dram" that were measured.
std::map<std::string, double> Residuals(const PredictedLayer& layer);
// Return the mean and the median of |Residuals| over the layers of a group, by the same keys.
std::map<std::string, double> MeanAbsoluteResiduals(const PredictedGroup& group);
std::map<std::string, double> MedianAbsoluteResiduals(const PredictedGroup& group);

// The predictions for one what-if design; groups in the order of ModelReport::groups.
struct DesignResult {
  Design design;
  std::vector<PredictedGroup> groups;
};

struct GroupSweep {
  std::string group;
  std::vector<DesignPoint> points;
};

struct ModelReport {
  Design base;
  std::string choice;  // the LayerChoice, e.g. "fwd f32 nchw, batch 256"
  std::vector<PredictedGroup> groups;
  std::optional<record::RunFile> run;    // the run file with predictions added, if it is the input
  std::vector<DesignResult> designs;     // one per flag --scale
  std::vector<std::vector<Gain>> gains;  // per group, for the last design or the base
  std::vector<SweepAxis> axes;
  std::vector<GroupSweep> sweeps;
};

// Returns tables of groups' layers, what-if designs, gains from doubling resources, and sweeps.
document::Document DocumentOf(const ModelReport& report);
// Returns members "model", "gpu" (parameters with their sources), "groups", "designs", "next"
// (gains) and "sweep"; unknown values are omitted. Adds the members of `run`, for `dlroof compare`.
nlohmann::json ToJson(const ModelReport& report);

// Returns the gnuplot script of the designs (bars per group), or of a sweep (a line per group or
// per value of the second resource). Throws BadInput if the report has neither.
std::string FigureScript(const ModelReport& report, const std::string& extension);

}  // namespace dlroof::model
