// From repetitions of a kernel to a ceiling that proves itself. No hardware and no clock: the
// kernel is a function that says how long it took.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof {

// One timed run of a task on all threads.
struct TeamTime {
  double seconds = 0;                   // [s] from the first start to the last end, steady clock
  std::optional<double> wait_fraction;  // [1] of `seconds` that the worst thread waited for a CPU;
                                        // absent without /proc schedstat
  std::optional<double> clock_hz;       // [1/s] of the slowest core right after its task; absent
                                        // where nobody measured it
};

// How hard to try.
struct RatePolicy {
  double repetition_seconds =
      3e-3;                 // [s] length of one repetition: within a scheduler's time slice
  int repetitions = 12;     // [1] clean ones wanted
  int doubled = 6;          // [1] clean ones wanted with twice the work
  double max_seconds = 3;   // [s] by `now`, then the evidence must do
  double tolerance = 0.02;  // [1] for "twice the time" and for the agreement of the best ones
  double max_wait_fraction = 0.005;   // [1] a repetition whose threads waited longer is not clean
  std::function<void(double)> sleep;  // [s] after a disturbed repetition; may be empty
  std::function<double()> now;        // [s] any steady clock; must not be empty in MeasureRate
};

struct RateRepetition {
  std::int64_t iterations = 0;
  TeamTime time;
};

// Unknown wait counts as none: without /proc schedstat nothing could be measured at all.
bool IsClean(const RateRepetition& repetition, const RatePolicy& policy);

// What a rate rests on.
struct RateEvidence {
  std::vector<RateRepetition> single;   // of one measurement all of one number of iterations
  std::vector<RateRepetition> doubled;  // with twice that number
};

struct Rate {
  double per_second = 0;                          // [iteration/s] best clean repetition
  std::optional<std::pair<double, double>> ci95;  // [iteration/s] of the median, clean only
  bool proved = false;
  std::string reason;              // one sentence, when not proved
  std::optional<double> doubling;  // [1] time of twice the work / time of the work, best or median
  std::optional<double> spread;    // [1] width of ci95 / the median of the clean ones
  std::optional<double> clock_hz;  // [1/s] median over the clean repetitions close to the best
  int clean = 0, total = 0;
  bool waits_known = true;  // false: disturbed repetitions could not be told
  RateEvidence evidence;
};

// Proved means: enough clean repetitions of both kinds; the best doubled one took twice the time of
// the best single one within the tolerance, or the median ones did; three or more clean rates lie
// within it of the best. A clock is held against the repetition that it followed, and only
// repetitions within the tolerance of the best are asked: others may have run beside a neighbour.
// Without any clean repetition the best disturbed one is returned, not proved. Throws
// std::invalid_argument when both are empty.
Rate JudgeRate(const RateEvidence& evidence, const RatePolicy& policy);

// One rate from several measurements spread over a time: judged by the evidence of all, and proved
// only if besides the best measurement another one comes within `tolerance` of it. A neighbour on
// the host can slow a virtual machine for seconds and leave no trace in it: 28 % were seen, in a
// rate that had proved itself. Throws std::invalid_argument when there is none.
Rate MergePasses(const std::vector<Rate>& passes, const RatePolicy& policy, double tolerance);

// Runs n iterations of the kernel on the team.
using TimedKernel = std::function<TeamTime(std::int64_t iterations)>;

// Finds the number of iterations that takes `repetition_seconds`, then repeats until the evidence
// proves the rate or the time is up. Throws Unsupported where the time is up and the kernel has
// said that it took none.
Rate MeasureRate(const TimedKernel& kernel, const RatePolicy& policy);

}  // namespace dlroof
