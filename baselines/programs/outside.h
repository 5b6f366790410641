// The time of a program outside of oneDNN's primitives: what PyTorch's profiler saw of it, or how
// its main thread spent it. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/programs/steps.h"
#include "reporters/document/document.h"

namespace dlroof::programs {

using TimeRange = std::pair<double, double>;  // [s] begin, end

struct ModuleTime {
  std::string path;    // "Bert.layers.*.f1": numbers are replaced by stars
  double seconds = 0;  // [s] in it, but not in a module within it; with oneDNN's primitives
};

// The program's steps in windows in which torch.profiler ran, and outside of them.
struct WindowCost {
  int inside = 0, outside = 0;  // [1] steps with times
  double ratio = 0;             // [1] of their median times; 0: there are too few on one side
};
// Compares the steps that are whole in a window with those that are whole outside of all, without
// the first three.
WindowCost CostOfWindows(const std::vector<StepRange>& steps,
                         const std::vector<TimeRange>& windows);

// What a trace of torch.profiler adds to a program's summary. Shares are of `window_seconds`.
struct TracedProgram {
  int steps = 0;                    // [1] whole steps in the trace; 0: all of the trace
  bool of_no_step = false;          // the program has steps, but the trace none of them: no shares
  double window_seconds = 0;        // [s] of these steps, or of the trace, without hook_seconds
  double hook_seconds = 0;          // [s] of a step, or of the trace, in which hooks of modules ran
  double onednn_share = 0;          // [1] oneDNN's primitives ran or were created
  double onednn_matched = 1;        // [1] of oneDNN's time in it: within an operator
  double operator_share = 0;        // [1] in operators, without oneDNN
  double rest_share = 0;            // [1] in neither: Python, the program itself
  WindowCost cost;                  // what torch.profiler costs a step
  std::vector<ModuleTime> modules;  // of a step, or of the trace; the longest first
};

// Returns whether torch.compile has compiled the model: its fused loops are no operators.
bool IsCompiled(const TracedProgram& traced);
// Returns whether operators are in the breakdown.
inline bool HasOperators(const std::optional<TracedProgram>& traced) {
  return traced && !traced->of_no_step;
}

// Adds what was traced, and the modules with most time.
void AddTraced(const TracedProgram& traced, document::Document& document);

// The CPU times of a process at one time, since its start [s].
struct CpuSample {
  double at = 0;            // [s] since 1970
  double main_cpu = 0;      // main thread on a CPU
  double main_waiting = 0;  // main thread ready to run, but on no CPU
  double others_cpu = 0;    // other threads, and processes that it started
};

// How the main thread spent the time outside of oneDNN [s], in a step or in the program.
struct OutsideTimes {
  double computing = 0;   // on a CPU
  double waiting = 0;     // ready to run, while others had the CPUs
  double sleeping = 0;    // not ready: waiting for data, for other threads, asleep
  double other_cpus = 0;  // [1] CPUs that other threads and processes of the program used
                          // meanwhile, on average
};

// Splits the time of `range` in which none of oneDNN's primitives ran. `onednn_seconds` [s]: the
// time in which one ran, on `threads` threads; the main thread was ready to run then. The main
// thread waits for a CPU as often within primitives as outside. Divides the result by `steps` [1].
// Returns nothing if the samples do not enclose the range, or it has no time outside.
std::optional<OutsideTimes> SplitOutside(const std::vector<CpuSample>& samples,
                                         const TimeRange& range, double onednn_seconds, int threads,
                                         int steps);

// Labels of the three times in a breakdown.
inline constexpr const char* kOutsideComputing = "outside oneDNN: the main thread computes";
inline constexpr const char* kOutsideWaiting = "outside oneDNN: the main thread waits for a CPU";
inline constexpr const char* kOutsideSleeping = "outside oneDNN: the main thread sleeps";

}  // namespace dlroof::programs
