// Measurements for the time breakdown of a CPU call (--dlroof_explain): the profile of its parallel
// regions and, after all benchmarks were timed, the call on one thread and with tensors in L2.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/base/parallel_time.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/record.h"

namespace dlroof::runner {

using ProgressFunction = std::function<void(const machine::MeasureProgress&)>;

struct ExplainOptions {
  // [s] Limit of the wall time of each benchmark, including its timed repetitions. Absent: none.
  std::optional<double> limit_seconds;
  ProgressFunction progress;    // may be empty
  bool reports_timing = false;  // also report which benchmark is being timed
};

// Returns whether `spent_seconds`, the wall time of the timed repetitions, exceed 0.6 of the
// benchmark's limit: the rest of the limit is for the pass. Returns false without a limit.
bool IsTimedLongEnough(const ExplainOptions& options, double spent_seconds);

// Returns the pass's budget for one benchmark: the rest of its limit after `spent_seconds` of wall
// time, and CPU time of at most 0.4 of the limit.
cpu::Budget ExplainBudget(const ExplainOptions& options, double spent_seconds,
                          cpu::BudgetClocks clocks = cpu::CallersClocks());

// The measurements of the pass, in their order.
enum class ExplainPart { kSingleThreaded, kNearAndFar };
inline constexpr int kExplainParts = 2;
std::string_view Words(ExplainPart part);  // e.g. "on one thread"

// Profiles the parallel regions of a call, in passes that are separate from the timed repetitions.
class WatchedCalls {
 public:
  // Profiles a pass of `calls` calls on `threads` threads, or sets UnwatchedReason if it cannot.
  void Add(const workload::PreparedCall& call, int threads, std::int64_t calls);
  // Measures the workload's call prepared for one thread, but only prepares it if no pass was
  // profiled. Ends soon after `budget` is spent. `settings` are those of the run. Calls `begin`
  // before each part. Throws what Workload::prepare throws.
  void Explain(const workload::Workload& workload, workload::RunSettings settings,
               const ExplainOptions& options, const cpu::Budget& budget,
               const std::function<void(ExplainPart)>& begin);
  // Returns the profile per call: the mean over the clean passes or, if all passes are noisy, over
  // the quarter with the least run delay. Returns nullopt if there is no pass.
  std::optional<ParallelTime> Mean() const;
  // Returns why the last pass could not be profiled, if it could not.
  const std::optional<Reason>& UnwatchedReason() const { return unwatched_reason_; }

 private:
  struct Pass {
    record::Repetition repetition;
    RegionSums sums;  // sums over all calls of the pass
    int threads = 1;
    std::string source;
  };
  // Times the call, its parts and the call with all sizes 1. Counts instructions if possible.
  void AddSingleThreaded(const workload::PreparedCall& call, const cpu::Budget& budget);
  void CountInstructions(const workload::PreparedCall& call);
  // Returns whether the single-threaded call has the same algorithm as the profiled call. If not,
  // its times are not used.
  bool IsComparable() const { return algorithm_ == single_thread_algorithm_; }

  std::vector<Pass> passes_;
  ParallelTime single_;  // measurements of the single-threaded call
  std::optional<double> executed_over_useful_;
  std::string algorithm_, single_thread_algorithm_;
  std::optional<Reason> unwatched_reason_;
};

// Counts the steps of a run of `benchmarks` benchmarks and estimates the time that is left.
class ExplainProgress {
 public:
  // Reports nothing without options or their `progress`. `now` returns a steady clock's time [s].
  ExplainProgress(const std::optional<ExplainOptions>& options, int benchmarks,
                  std::function<double()> now);
  // Reports that the next benchmark is about to be timed, if the options ask for it.
  void Time(const std::string& name);
  // Reports that `part` of the benchmark number `index` (from 0) is about to be measured.
  void Explain(int index, const std::string& name, ExplainPart part);
  void End();

 private:
  void Report(int step, const std::string& text);

  ProgressFunction report_;
  bool reports_timing_ = false;
  int benchmarks_, timed_ = 0;
  std::function<double()> now_;
  double begin_;
};

// ---- progress of dlroof_bench for the program that started it: a line of JSON per step in a pipe

// Returns the line for `progress`, with its newline.
std::string ProgressLine(const machine::MeasureProgress& progress);
// Returns the progress in a line without newline, or nullopt if the line is no ProgressLine.
std::optional<machine::MeasureProgress> ParseProgressLine(const std::string& line);

// Writes a short text to the descriptor `pipe`, which does not block. If the reading program has
// ended, SIGPIPE ends this process too (unless ignored); other failures have no effect.
void WriteToPipe(int pipe, const std::string& text);

}  // namespace dlroof::runner
