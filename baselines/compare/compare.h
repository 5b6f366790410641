// Compares two runs (BASE and NEW): a verdict, its uncertainty and its cause per benchmark. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/cause.h"
#include "baselines/compare/paired_record.h"
#include "baselines/statistics/judge.h"

namespace dlroof::compare {

// The quantities that may raise an alert.
enum class Quantity { kTime, kBytes, kFlops, kFraction, kResidual };
std::string_view Key(Quantity quantity);
std::optional<Quantity> QuantityFromKey(std::string_view key);

struct CompareOptions {
  std::optional<double> min_effect;  // [1] as in JudgeSettings
  std::optional<double> run_noise;   // [1] as in JudgeSettings
  bool across_machines = false;      // compare percent of roof, not seconds
  std::set<Quantity> on = {Quantity::kTime};
  NameMap names;
  // A second run of all or some of NEW's benchmarks, to check verdicts; must outlive the call.
  const NamedRun* rerun = nullptr;
  // Earlier runs of BASE's machine, oldest first, which tell the noise between runs and BASE's
  // level; they must outlive the call. Benchmarks are found by BASE's names.
  std::vector<const NamedRun*> earlier = {};
  bool window = false;  // as in JudgeSettings: `earlier` and BASE are a window of runs
};

// Verdicts slower and faster, checked against a second run of NEW's benchmarks.
struct RerunCheck {
  std::string where;  // the second run's file
  int retracted = 0;  // [1] verdicts that it did not confirm
  int unknown = 0;    // [1] verdicts on benchmarks without a time in it
};

// A quantity of one benchmark that got worse and for which alerts were requested: bytes or FLOPs
// that grew, percent of roof that fell, a residual that moved away from 1.
struct Alert {
  Quantity on = Quantity::kBytes;
  std::string text;
};

// The comparison of one benchmark. It points into the run files, which must outlive it.
struct Comparison {
  const record::Record* base = nullptr;       // null for verdict new
  const record::Record* contender = nullptr;  // null for verdict gone
  const NamedRun* stored = nullptr;           // stored run with `base`, if there are several
  statistics::Verdict verdict = statistics::Verdict::kInsufficient;
  std::string reason;  // explains verdicts other than same, faster and slower
  // [1] ratio of seconds NEW / BASE; across machines, of seconds / roof seconds. Above 1 is worse.
  std::optional<statistics::Judgement> judgement;
  std::optional<double> cliffs_delta;  // [1] effect size of the seconds; not set across machines
  std::optional<double> base_seconds, contender_seconds;  // [s] medians of clean repetitions
  // [1] of the binding roof. If that is not validated, upper limits, which are shown but not
  // judged.
  std::optional<double> base_fraction, contender_fraction;
  std::optional<double> base_fraction_at_most, contender_fraction_at_most;
  bool specified_roof = false;  // a roof of the two is specified, not measured
  // False if the runs count the op's FLOPs by different conventions (CountFlopsAlike): BASE's
  // percentage of its roof is absent then, and modelled FLOPs are not compared.
  bool flops_alike = true;
  // Which time of a GPU was judged, if not the records' own: "graph", "throughput" or "call".
  std::optional<std::string> timed;
  // [1] Share of the repetitions of several processes whose mean was judged, the fastest ones; the
  // times above are these means. Absent if clean repetitions were judged.
  std::optional<double> fastest_share;
  std::optional<double> added_seconds;  // [s] to NEW's times, see JudgedTimes::added_seconds
  bool newly_failed = false;            // was ok in BASE, and has no time in NEW
  std::vector<Change> changes;
  std::vector<Residual> residuals;  // if both records have a prediction
  std::vector<Alert> alerts;

  const std::string& name() const { return contender != nullptr ? contender->name : base->name; }
  // Returns the changes as text, or "unexplained: ..." if a slower or faster benchmark has none.
  std::string Cause() const;
};

struct CompareResult {
  std::string base;              // BASE's name for people
  std::vector<Comparison> rows;  // in NEW's order, then the benchmarks that are gone
  double min_effect = 0;         // [1]
  std::string min_effect_from;
  double run_noise = 0;  // [1] deviation between runs (Judged)
  std::string run_noise_from;
  std::optional<statistics::CommonShift> common;  // of comparisons that are not interleaved
  int earlier_runs = 0;                           // [1] that told the noise
  std::vector<std::string> context;               // other differences of the runs (ContextChanges)
  std::map<std::string, ResidualMean> residuals;  // by "time", "l1", "l2", "dram"
  std::optional<RerunCheck> rerun;
  bool across_machines = false;
  bool interleaved = false;                  // the two builds were measured interleaved
  bool fractions_judged = false;             // percent of roof was requested and is known for a row
  std::map<statistics::Verdict, int> count;  // [1] rows
  int alerts = 0;                            // [1]
  // 0: nothing got worse. 1: slower, newly failed or alerted benchmarks. 3: none could be judged,
  // or all together moved and nothing tells whether the program or the machine did.
  int exit_code = 0;
  // Results of CompareWithStored (compare_stored.h) against each stored run, without their rows,
  // the newest first.
  std::vector<CompareResult> parts;
};

// Compares all benchmarks of two runs. Throws BadInput where PairRecords and CheckComparable do.
CompareResult Compare(const NamedRun& base, const NamedRun& contender,
                      const CompareOptions& options);

// Compares only `pairs`. Throws BadInput where CheckComparable does.
CompareResult ComparePairs(const NamedRun& base, const NamedRun& contender,
                           const std::vector<PairedRecord>& pairs, const CompareOptions& options);

// Sets counts, alerts and exit code from the rows; call it again after a verdict was changed.
void CountVerdicts(const CompareOptions& options, CompareResult& result);

// The times of two records that are judged: levels of the same kind.
struct LevelPair {
  statistics::Level base, contender;
  std::optional<double> fastest_share;  // [1] of several processes
};

// Returns the levels of the fastest `share` of several processes if both records have them,
// otherwise those of their clean times; nothing if one has too few, or a time of 0.
std::optional<LevelPair> LevelsOf(const record::Record& base, const record::Record& contender,
                                  double share = statistics::kFastestShares.front());
// Returns whether both records have identical clean repetitions: copies of one measurement.
bool IsSameMeasurement(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::compare
