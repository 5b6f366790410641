// Data-parallel training steps on n nodes: each node computes its own samples, and an allreduce
// sums the gradients. Predicts strong and weak scaling and the break-even of two clusters from
// layers' times at several batch sizes, and reads measured throughput to compare. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/cluster/network.h"
#include "baselines/cluster/versus_models.h"
#include "counters/base/error.h"

namespace dlroof::scaling {

// One layer of a model on one node.
struct StepLayer {
  double forward_seconds = 0;   // [s]
  double backward_seconds = 0;  // [s] gradients of the data and of the weights
  double gradient_bytes = 0;    // [byte]
};

struct StepRules {
  double bucket_bytes = 25e6;                   // [byte] size of the gradients in one allreduce
  std::optional<cluster::Allreduce> algorithm;  // the fastest for each size if it is not set
};

// [s] times of one step; the last three by how the allreduce overlaps with the backward pass.
struct StepSeconds {
  double compute = 0;    // forward and backward passes of the slowest node
  double allreduce = 0;  // one allreduce of all gradients
  double bound = 0;      // lower bound of `allreduce`
  double none = 0;       // no overlap: the allreduce starts after the backward pass
  double bucketed = 0;   // a bucket's allreduce follows the previous one and its layers' gradients
  double full = 0;       // the longer of computation and allreduce
  cluster::Allreduce algorithm = cluster::Allreduce::kRing;  // of `allreduce`

  bool operator==(const StepSeconds&) const = default;
};

// Returns the times of a step. `layers` are in the order of the forward pass. `slowest` [1] is the
// slowest node's computing time divided by that of `layers`. Buckets are filled with gradients from
// the last layer to the first, up to bucket_bytes each.
StepSeconds SecondsOfStep(const std::vector<StepLayer>& layers, const cluster::Network& network,
                          int nodes, double slowest, const StepRules& rules);

// Returns the expected maximum of n values drawn independently from `measured`, which is not empty.
// It is at most the largest measured value.
double ExpectedLargest(std::vector<double> measured, int n);

double GradientBytes(const std::vector<StepLayer>& layers);
double ComputeSeconds(const std::vector<StepLayer>& layers);

// A layer's problem without its batch size.
struct LayerShape {
  int64_t batch = 1;       // [1]
  int64_t parameters = 0;  // [1], each with a gradient
  std::string problem;     // text of the problem with a batch of 1
};
// Returns the shape of a benchmark's layer, if its op has parameters and a batch size.
using ShapeOf = std::function<std::optional<LayerShape>(const record::Record& record)>;

// A model's layers in one data type and library, at all batch sizes at which they were timed.
struct MeasuredSteps {
  std::string model, type, library;
  double layers = 0;  // [1] layers of the model, counting each occurrence
  double timed = 0;   // [1] of these, the layers with times, which are in `at`
  std::map<int64_t, std::vector<StepLayer>> at;  // by batch size; not empty
  std::vector<std::string> missing;              // problems without a time, each once
  bool noisy = false;                            // at least one time is an estimate

  int64_t least_batch() const { return at.begin()->first; }
  int64_t most_batch() const { return at.rbegin()->first; }
};

// Returns the steps for each data type and library in which the run has the forward pass and the
// gradients of at least one layer. `gradient_bytes` [byte] is the size of one parameter's gradient.
std::vector<MeasuredSteps> StepsOf(const roofline::PlacedRun& run, const cluster::Model& model,
                                   const ShapeOf& shape_of,
                                   const cluster::IsImplementationOption& is_implementation_option,
                                   double gradient_bytes);

// Returns the layers at a batch size, interpolated linearly between measured batch sizes; nothing
// outside of them.
std::optional<std::vector<StepLayer>> LayersAt(const MeasuredSteps& steps, double batch);

// A cluster on which a model would be trained: its nodes' steps and the network between them.
struct ScaledCluster {
  const MeasuredSteps* steps = nullptr;
  const cluster::Network* network = nullptr;
  // [1] each measured node's time / the median node's; empty for a single measured node
  std::vector<double> node_ratios;
  StepRules rules;
};

struct ScaleRow {
  int nodes = 1;
  double batch = 1;  // [1] samples per step on the node with the most samples
  StepSeconds step;
  double samples_per_second_none = 0, samples_per_second_bucketed = 0;  // [1/s] of all nodes
  double samples_per_second_full = 0;
  std::optional<double> efficiency;  // [1] bucketed rate / (nodes x the rate of one node)
};

// Returns a row per number of nodes, each node with `batch` samples per step. Returns no rows if
// `batch` is outside the measured batch sizes.
std::vector<ScaleRow> WeakScaling(const ScaledCluster& cluster, double batch,
                                  const std::vector<int>& nodes);

// Returns a row per number of nodes, all nodes together with `batch` samples per step. Leaves out
// numbers of nodes whose samples per node are outside the measured batch sizes.
std::vector<ScaleRow> StrongScaling(const ScaledCluster& cluster, double batch,
                                    const std::vector<int>& nodes);

// Returns the samples per node from which on computing takes as long as an allreduce on very many
// nodes, at the speed of `batch`; nothing if `batch` is outside the measured batch sizes.
std::optional<double> HidingBatch(const ScaledCluster& cluster, double batch);

// Returns the time of an allreduce of the gradients between two nodes [s]. More nodes take longer.
double NetworkFloor(const ScaledCluster& cluster);

enum class Overlap { kNone, kBucketed, kFull };
double SecondsOf(const StepSeconds& step, Overlap overlap);

// The least number of nodes of one cluster that train as fast as the other cluster.
struct BreakEven {
  std::optional<int> nodes;
  std::optional<Reason> reason;  // set instead of `nodes`: "never: ..." or "cannot say: ..."
};

inline constexpr int kMostNodes = 65536;  // [1] limit of the search for a break-even

// Returns the least number of nodes, with `batch` samples each, that train `samples_per_second`.
BreakEven WeakBreakEven(const ScaledCluster& cluster, double batch, double samples_per_second,
                        Overlap overlap);

// Returns the least number of nodes that need at most `seconds` for a step of `batch` samples.
BreakEven StrongBreakEven(const ScaledCluster& cluster, double batch, double seconds,
                          Overlap overlap);

struct MeasuredScale {
  int nodes = 1;
  double samples_per_second = 0;  // [1/s] of all nodes
  std::string label;              // "PyTorch DDP"; may be empty
};

// Reads CSV with the columns nodes, samples_per_second and optionally label, in any order. Throws
// BadInput ("WHERE:LINE: column N: ...") for an unknown or missing column, an invalid number of
// nodes, a throughput that is not positive, and a file without rows.
std::vector<MeasuredScale> ReadMeasuredScale(std::string_view text, const std::string& where);

// Returns the predicted row for this number of nodes, or null.
const ScaleRow* RowOfNodes(const std::vector<ScaleRow>& rows, int nodes);

}  // namespace dlroof::scaling
