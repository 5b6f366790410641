// Roofline trajectories (Ibrahim, Williams, Oliker 2018): one problem's points joined by rising
// number of threads, or by a size, each under the roofs of its own number of threads. Pure.
//
// The cost of a point is threads x seconds / work, the threads' time per unit of work. Scaling is
// ideal if the cost stays the same. The growth of the cost from one point to the next is the loss
// (negative for a gain). The loss is the sum of these causes:
// - The change of the roof's time, max(arithmetic, bytes x seconds per byte of each level), is
//   divided among its three factors by their Shapley values: a factor's mean effect over all orders
//   in which the three factors can change.
// - The changes of the breakdown's components.
// - The unexplained rest.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/work.h"
#include "reporters/roofline/breakdown.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::roofline {

enum class Cause {
  kBandwidth,    // less of a level's bandwidth for each thread
  kIntensity,    // more bytes of a level per unit of work
  kArithmetic,   // a lower arithmetic roof per thread: clock, shared cores, another mix of pipes
  kOverhead,     // fork and join, serial sections, calls, launches, code that runs at any size
  kImbalance,    // waiting for the slowest thread, or for a GPU kernel's last wave
  kIdle,         // threads of the call that no parallel region uses
  kStolen,       // threads were ready but had no CPU
  kSharing,      // threads slow each other
  kFunctions,    // sigmoid, tanh and other functions
  kProducts,     // the library's matrix products, without the roof's time
  kLanes,        // vector lanes that the shape leaves idle
  kKernel,       // instructions, and the rest of the kernel's time with all tensors in L2
  kLevels,       // tensors beyond L2, and bytes of memory levels that do not bind
  kUnexplained,  // change that no other cause explains
};
std::string_view Key(Cause cause);

// The times of a call at its roofs. Both maps have the same levels as keys.
struct RoofTime {
  double arithmetic_seconds = 0;           // [s]
  std::map<Level, double> memory_seconds;  // [s] > 0
  std::map<Level, double> bytes;           // [byte] of one call, > 0
};

struct CostFacts {
  double seconds = 0;            // [s] of one call
  int threads = 1;               // [1] threads that the call may use
  double work = 1;               // FLOPs [flop] of one call, or 1 if the problem stays the same
  std::optional<RoofTime> roof;  // set if the call is placed
  record::Rare<roofline::Breakdown> breakdown;
  int team = 1;  // [1] threads over which the times of `breakdown` are means

  double Cost() const { return seconds * threads / work; }
};

struct Loss {
  double before = 0, after = 0;  // cost [thread seconds / unit of work]
  // The part of after - before that each cause explains [same unit]; their sum is after - before.
  // Has kUnexplained and the causes that are known at both points.
  std::map<Cause, double> by;

  double Total() const { return after - before; }
  // Returns `change` / the larger of the two costs [1].
  double Share(double change) const;
  // Returns the cause with the largest change in the direction of Total().
  Cause Largest() const;
};

Loss LossOf(const CostFacts& before, const CostFacts& after);

inline constexpr std::string_view kAlongThreads = "threads";
inline constexpr std::string_view kAlongWeak = "weak";

struct TrajectoryPoint {
  std::size_t record = 0;  // index into the run's records
  double value = 0;        // number of threads, or the swept size
  int threads = 1;
  double seconds = 0;                             // [s] median
  std::optional<std::pair<double, double>> ci95;  // [s] 95 % interval of the median
  bool noisy = false;                             // the time is an estimate
  std::optional<double> flops_per_second;         // [flop/s]
  std::optional<double> intensity;                // [flop/byte] of the trajectory's level
  std::optional<RoofShare> share;                 // roof time / time; set if placed
  bool specified = false;                         // a roof is specified, not measured
  CostFacts cost;
};

struct TrajectoryStep {
  double rate_ratio = 1;             // [1] work per second / that of the previous point
  std::optional<double> efficiency;  // [1] log2(rate_ratio) / log2(thread ratio), along threads
  Loss loss;
};

struct Trajectory {
  std::string along;                    // "threads" (also for weak scaling) or a parameter's name
  std::optional<double> per_thread;     // [1] batch per thread; set for weak scaling
  std::string name;                     // the benchmarks' name, with * for the swept value
  std::string label;                    // the parts of the name that differ between trajectories
  std::optional<Level> level;           // level of `intensity`: the farthest known at all points
  std::vector<TrajectoryPoint> points;  // by rising value
  std::vector<TrajectoryStep> steps;    // from each point to the next; empty if not comparable
};

// Returns the trajectories of at least `least` points. `along` is "threads" (the same problem),
// "weak" (a batch proportional to the threads) or a parameter's name, e.g. "batch".
// An empty `along` means "threads" or, if there is no trajectory along threads, the first
// parameter with trajectories. Throws BadInput if no parameter has this name.
std::vector<Trajectory> Trajectories(const roofline::PlacedRun& run, std::string_view along = {},
                                     std::size_t least = 2);

// Returns the step between any two points of the trajectory.
TrajectoryStep StepOf(const Trajectory& trajectory, const TrajectoryPoint& before,
                      const TrajectoryPoint& after);

// Returns a sentence that compares the last point with the first one and names the largest cause of
// a loss or gain in percentage points, e.g. "8 threads are 4.10x as fast as 1 thread, 51 % of
// ideal: 49 points are lost, 30 by bandwidth.". Costs that differ by at most 5 % count as equal.
std::string DiagnosisText(const Trajectory& trajectory);

// Returns a step's largest cause with its percentage points, e.g. "overhead +12", or "" if the cost
// changes by less than 5 %.
std::string StepText(const TrajectoryStep& step);

// Returns e.g. "8 threads" or "batch 64".
std::string ValueText(const Trajectory& trajectory, double value);

// Returns the parts that all trajectories' names share, e.g. "Conv2D/cpu/onednn".
std::string SharedName(const std::vector<Trajectory>& trajectories);

}  // namespace dlroof::roofline
