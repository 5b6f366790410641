// Compares two runs of the same benchmarks: a verdict, its uncertainty and its cause for each.
// Pure.
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
  bool across_machines = false;      // judge percent of roof, not seconds
  std::set<Quantity> on = {Quantity::kTime};
  NameMap names;
  // Another process's run of all or some of NEW's benchmarks (compare_stored.h); must outlive the
  // call.
  const NamedRun* rerun = nullptr;
};

// Verdicts slower and faster, checked against a second run of NEW's benchmarks.
struct RerunCheck {
  std::string where;  // the second run's file
  int retracted = 0;  // [1] verdicts that it did not confirm
  int unknown = 0;    // [1] verdicts on benchmarks that it has no times of
};

// A quantity of one benchmark that got worse and for which alerts were requested: bytes or FLOPs
// that grew, percent of roof that fell, a residual that moved away from 1.
struct Alert {
  Quantity on = Quantity::kBytes;
  std::string text;
};

// The comparison of one benchmark. The records are in the compared run files, which must outlive
// it.
struct Comparison {
  const record::Record* base = nullptr;       // null for verdict new
  const record::Record* contender = nullptr;  // null for verdict gone
  const NamedRun* stored = nullptr;           // the stored run with `base`, if there are several
  statistics::Verdict verdict = statistics::Verdict::kInsufficient;
  std::string reason;  // explains verdicts other than same, faster and slower
  // [1] ratio of seconds; across machines of the distances from the roof (1 / percent of roof).
  // Above 1 is worse either way.
  std::optional<statistics::Judgement> judgement;
  std::optional<double> cliffs_delta;  // [1] effect size of the seconds, on one machine
  std::optional<double> base_seconds, contender_seconds;    // [s] medians of clean repetitions
  std::optional<double> base_fraction, contender_fraction;  // [1] of the binding roof, if known
  bool specified_roof = false;       // one of these roofs is specified, not measured
  bool explained_by_common = false;  // moved with its whole run (CompareResult::common)
  bool newly_failed = false;         // was ok in BASE, and has no time in NEW
  std::vector<Change> changes;
  std::vector<Residual> residuals;  // if both records have a prediction
  std::vector<Alert> alerts;

  const std::string& name() const { return contender != nullptr ? contender->name : base->name; }
  // Returns the cause or "unexplained: ..." for a benchmark that moved, and any changes of others.
  std::string Cause() const;
};

struct CompareResult {
  std::string base;              // BASE's name for people
  std::vector<Comparison> rows;  // in NEW's order, then the benchmarks that are gone
  double min_effect = 0;         // [1]
  std::string min_effect_from;
  statistics::RunNoise noise;
  std::optional<statistics::CommonShift>
      common;                        // set if it is at least half of the minimum effect
  std::vector<std::string> context;  // what else differs between the runs (paired_record.h)
  std::map<std::string, ResidualMean> residuals;  // by "time", "l1", "l2", "dram"
  std::optional<RerunCheck> rerun;
  bool across_machines = false;
  bool interleaved = false;                  // the two builds were measured interleaved
  bool fractions_judged = false;             // percent of roof was requested, and known for some
  std::map<statistics::Verdict, int> count;  // [1] rows
  int alerts = 0;                            // [1]
  // 0: nothing requested got worse. 1: something did (slower, newly failed, or an alert). 3:
  // nothing got worse, but nothing could be judged.
  int exit_code = 0;
  // Results of CompareWithStored (compare_stored.h) against each stored run, without their rows,
  // the newest first.
  std::vector<CompareResult> parts;
};

// Throws BadInput where PairRecords and CheckComparable do.
CompareResult Compare(const NamedRun& base, const NamedRun& contender,
                      const CompareOptions& options);

// Compares only these pairs of the two runs. `stored` has the differences between stored runs of
// the machine (ShiftsBetweenRuns), and may be empty. Throws BadInput where CheckComparable does.
CompareResult ComparePairs(const NamedRun& base, const NamedRun& contender,
                           const std::vector<PairedRecord>& pairs, const CompareOptions& options,
                           std::vector<statistics::Shift> stored);

// Sets counts, alerts and exit code from the rows; call it again after a verdict was changed.
void CountVerdicts(const CompareOptions& options, CompareResult& result);

// Returns the times of the clean repetitions [s], in their order.
std::vector<double> CleanSeconds(const record::Record& record);
// Returns whether at least kLeastClean repetitions and half of all are clean. If most are noisy,
// the others may be disturbed, too, without being marked.
bool HasEnoughClean(const record::Record& record);
// Returns whether both have identical clean repetitions: the same measurement.
bool IsSameMeasurement(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::compare
