// Measures the rate of a kernel by repetitions, validates it, and prints the progress of a
// measurement. Needs no hardware and no clock: the kernel is a function that returns its time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::machine {

struct MeasureProgress {
  int step = 0, steps = 0;  // step `step` (from 0) begins; step == steps at the end
  std::string text;         // name of the step
  double eta_seconds = 0;   // [s] to the end, at the speed so far
};

// Overwrites one line of a terminal and clears it at the end. Prints a line at the start and after
// each tenth if the output is not a terminal. Pass it by std::ref: a copy does not know which line
// was printed last.
class ProgressPrinter {
 public:
  ProgressPrinter(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  void operator()(const MeasureProgress& progress);

 private:
  std::ostream& out_;
  bool terminal_;
  int tenths_ = -1;
};

bool StderrIsTerminal();

// One timed run of a task on all threads.
struct TeamTime {
  double seconds = 0;                   // [s] from the first start to the last end, steady clock
  std::optional<double> wait_fraction;  // [1] of `seconds`: longest wait of a thread for a CPU,
                                        // read from /proc schedstat
  std::optional<double> clock_hz;       // [1/s] of the slowest core right after its task
  std::optional<double> core_share;     // [1] lowest share of its core that a thread had right
                                        // before and after the task (clocks.h)
};

// The limits and goals of one measurement.
struct RatePolicy {
  double repetition_seconds = 3e-3;   // [s] of one repetition: within a scheduler's time slice
  int repetitions = 12;               // clean repetitions needed
  int doubled = 6;                    // clean repetitions with twice the work needed
  double max_seconds = 3;             // [s] by `now`; then the rate is judged as it is
  double tolerance = 0.02;            // [1] of the doubled time, and of the best rates' agreement
  double max_wait_fraction = 0.005;   // [1] a repetition whose threads waited longer is noisy
  std::function<void(double)> sleep;  // [s] after a noisy repetition; may be empty
  std::function<double()> now;        // [s] any steady clock; MeasureRate needs it
};

struct RateRepetition {
  std::int64_t iterations = 0;
  TeamTime time;
};

// Returns whether the threads hardly waited and had their cores to themselves (kLeastCoreShare).
// Unknown waits count as clean, otherwise nothing could be measured without /proc schedstat.
bool IsClean(const RateRepetition& repetition, const RatePolicy& policy);

// The repetitions behind a rate.
struct RateEvidence {
  std::vector<RateRepetition> single;   // within one measurement all of the same iterations
  std::vector<RateRepetition> doubled;  // twice the iterations of `single`
};

struct Rate {
  double per_second = 0;                          // [iteration/s] best clean repetition
  std::optional<std::pair<double, double>> ci95;  // [iteration/s] of the clean repetitions' median
  std::optional<Reason> reason;                   // why the rate is not validated
  std::optional<double> doubling;  // [1] time of twice the work / time of the work, best or median
  std::optional<double> spread;    // [1] width of ci95 / the median of the clean repetitions
  std::optional<double> clock_hz;  // [1/s] median over the clean repetitions close to the best
  int clean = 0, total = 0;        // repetitions of both kinds
  bool waits_known = true;         // whether the system reports waits for a CPU
  RateEvidence evidence;

  bool IsValidated() const { return !reason; }
};

// Validates a rate by its repetitions. There must be enough clean ones of both kinds. The best or
// the median time of the doubled work must be twice that of the single work within the tolerance.
// Three clean rates must be within the tolerance of the best; only those give the clock, because
// others may have run beside another program. Without a clean repetition it returns the best noisy
// rate, not validated. Throws std::invalid_argument if there are no repetitions.
Rate JudgeRate(const RateEvidence& evidence, const RatePolicy& policy);

// Merges measurements that are spread over time and validates them together. A second one must be
// within `tolerance` of the best: another virtual machine on the host can slow this one for seconds
// without a trace (a rate that passed all other checks was 28 % too low). Throws
// std::invalid_argument if there are no passes.
Rate MergePasses(const std::vector<Rate>& passes, const RatePolicy& policy, double tolerance);

// Runs n iterations of the kernel on the team.
using TimedKernel = std::function<TeamTime(std::int64_t iterations)>;

// Finds the number of iterations that takes `repetition_seconds`, then repeats until the rate is
// validated or the time is up. Throws Unsupported if the time is up and the kernel's own clock has
// not advanced.
Rate MeasureRate(const TimedKernel& kernel, const RatePolicy& policy);

}  // namespace dlroof::machine
