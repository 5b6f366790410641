// Two runs of the same benchmarks: a verdict for each, how sure it is, and why it moved. Pure.
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

// The quantities that may raise an alarm.
enum class Quantity { kTime, kBytes, kFlops, kFraction, kResidual };
std::string_view Key(Quantity quantity);
std::optional<Quantity> QuantityFromKey(std::string_view key);

struct CompareOptions {
  std::optional<double> min_effect;  // [1] as in JudgeSettings
  std::optional<double> run_noise;   // [1] as in JudgeSettings
  bool across_machines = false;      // judge percent of roof, not seconds
  std::set<Quantity> on = {Quantity::kTime};
  NameMap names;
  // Another process's run of what NEW measured, whole or in part (measured_again.h); must outlive
  // the call.
  const NamedRun* again = nullptr;
};

// The fate of the verdicts slower and faster beside a run that measured them again.
struct RerunCheck {
  std::string where;   // that run
  int retracted = 0;  // [1] verdicts
  int unknown = 0;     // [1] that it has no times of
};

// A quantity of one benchmark that got worse and was asked for: bytes or FLOPs that grew, percent
// of roof that fell, a measurement that went away from what a model predicted.
struct Alert {
  Quantity on = Quantity::kBytes;
  std::string text;
};

// One benchmark. The records are those of the compared run files, which must outlive it.
struct Comparison {
  const record::Record* base = nullptr;       // null: new
  const record::Record* contender = nullptr;  // null: gone
  const NamedRun* stored = nullptr;           // whose record `base` is, of several stored runs
  statistics::Verdict verdict = statistics::Verdict::kInsufficient;
  std::string reason;  // why not same, faster or slower
  // [1] ratio of seconds; across machines of the distances from the roof (1 / percent of roof).
  // Above 1 is worse either way.
  std::optional<statistics::Judgement> judgement;
  std::optional<double> cliffs_delta;  // [1] effect size of the seconds; absent across machines
  std::optional<double> base_seconds, contender_seconds;    // [s] medians of clean repetitions
  std::optional<double> base_fraction, contender_fraction;  // [1] of the binding roof, where known
  bool specified_roof = false;  // one of these roofs is given, not measured
  bool explained_by_common = false;  // moved with its run, as CompareResult::common says of all
  bool newly_failed = false;    // was ok in BASE, and cannot be timed in NEW
  std::vector<Change> changes;
  std::vector<Residual> residuals;  // where both records have a prediction
  std::vector<Alert> alerts;

  const std::string& name() const { return contender != nullptr ? contender->name : base->name; }
  // Returns the cause, or "unexplained: ..."; empty unless it is slower or faster, or something
  // changed.
  std::string Cause() const;
};

struct CompareResult {
  std::string base;              // what BASE is called
  std::vector<Comparison> rows;  // NEW's order, then what is gone
  double min_effect = 0;         // [1]
  std::string min_effect_from;
  statistics::RunNoise noise;
  std::optional<statistics::CommonShift>
      common;                        // found, and as large as half of the minimum effect
  std::vector<std::string> context;  // what else differs between the runs (paired_record.h)
  std::map<std::string, ResidualMean> residuals;  // by "time", "l1", "l2", "dram"
  std::optional<RerunCheck> again;
  bool across_machines = false;
  bool interleaved = false;                  // the builds took turns
  bool fractions_judged = false;             // percent of roof was asked for, and known of some
  std::map<statistics::Verdict, int> count;  // [1] rows
  int alerts = 0;                            // [1]
  // 0 nothing asked for got worse, 1 something did (slower, newly failed, or an alert), 3 nothing
  // got worse, but nothing could be judged
  int exit_code = 0;
  // CompareWithStored's (compare_stored.h) results against each stored run, without their rows, the
  // newest first.
  std::vector<CompareResult> parts;
};

// Throws BadInput as PairRecords and CheckComparable do.
CompareResult Compare(const NamedRun& base, const NamedRun& contender,
                      const CompareOptions& options);

// The same of these pairs of the two runs alone. `stored`: by how much stored runs of the machine
// differ (ShiftsBetweenRuns); may be empty. Throws BadInput as CheckComparable does.
CompareResult ComparePairs(const NamedRun& base, const NamedRun& contender,
                           const std::vector<PairedRecord>& pairs, const CompareOptions& options,
                           std::vector<statistics::Shift> stored);

// Sets counts, alerts and exit code by the rows as they are now: after any verdict was changed.
void CountVerdicts(const CompareOptions& options, CompareResult& result);

// [s] of the repetitions that were not noisy, in their order.
std::vector<double> CleanSeconds(const record::Record& record);
// Returns whether at least kLeastClean repetitions and half of all are clean. Where most were
// noisy, the rest may be noisy without a sign of it.
bool HasEnoughClean(const record::Record& record);
// Returns whether the clean repetitions of both are the very same.
bool IsOneMeasurement(const record::Record& base, const record::Record& contender);

}  // namespace dlroof::compare
