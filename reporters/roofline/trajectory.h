// Roofline trajectories (Ibrahim, Williams, Oliker 2018): one problem's points joined by rising
// number of threads, or by a size, each under the roofs of its own number of threads. Pure.
//
// The cost of a point is threads x seconds / work, the threads' time per unit of work. Scaling is
// ideal if the cost stays the same. Its growth from one point to the next is the loss (negative for
// a gain), which is the sum of these causes:
// - The change of the roof's time, max(arithmetic, bytes x seconds per byte of each level), is
//   divided among these three factors by their Shapley values: a factor's mean effect over all
//   orders in which the three can change.
// - The changes of the breakdown's components are the other causes.
// - The rest is unexplained.
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
  kBandwidth,    // a thread's share of a level's bandwidth
  kIntensity,    // bytes of a level per unit of work
  kArithmetic,   // the arithmetic roof of a thread: clock, shared cores, another mix of pipes
  kOverhead,     // fork and join, serial sections, calls, launches, code that runs at any size
  kImbalance,    // waiting for the slowest thread, or for a GPU kernel's last wave
  kIdle,         // threads that no parallel region uses
  kStolen,       // threads were ready but had no CPU
  kSharing,      // threads slow each other
  kFunctions,    // sigmoid, tanh and other functions
  kProducts,     // the library's matrix products, minus the roof's time
  kLanes,        // vector lanes that the shape leaves idle
  kKernel,       // instructions, and the rest of the kernel's time with all tensors in L2
  kLevels,       // tensors beyond L2, and bytes of memory levels that do not bind
  kUnexplained,  // change that no other cause explains
};
std::string_view Key(Cause cause);

// The times of a call at its roofs. All maps have the same levels as keys.
struct RoofTime {
  double arithmetic_seconds = 0;           // [s]
  std::map<Level, double> memory_seconds;  // [s] > 0
  std::map<Level, double> bytes;           // [byte] of one call, > 0
};

struct CostFacts {
  double seconds = 0;            // [s] of one call
  int threads = 1;               // [1] threads that the call may use
  double work = 1;               // [1] of one call: its FLOPs, or 1 if the problem stays the same
  std::optional<RoofTime> roof;  // set for placed points
  record::Rare<roofline::Breakdown> breakdown;
  int team = 1;  // [1] threads of the widest parallel region, for `breakdown`

  double Cost() const { return seconds * threads / work; }
};

struct Loss {
  double before = 0, after = 0;  // cost [thread seconds / unit of work]
  // Change of the cost by cause [same unit]; the sum is after - before. Has kUnexplained and the
  // causes that are known at both points.
  std::map<Cause, double> by;

  double Total() const { return after - before; }
  // Returns change / larger cost [1]: 0.2 means that a fifth of the threads' time is lost.
  double Share(double change) const;
  // Returns the largest cause with the sign of Total().
  Cause Largest() const;
};

Loss LossOf(const CostFacts& before, const CostFacts& after);

inline constexpr std::string_view kAlongThreads = "threads";
// Weak scaling: along the threads, with a batch proportional to them.
inline constexpr std::string_view kAlongWeak = "weak";

struct TrajectoryPoint {
  std::size_t record = 0;  // index into the run's records
  double value = 0;        // number of threads, or the swept size
  int threads = 1;
  double seconds = 0;                             // [s] median
  std::optional<std::pair<double, double>> ci95;  // [s] of the median
  bool noisy = false;                             // the time is an estimate
  std::optional<double> flops_per_second;         // [flop/s]
  std::optional<double> intensity;                // [flop/byte] of the trajectory's level
  std::optional<double> fraction;                 // [1] achieved / roof; see `uncertain`
  // The roof is not validated: `fraction` is an upper limit.
  bool uncertain = false;
  bool specified = false;  // the roofs are specified
  CostFacts cost;
};

struct TrajectoryStep {
  double rate_ratio = 1;             // [1] work per second / that of the previous point
  std::optional<double> efficiency;  // [1] log2(rate_ratio) / log2(ratio of the threads)
  Loss loss;
};

struct Trajectory {
  std::string along;                    // "threads", or the parameter's name
  std::optional<double> per_thread;     // [1] batch per thread; set for weak scaling
  std::string name;                     // name of its benchmarks, with * for the swept value
  std::string label;                    // the parts of the name that differ between trajectories
  std::optional<Level> level;           // of the intensity: farthest level with bytes at all points
  std::vector<TrajectoryPoint> points;  // by rising value
  std::vector<TrajectoryStep> steps;    // between neighbours; empty if the work is not comparable
};

// Returns the trajectories of at least `least` points. `along` is "threads" (the same problem),
// "weak" (a batch proportional to the threads) or a parameter of the ops' problems ("batch"). An
// empty `along` means "threads" or, if there are no such trajectories, the first parameter with
// trajectories. Throws BadInput if no parameter has this name.
std::vector<Trajectory> Trajectories(const roofline::PlacedRun& run, std::string_view along = {},
                                     std::size_t least = 2);

// Returns the step between any two points of the trajectory.
TrajectoryStep StepOf(const Trajectory& trajectory, const TrajectoryPoint& before,
                      const TrajectoryPoint& after);

// Returns a sentence that compares the last point with the first one, and names the largest cause
// of a loss or gain: "8 threads are 4.10x as fast as 1 thread, 51 % of ideal: 49 points are lost,
// 30 by bandwidth.". Costs that differ by at most 5 % are the same.
std::string DiagnosisText(const Trajectory& trajectory);

// Returns a step's largest cause with percentage points, "overhead +12", or "" if the cost changes
// by less than 5 %.
std::string StepText(const TrajectoryStep& step);

// Returns "8 threads" or "batch 64".
std::string ValueText(const Trajectory& trajectory, double value);

// Returns the parts that all trajectories' names share: "Conv2D/cpu/onednn".
std::string SharedName(const std::vector<Trajectory>& trajectories);

}  // namespace dlroof::roofline
