// Compares two runs (BASE and NEW): a verdict, its uncertainty and its cause per benchmark. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baselines/compare/cause.h"
#include "baselines/compare/paired_record.h"
#include "baselines/statistics/judge.h"

namespace dlroof::compare {

struct CompareOptions {
  std::optional<double> min_effect;  // [1] as in JudgeSettings
  std::optional<double> run_noise;   // [1] as in JudgeSettings
  bool across_machines = false;      // compare percent of roof, not seconds
  NameMap names;
  std::set<std::string> controls;  // NEW's names of benchmarks that are known as unchanged
  // A second run of all or some of NEW's benchmarks, to check verdicts; must outlive the call.
  const NamedRun* rerun = nullptr;
  // Earlier runs that can be compared with BASE, oldest first, which tell the noise between runs
  // and BASE's level; null: none. Must outlive the call. Benchmarks are found by BASE's names.
  const std::vector<NamedRun>* earlier = nullptr;
};

// Verdicts slower and faster, checked against a second run of NEW's benchmarks.
struct RerunCheck {
  std::string where;  // the second run's file
  int retracted = 0;  // [1] verdicts that it did not confirm
  int unknown = 0;    // [1] verdicts on benchmarks without a time in it
};

// What is shown of one record's judged times.
struct Side {
  std::optional<double> seconds;  // [s] median of clean repetitions, or the mean of the fastest
  // [1] of the binding roof. If that is not validated, an upper limit, which is not judged.
  std::optional<double> fraction, fraction_at_most;
  std::optional<double> roof_seconds;  // [s]
  bool specified_roof = false;         // the roof is specified, not measured
};

// The comparison of one benchmark. It points into the run files, which must outlive it.
struct Comparison {
  const record::Record* base = nullptr;       // null for verdict new
  const record::Record* contender = nullptr;  // null for verdict gone
  const NamedRun* stored = nullptr;           // stored run with `base`, if BASE is a folder
  statistics::Verdict verdict = statistics::Verdict::kInsufficient;
  std::string reason;  // explains verdicts other than same, faster and slower
  // [1] ratio of seconds NEW / BASE; across machines, of seconds / roof seconds. Above 1 is worse.
  std::optional<statistics::Judgement> judgement;
  // BASE's percentage of its roof is absent if the runs count the op's FLOPs by different
  // conventions (CountFlopsAlike).
  Side before, after;
  // Which time of a GPU was judged, if not the records' own: "device", "graph", "throughput" or
  // "call".
  std::optional<std::string> timed;
  // [1] Share of the repetitions of several processes whose mean was judged, the fastest ones; the
  // times above are these means. Absent if clean repetitions were judged.
  std::optional<double> fastest_share;
  std::optional<double> added_seconds;  // [s] to NEW's times, see JudgedTimes::added_seconds
  bool newly_failed = false;            // was ok in BASE, and has no time in NEW
  std::vector<Change> changes;

  const std::string& name() const { return contender != nullptr ? contender->name : base->name; }
  // Returns whether the benchmark fails the comparison.
  bool GotWorse() const { return verdict == statistics::Verdict::kSlower || newly_failed; }
  // Returns the changes as text, or "unexplained: ..." if a slower or faster benchmark has none.
  std::string Cause() const;
};

struct CompareResult {
  std::string base;              // BASE's name for people, or those of the stored runs
  std::vector<Comparison> rows;  // in NEW's order, then the benchmarks that are gone
  double min_effect = 0;         // [1]
  std::string min_effect_from;
  double run_noise = 0;  // [1] deviation between runs (Judged)
  std::string run_noise_from;
  std::optional<statistics::CommonShift> common;  // of comparisons that are not interleaved
  std::vector<std::string> context;               // other differences of the runs (ContextChanges)
  std::optional<RerunCheck> rerun;
  bool across_machines = false;
  bool interleaved = false;                  // the two builds were measured interleaved
  std::map<statistics::Verdict, int> count;  // [1] rows
  // 0: nothing got worse. 1: slower or newly failed benchmarks. 3: none could be judged, or all
  // together moved and nothing tells whether the program or the machine did.
  int exit_code = 0;
};

// A pair whose BASE is a record of `run`, the newest of the stored runs [0, earlier] that has it.
struct PairOfRuns {
  PairedRecord records;
  const NamedRun* run = nullptr;
  std::size_t earlier = 0;  // [1] stored runs before it
};

// Compares all benchmarks of two runs. Throws BadInput where PairRecords and CheckComparable do,
// and if a control is no benchmark of NEW.
CompareResult Compare(const NamedRun& base, const NamedRun& contender,
                      const CompareOptions& options);

// Compares pairs of several stored runs (oldest first), which are a window of runs. Throws BadInput
// where CheckComparable does.
CompareResult ComparePairs(const std::vector<PairOfRuns>& pairs,
                           const std::vector<NamedRun>& stored, const NamedRun& contender,
                           const CompareOptions& options);

// Sets counts and exit code from the rows; call it again after a verdict was changed.
void CountVerdicts(CompareResult& result);

// The times of two records that are judged: levels of the same kind.
struct LevelPair {
  statistics::Level base, contender;
  std::optional<double> fastest_share;  // [1] of several processes
};

// Returns the levels of several processes if both records have them, otherwise those of their clean
// times; nothing if one has too few, or a time of 0.
std::optional<LevelPair> LevelsOf(const record::Record& base, const record::Record& contender);
// Returns whether both records have identical clean repetitions: copies of one measurement.
bool IsSameMeasurement(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::compare
