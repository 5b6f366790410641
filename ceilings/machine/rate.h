// Measures the rate of a kernel by repetitions, validates the rate, and prints progress. Needs no
// hardware and no clock: the kernel is a function that returns its own execution time.
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
  int step = 0, steps = 0;  // `step` (from 0) is about to run; step == steps at the end
  std::string text;         // name of the step
  double eta_seconds = 0;   // [s] estimated time to the end
};

// Prints the progress: on a terminal in one line, which it overwrites and clears at the end,
// otherwise a line at the start and after each tenth of the steps. Pass it by std::ref, not a copy.
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

// Result of one timed run of a task on all threads.
struct TeamTime {
  double seconds = 0;                   // [s] from the first start to the last end, steady clock
  std::optional<double> wait_fraction;  // [1] longest wait of a thread for a CPU (/proc schedstat)
                                        // divided by `seconds`; absent if not reported
  std::optional<double> clock_hz;       // [1/s] clock of the slowest core, under the task's load or
                                        // right after it
  std::optional<double> core_share;     // [1] lowest share of a core's issue slots that a thread
                                        // got right before and after the task (clocks.h)
};

// When MeasureRate stops and when it accepts a rate.
struct RatePolicy {
  double repetition_seconds = 3e-3;          // [s] of one repetition: shorter than a time slice
  int repetitions = 12;                      // clean repetitions needed
  int doubled = 6;                           // clean repetitions needed with twice the work
  double least_repetition_seconds = 3.5e-4;  // [s] shortest repetition, on a busy machine
  double max_seconds = 3;                    // [s] time limit, by `now`, of all repetitions
  // [1] relative: twice the work takes twice the time within this; rates within this below the best
  // agree with it.
  double tolerance = 0.02;
  double max_wait_fraction = 0.005;   // [1] a repetition with a larger wait_fraction is noisy
  std::function<void(double)> sleep;  // waits some seconds after a noisy repetition; may be empty
  std::function<double()> now;        // [s] any steady clock; required by MeasureRate
};

// How thoroughly a device's rates are measured.
struct RateEffort {
  const char* name;           // CeilingSet::effort
  double repetition_seconds;  // as in RatePolicy
  int repetitions, doubled;   // as in RatePolicy
  int passes;                 // number of passes; each measures every candidate for a roof
  int sustained;              // number of pipes that run for 10 s

  RatePolicy Policy(double tolerance, std::function<double()> now) const {
    return {.repetition_seconds = repetition_seconds,
            .repetitions = repetitions,
            .doubled = doubled,
            .tolerance = tolerance,
            .now = std::move(now)};
  }
};

struct RateRepetition {
  std::int64_t iterations = 0;
  TeamTime time;
};

// Returns true if the repetition shows no interference: wait_fraction is at most max_wait_fraction
// and core_share at least kMinCoreShare. Absent values count as no interference.
bool IsClean(const RateRepetition& repetition, const RatePolicy& policy);

struct RateEvidence {
  std::vector<RateRepetition> single;   // repetitions with equal iterations in each pass
  std::vector<RateRepetition> doubled;  // twice the iterations of `single`
};

struct Rate {
  double per_second = 0;                          // [iteration/s] best clean repetition
  std::optional<std::pair<double, double>> ci95;  // [iteration/s] 95 % interval of the clean median
  std::optional<Reason> reason;                   // why the rate is not validated
  std::optional<double> doubling;  // [1] time of twice the work / time of the work; ideal: 2
  std::optional<double> spread;    // [1] width of ci95 / the median of the clean repetitions
  // [1/s] Clock of the clean repetitions near the best rate: median, or highest of fewer than five.
  std::optional<double> clock_hz;
  int agreeing = 0;          // clean repetitions within the tolerance of the best
  int clean = 0, total = 0;  // numbers of clean and of all repetitions
  bool waits_known = true;   // true if the system reports waits for a CPU
  RateEvidence evidence;

  bool IsValidated() const { return !reason; }
};

// Returns the best clean rate and validates it by three conditions: there are enough clean
// repetitions with single and with doubled work; the doubled work took twice the time within the
// tolerance (best or median times); three clean rates are within the tolerance of the best. The
// clock is that of repetitions near the best. Without a clean repetition returns the best
// noisy rate, not validated. Throws std::invalid_argument if there are no repetitions.
Rate JudgeRate(const RateEvidence& evidence, const RatePolicy& policy);

// Merges measurements (passes) of one kernel made at distant times, and validates them together.
// The rate of several passes is validated only if a second pass is within `tolerance` of the best:
// other virtual machines on the host can slow this one for seconds, which no clock shows. Throws
// std::invalid_argument if there are no passes.
Rate MergePasses(const std::vector<Rate>& passes, const RatePolicy& policy, double tolerance);

// Runs `iterations` iterations of the kernel on all threads and returns their time.
using TimedKernel = std::function<TeamTime(std::int64_t iterations)>;

// Finds the number of iterations that takes `repetition_seconds`, then repeats until the rate is
// validated or max_seconds pass. If most repetitions are noisy, continues with shorter ones, which
// fit between other programs' time slices. Throws Unsupported if the kernel's clock stands still.
Rate MeasureRate(const TimedKernel& kernel, const RatePolicy& policy);

}  // namespace dlroof::machine
