// The threads' time for a unit of work at two points, and the causes of its change. Pure.
//
// A call of `seconds` on `threads` threads costs threads x seconds / work. Scaling is ideal where
// that stays the same, so its change is the loss (or the gain, below 0). The causes add up to it:
// - the roof's own time is max(arithmetic, bytes x time of a byte over the levels). Its change is
//   divided among the three factors by their Shapley values: each one's mean effect over all orders
//   in which the three can change.
// - the breakdown's parts give the other causes.
// - the rest is not explained.
//
// Roofline trajectories (Ibrahim, Williams, Oliker 2018): one problem's points joined by rising
// concurrency, or by a size, each under the roofs of its own number of threads. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/work.h"
#include "reporters/breakdown/breakdown.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::trajectory {

enum class Cause {
  kBandwidth,    // a thread's share of a level's bandwidth
  kIntensity,    // bytes of a level for each unit of work
  kArithmetic,   // the arithmetic roof of a thread: clock, shared cores, another mix of pipes
  kOverhead,     // fork and join, one thread alone, calls, code that runs whatever the sizes
  kImbalance,    // waiting for the slowest thread
  kIdle,         // threads that no parallel region uses
  kStolen,       // threads were ready and had no CPU
  kSharing,      // threads slow each other
  kFunctions,    // sigmoid, tanh and such
  kProducts,     // the library's matrix products, less the roof
  kLanes,        // vector lanes that the shape leaves idle
  kKernel,       // what else the library's kernel takes with all tensors near
  kLevels,       // bytes of the levels that do not bind
  kUnexplained,  // the rest
};
std::string_view Key(Cause cause);

// The times that the roofs of a point ask for.
struct RoofTime {
  double arithmetic_seconds = 0;           // [s]
  std::map<Level, double> memory_seconds;  // [s]
  std::map<Level, double> bytes;           // [byte] of one call; the same levels, none is 0
  std::map<Level, Provenance> bytes_from;  // the same levels
};

struct CostFacts {
  double seconds = 0;            // [s] of one call
  int threads = 1;               // [1] that it may use
  double work = 1;               // [1] of one call: its FLOPs, or 1 where the problem is the same
  std::optional<RoofTime> roof;  // absent: not placed
  std::optional<breakdown::Breakdown> breakdown;  // absent: not watched, or not placed
  int team = 1;  // [1] with a breakdown: threads of the widest parallel region

  double Cost() const { return seconds * threads / work; }
};

struct Loss {
  double before = 0, after = 0;  // [s of one thread / unit of work]
  // [the same] change by cause, their sum is after - before. Causes that nobody measured at both
  // points are absent; kUnexplained always is there.
  std::map<Cause, double> by;
  std::map<Cause, std::map<breakdown::ComponentKind, double>>
      parts;                             // [the same] of the causes from the breakdown
  std::optional<Level> level;            // whose bytes bind at the worse point; absent: arithmetic
  bool placed = false, watched = false;  // both points

  double Total() const { return after - before; }
  // [1] The change over the larger cost: 0.2 says that a fifth of the threads' time is lost.
  double Share(double change) const;
  // The largest cause in the direction of the total but kUnexplained; absent without one.
  std::optional<Cause> Largest() const;
};

Loss LossOf(const CostFacts& before, const CostFacts& after);

inline constexpr std::string_view kAlongThreads = "threads";
// Along the threads too, but the batch grows with them: weak scaling.
inline constexpr std::string_view kAlongWeak = "weak";

struct TrajectoryPoint {
  std::size_t record = 0;  // index into the run's records
  double value = 0;        // threads, or the size
  int threads = 1;
  double seconds = 0;                             // [s] median
  std::optional<std::pair<double, double>> ci95;  // [s] of it
  bool noisy = false;                             // it is an estimate
  std::optional<double> flops_per_second;         // [flop/s]
  std::optional<double> intensity;                // [flop/byte] of the trajectory's level
  std::optional<double> fraction;                 // [1] of the roof; absent in doubt
  bool uncertain = false, specified = false;      // the roofs that it stands under
  CostFacts cost;
};

struct TrajectoryStep {
  double rate_ratio = 1;                  // [1] units of work per second, over the point before
  std::optional<double> efficiency;       // [1] log2(rate_ratio) / log2(ratio of the threads)
  std::optional<double> intensity_ratio;  // [1]
  Loss loss;
};

struct Trajectory {
  std::string along;                    // "threads", or the parameter's name
  std::optional<double> per_thread;     // [1] batch for each thread; present: weak scaling
  std::string name;                     // that its benchmarks share; the value of a size is a *
  std::string label;                    // what of the name differs between the run's trajectories
  std::optional<Level> level;           // of the intensity: the farthest that all points know
  std::vector<TrajectoryPoint> points;  // by rising value
  std::vector<TrajectoryStep> steps;  // from each point to the next; empty where work is not known
};

// Returns the trajectories of at least `least` points along the threads with the same problem,
// along them with a batch that grows ("weak"), or along a parameter of the ops' problems ("batch").
// Empty `along`: along the threads where there are such, else along the first parameter that has
// some. Throws BadInput for a name that no parameter has.
std::vector<Trajectory> Trajectories(const roofline::PlacedRun& run, std::string_view along = {},
                                     std::size_t least = 2);

// Returns the step between any two points of it.
TrajectoryStep StepOf(const Trajectory& trajectory, const TrajectoryPoint& before,
                      const TrajectoryPoint& after);

// Returns "8 threads" or "batch 64".
std::string ValueText(const Trajectory& trajectory, double value);

// Returns what the trajectories' names share: "Conv2D/cpu/onednn"; the labels are the rest.
std::string SharedName(const std::vector<Trajectory>& trajectories);

}  // namespace dlroof::trajectory
