// Data-parallel training steps on n nodes: each computes its own samples, and an allreduce sums up
// the gradients. The layers' times are those that a run measured, by batch size. Pure.
//
// Strong and weak scaling of a model's training step over nodes, the break-even of two clusters,
// and the throughput that a program was measured to have beside it. Pure.
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

namespace dlroof::scaling {

// One layer of a model on one node.
struct StepLayer {
  double forward_seconds = 0;   // [s]
  double backward_seconds = 0;  // [s] both gradients
  double gradient_bytes = 0;    // [byte]
};

struct StepRules {
  double bucket_bytes = 25e6;                   // [byte] gradients that are summed up together
  std::optional<cluster::Allreduce> algorithm;  // absent: the fastest for each size
};

// [s] of one step, by how much the allreduce overlaps with the backward pass.
struct StepSeconds {
  double compute = 0;    // forward and backward passes of the slowest node
  double allreduce = 0;  // of all gradients at once
  double bound = 0;      // that no allreduce is faster than
  double none = 0;       // the allreduce follows the backward pass
  double bucketed = 0;   // the allreduce of each bucket follows the one before and its own layers
  double full = 0;       // the longer of computing and the allreduce
  cluster::Allreduce algorithm = cluster::Allreduce::kRing;  // of all gradients at once

  bool operator==(const StepSeconds&) const = default;
};

// Returns the times of a step. `layers`: in the order of the forward pass. `slowest`: [1] time that
// the slowest of the nodes takes to compute, over the layers' own. A bucket takes layers from the
// last to the first, and closes when it has bucket_bytes.
StepSeconds SecondsOfStep(const std::vector<StepLayer>& layers, const cluster::Network& network,
                          int nodes, double slowest, const StepRules& rules);

// Returns the expected largest of n values that are drawn, each by itself, from `measured`, which
// is not empty: never more than the largest that was measured.
double ExpectedLargest(std::vector<double> measured, int n);

double GradientBytes(const std::vector<StepLayer>& layers);
double ComputeSeconds(const std::vector<StepLayer>& layers);

// A layer's problem without its batch size.
struct LayerShape {
  int64_t batch = 1;       // [1]
  int64_t parameters = 0;  // [1] each has a gradient
  std::string problem;     // with a batch of 1
};
// Returns the shape of a benchmark's call; absent where its op has no parameters or no batch size.
using ShapeOf = std::function<std::optional<LayerShape>(const record::Record& record)>;

// One type and library of a model's layers, at the batch sizes at which the same layers were timed.
struct MeasuredSteps {
  std::string model, type, library;
  double layers = 0;                             // [1] of the model, each as often as it occurs
  double timed = 0;                              // [1] of these that count below
  std::map<int64_t, std::vector<StepLayer>> at;  // by batch size; not empty
  std::vector<std::string> missing;              // problems without a time, each once
  bool noisy = false;                            // a time is an estimate

  int64_t least_batch() const { return at.begin()->first; }
  int64_t most_batch() const { return at.rbegin()->first; }
};

// Returns the steps of each type and library of which the run timed a layer's forward pass and its
// gradients. `gradient_bytes`: [byte] of one parameter's gradient.
std::vector<MeasuredSteps> StepsOf(const roofline::PlacedRun& run, const cluster::Model& model,
                                   const ShapeOf& shape_of, const cluster::IsImplementationOption& is_implementation_option,
                                   double gradient_bytes);

// Returns the layers at a batch size. Between two measured ones each time lies on the line between
// the two; absent beyond them.
std::optional<std::vector<StepLayer>> LayersAt(const MeasuredSteps& steps, double batch);

// A cluster on which a model would be trained: its nodes' steps and the network between them.
struct ScaledCluster {
  const MeasuredSteps* steps = nullptr;
  const cluster::Network* network = nullptr;
  // [1] each measured node's time over the median node's; empty: one node was measured
  std::vector<double> node_ratios;
  StepRules rules;
};

struct ScaleRow {
  int nodes = 1;
  double batch = 1;  // [1] samples of the node with the most
  StepSeconds step;
  double samples_per_second_none = 0, samples_per_second_bucketed = 0;  // [1/s] of all nodes
  double samples_per_second_full = 0;
  std::optional<double> efficiency;  // [1] bucketed, of a node over a node that is alone
};

// Each node has `batch` samples, whatever the number of nodes. Empty where that was not measured.
std::vector<ScaleRow> WeakScaling(const ScaledCluster& cluster, double batch,
                                  const std::vector<int>& nodes);

// All nodes together have `batch` samples. Has no row for numbers of nodes whose samples per node
// lie beyond the measured batch sizes.
std::vector<ScaleRow> StrongScaling(const ScaledCluster& cluster, double batch,
                                    const std::vector<int>& nodes);

// Returns the samples per node from which on computing takes as long as the allreduce on very many
// nodes, at the speed that the node has at `batch`; absent where `batch` was not measured.
std::optional<double> HidingBatch(const ScaledCluster& cluster, double batch);

// Returns the least time of an allreduce of the gradients [s]: that of two nodes, since more of
// them send more.
double NetworkFloor(const ScaledCluster& cluster);

enum class Overlap { kNone, kBucketed, kFull };
double SecondsOf(const StepSeconds& step, Overlap overlap);

// Least nodes of one cluster that train as fast as `goal`.
struct BreakEven {
  std::optional<int> nodes;  // absent: `why` says why
  std::string why;           // "never: ..." or "cannot say: ..."
};

inline constexpr int kMostNodes = 65536;  // that a break-even is looked for among

// Least nodes, each with `batch` samples, that train as many samples per second.
BreakEven WeakBreakEven(const ScaledCluster& cluster, double batch, double samples_per_second,
                        Overlap overlap);

// Least nodes that need no more than `seconds` for a step of `batch` samples.
BreakEven StrongBreakEven(const ScaledCluster& cluster, double batch, double seconds,
                          Overlap overlap);

struct MeasuredScale {
  int nodes = 1;
  double samples_per_second = 0;  // [1/s] of all nodes
  std::string label;              // "PyTorch DDP"; may be empty
};

// Reads CSV with the columns nodes, samples_per_second and, where wanted, label, in any order.
// Throws BadInput ("WHERE:LINE: column N: ...") for another column, a missing one, a number of
// nodes that is none, a throughput that is not above 0, and for no row at all.
std::vector<MeasuredScale> ReadMeasuredScale(std::string_view text, const std::string& where);

// The predicted row of as many nodes; null: there is none.
const ScaleRow* RowOfNodes(const std::vector<ScaleRow>& rows, int nodes);

}  // namespace dlroof::scaling
