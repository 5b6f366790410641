// Prints the progress of a measurement on a terminal or in a log.
//
// Turns repetitions of a kernel into a rate that validates itself. It needs no hardware and no
// clock: the kernel is a function that returns its time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::machine {

struct MeasureProgress {
  int step = 0, steps = 0;  // `step` of `steps` begins; step == steps: done
  std::string text;         // what is measured now
  double eta_seconds = 0;   // [s] until done, at the speed so far
};

// On a terminal it overwrites one line and clears it at the end. Else it prints a line at the start
// and after each tenth. Pass it by std::ref: a copy would not know the last line.
class ProgressPrinter {
 public:
  ProgressPrinter(std::ostream& out, bool terminal) : out_(out), terminal_(terminal) {}
  void operator()(const MeasureProgress& progress);

 private:
  std::ostream& out_;
  bool terminal_;
  int tenths_ = -1;
};

// Returns true where stderr is a terminal.
bool StderrIsTerminal();

// One timed run of a task on all threads.
struct TeamTime {
  double seconds = 0;                   // [s] from the first start to the last end, steady clock
  std::optional<double> wait_fraction;  // [1] of `seconds` that the worst thread waited for a CPU;
                                        // absent without /proc schedstat
  std::optional<double> clock_hz;       // [1/s] of the slowest core right after its task; absent
                                        // where nobody measured it
  std::optional<double> core_share;     // [1] of its core that the worst thread got right before
                                        // and after (issue_rate.h); absent where nobody looked
};

// The limits and goals of one measurement.
struct RatePolicy {
  double repetition_seconds =
      3e-3;                 // [s] length of one repetition: within a scheduler's time slice
  int repetitions = 12;     // [1] clean ones wanted
  int doubled = 6;          // [1] clean ones wanted with twice the work
  double max_seconds = 3;   // [s] by `now`, then the evidence must do
  double tolerance = 0.02;  // [1] for "twice the time" and for the agreement of the best ones
  double max_wait_fraction = 0.005;   // [1] a repetition whose threads waited longer is not clean
  std::function<void(double)> sleep;  // [s] after a noisy repetition; may be empty
  std::function<double()> now;        // [s] any steady clock; must not be empty in MeasureRate
};

struct RateRepetition {
  std::int64_t iterations = 0;
  TeamTime time;
};

// Its threads hardly waited and had their cores (kLeastCoreShare). Unknown counts as clean:
// without /proc schedstat nothing could be measured at all.
bool IsClean(const RateRepetition& repetition, const RatePolicy& policy);

// The repetitions behind a rate.
struct RateEvidence {
  std::vector<RateRepetition> single;   // of one measurement all of one number of iterations
  std::vector<RateRepetition> doubled;  // with twice that number
};

struct Rate {
  double per_second = 0;                          // [iteration/s] best clean repetition
  std::optional<std::pair<double, double>> ci95;  // [iteration/s] of the median, clean only
  bool validated = false;
  std::string reason;              // one sentence, when not validated
  std::optional<double> doubling;  // [1] time of twice the work / time of the work, best or median
  std::optional<double> spread;    // [1] width of ci95 / the median of the clean ones
  std::optional<double> clock_hz;  // [1/s] median over the clean repetitions close to the best
  int clean = 0, total = 0;
  bool waits_known = true;  // false: noisy repetitions are unknown
  RateEvidence evidence;
};

// Proves a rate by enough clean repetitions of both kinds. The best doubled one, or the median one,
// must take twice the time of the single one within the tolerance. Three or more clean rates must
// come within the tolerance of the best. Only those repetitions give the clock: others may have run
// beside a neighbour. Without a clean repetition it returns the best noisy one, not validated.
// Throws std::invalid_argument when both are empty.
Rate JudgeRate(const RateEvidence& evidence, const RatePolicy& policy);

// Merges measurements spread over time and judges the evidence of all. A second measurement must
// come within `tolerance` of the best. A neighbour on the host can slow a virtual machine for
// seconds without a trace: one validated rate was 28 % too low. Throws std::invalid_argument when
// there is none.
Rate MergePasses(const std::vector<Rate>& passes, const RatePolicy& policy, double tolerance);

// Runs n iterations of the kernel on the team.
using TimedKernel = std::function<TeamTime(std::int64_t iterations)>;

// Finds the number of iterations that takes `repetition_seconds`, then repeats until the evidence
// validates the rate or the time is up. Throws Unsupported where the time is up and the kernel
// returned no time.
Rate MeasureRate(const TimedKernel& kernel, const RatePolicy& policy);

}  // namespace dlroof::machine
