// Roofline trajectories (Ibrahim, Williams, Oliker 2018): one problem's points joined by rising
// concurrency, or by a size, each under the roofs of its own number of threads. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/sweep_line.h"
#include "reporters/trajectory/loss.h"

namespace dlroof::trajectory {

inline constexpr std::string_view kAlongThreads = "threads";
// Along the threads too, but the batch grows with them: weak scaling.
inline constexpr std::string_view kAlongWeak = "weak";

struct TrajectoryPoint {
  std::size_t record = 0;  // index into the run's records
  double value = 0;        // threads, or the size
  int threads = 1;
  double seconds = 0;                             // [s] median
  std::optional<std::pair<double, double>> ci95;  // [s] of it
  bool disturbed = false;                         // it is an estimate
  std::optional<double> flops_per_second;         // [flop/s]
  std::optional<double> intensity;                // [flop/byte] of the trajectory's level
  std::optional<double> fraction;                 // [1] of the roof; absent in doubt
  bool in_doubt = false, given = false;           // the roofs that it stands under
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
