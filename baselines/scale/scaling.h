// Strong and weak scaling of a model's training step over nodes, the break-even of two clusters,
// and the throughput that a program was measured to have beside it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/scale/measured_steps.h"

namespace dlroof::scaling {

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
