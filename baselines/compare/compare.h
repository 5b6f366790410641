// Compares a run (NEW) with another one, or with each benchmark's newest stored result (BASE). Per
// benchmark: a verdict, its uncertainty and its cause. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "baselines/statistics/judge.h"
#include "reporters/record/run_context.h"

namespace dlroof::compare {

struct CompareOptions {
  std::optional<double> min_effect;  // [1] see JudgeSettings
  std::optional<double> run_noise;   // [1] see JudgeSettings
  bool across_machines = false;      // compare percent of roof, not seconds
  NameMap names;
  std::set<std::string> controls;  // benchmarks of NEW known to be unchanged
  // Earlier runs comparable with BASE, oldest first, from which the noise between runs and BASE's
  // level are estimated. Must outlive the call. Benchmarks have BASE's names.
  std::span<const NamedRun> earlier = {};
};

// Result of checking the verdicts slower and faster against a second run (supervise::Confirm).
struct RerunCheck {
  std::string where;  // the second run's file
  int retracted = 0;  // [1] verdicts that the second run did not confirm
  int unknown = 0;    // [1] verdicts on benchmarks without a time in the second run
};

// The displayed times of one record.
struct Side {
  // [s] the level that is judged, else the median of clean times; record::TimeOf if interleaved
  std::optional<double> seconds;
  // [1] Share of the binding roof that is reached. If this roof is not validated, only
  // fraction_at_most is set: an upper limit, which is not judged.
  std::optional<double> fraction, fraction_at_most;
  std::optional<double> roof_seconds;  // [s] time at the binding roof
  bool specified_roof = false;         // the roof comes from a data sheet
};

// The comparison of one benchmark. Points into the run files, which must outlive it.
struct Comparison {
  const record::Record* base = nullptr;       // null if only NEW has the benchmark
  const record::Record* contender = nullptr;  // null for Verdict::kGone
  const NamedRun* stored = nullptr;           // run of CompareWithStored with `base`; else null
  statistics::Verdict verdict = statistics::Verdict::kInsufficient;
  std::string reason;  // explains the verdict; may be empty for kSame, kFaster, kSlower
  // Null if not judged. Its ratio is time NEW / BASE, across machines of (time / roof time).
  record::Rare<statistics::Judgement> judgement;
  // before.fraction is nullopt if the runs count FLOPs by different conventions (CountFlopsAlike).
  Side before, after;
  // The judged kind of GPU time (record::timed, e.g. "graph"), if not that of Repetition::seconds.
  record::Rare<std::string> timed;
  // [1] If several processes were measured: the mean of this share of all repetitions, the fastest
  // ones, was judged. Absent if clean repetitions were judged.
  std::optional<double> fastest_share;
  std::optional<double> added_seconds;  // [s] as JudgedTimes::added_seconds
  bool newly_failed = false;            // ok in BASE, but not in NEW
  std::vector<record::Change> changes;

  const std::string& name() const { return contender != nullptr ? contender->name : base->name; }
  // Returns whether the benchmark fails the comparison.
  bool GotWorse() const { return verdict == statistics::Verdict::kSlower || newly_failed; }
  // Returns the changes as text; "unexplained: ..." for a slower or faster row without changes.
  std::string Cause() const;
};

struct CompareResult {
  std::string base;                  // BASE's path, or the paths of the stored runs
  std::vector<Comparison> rows;      // in NEW's order, then those with Verdict::kGone
  statistics::Judged judged;         // without `each`, which is in the rows
  std::vector<std::string> context;  // other differences between the runs, see ContextChanges
  std::optional<RerunCheck> rerun;
  bool across_machines = false;
  bool interleaved = false;  // both builds were measured interleaved, at least where unclear
  bool of_programs = false;  // both files are profiles of programs; set by the caller
  std::map<statistics::Verdict, int> count;  // [1] number of rows
  // 0: nothing got worse. 1: a benchmark is slower or newly failed. 3: unknown, because half of the
  // benchmarks are ambiguous or insufficient, one is suspect (Judgement::is_suspect), or all moved
  // together by an unexplained shift.
  int exit_code = 0;
};

// Compares all benchmarks of two runs. Throws BadInput as PairRecords and CheckComparable.
CompareResult Compare(const NamedRun& base, const NamedRun& contender,
                      const CompareOptions& options);

// As Compare. A benchmark's BASE is the newest run of `stored` (oldest first; must outlive the
// result) that has it; a result with too few clean repetitions is skipped if an older run has
// enough. BASE's level is the mean over this run and the earlier runs, without outliers
// (statistics.md). The benchmarks compared with one stored run share a common shift. A benchmark
// missing in `contender` is kGone if another benchmark of its stored run was compared. Throws
// BadInput as PairRecords and CheckComparable, and if `stored` has no benchmark of `contender`.
CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options);

// Sets counts and exit code from the rows. Call again after changing a verdict.
void CountVerdicts(CompareResult& result);

}  // namespace dlroof::compare
