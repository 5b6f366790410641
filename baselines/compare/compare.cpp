#include "baselines/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "baselines/compare/compare_stored.h"
#include "baselines/compare/earlier_times.h"
#include "baselines/compare/judged_times.h"
#include "baselines/compare/paired_record.h"
#include "baselines/compare/roof_shift.h"
#include "baselines/statistics/judge.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::compare {
namespace {

// [1] Share of a GPU's change in time that must also be a change in SM cycles.
constexpr double kMinInCycles = 0.5;

// [1] Deviation between runs of a GPU's own times: two equal runs of 28 convolutions on an H100
// differed by 0.32 % in the median (queued) and 0.22 % (in graphs), on an H200 of 14 by 0.13 %
// (baselines/studies/gpu-a-a).
constexpr double kUsualDeviceNoise = 0.005;

constexpr KeyRow<Quantity> kQuantities[] = {{Quantity::kTime, "time"},
                                            {Quantity::kBytes, "bytes"},
                                            {Quantity::kFlops, "flops"},
                                            {Quantity::kFraction, "fraction"},
                                            {Quantity::kResidual, "residual"}};

// The times of BASE's or NEW's record of one benchmark.
struct Side {
  std::vector<double> clean;      // [s]
  std::optional<double> seconds;  // [s] median of the clean times, or the mean of the fastest
  // [1] of the binding roof; its upper limit, if that roof is not validated
  std::optional<double> fraction, fraction_at_most;
  std::optional<double> roof_seconds;  // [s]
  bool specified_roof = false;
};

// `fastest_seconds` [s]: mean of the fastest repetitions, if that is judged.
Side SideOf(const record::Record& record, const machine::Machine* machine,
            std::optional<double> fastest_seconds) {
  Side side{.clean = CleanSeconds(record)};
  const auto timing = record::Summarize(record.repetitions);
  std::optional<double> judged = fastest_seconds;
  if (!judged && timing) judged = timing->median;
  side.seconds = judged;
  if (!judged && !side.clean.empty()) side.seconds = Median(side.clean);
  if (machine == nullptr || !judged || record.work.empty()) return side;
  const auto placed = roofline::PlaceTime(record, *judged, *machine);
  if (!placed) return side;
  side.specified_roof = placed->specified;
  if (placed->times_over_roof) {
    side.fraction = 1 / *placed->times_over_roof;
    side.roof_seconds = placed->seconds / *placed->times_over_roof;
  } else if (placed->times_over_roof_at_least) {
    side.fraction_at_most = 1 / *placed->times_over_roof_at_least;
  }
  return side;
}

// Returns the judged time [s] of a side that was measured in several processes.
std::optional<double> FastestSeconds(const std::optional<statistics::ProcessPair>& processes,
                                     statistics::ProcessLogs statistics::ProcessPair::*side) {
  if (!processes) return std::nullopt;
  return std::exp(statistics::FastestLevel((*processes).*side, statistics::kFastestShares.front()));
}

// Returns why no percentages of roofs can be compared: one of the two has none.
std::string WithoutRoof(const Side& base, const Side& contender) {
  const auto& [side, name] = base.roof_seconds
                                 ? std::pair<const Side&, const char*>(contender, "NEW")
                                 : std::pair<const Side&, const char*>(base, "BASE");
  if (!side.fraction_at_most) return fmt::format("no percent of roof in {}", name);
  return fmt::format("the roof in {} is not validated: its percentage is only an upper limit",
                     name);
}

// A record with the times that are judged, and what they say.
struct JudgedSide {
  const record::Record& record;
  const Side& side;
};

std::string StatusText(const record::Record& record) {
  return fmt::format("{}{}{}", record::Key(record.status), record.reason.empty() ? "" : ": ",
                     record.reason);
}

// Sets the verdict of a row without two times (new, gone, failed). Returns false for other rows.
bool DecideByStatus(Comparison& row) {
  if (row.contender == nullptr) {
    row.verdict = statistics::Verdict::kGone;
    row.reason = "only in BASE";
  } else if (row.base == nullptr) {
    row.verdict = statistics::Verdict::kNew;
    row.reason = "only in NEW";
    if (row.contender->status != record::Status::kOk)
      row.reason += ", " + StatusText(*row.contender);
  } else if (row.contender->status == record::Status::kUnsupported &&
             row.base->status == record::Status::kUnsupported) {
    row.verdict = statistics::Verdict::kUnsupported;
    row.reason = row.contender->reason + " (in both runs)";
  } else if (row.contender->status != record::Status::kOk) {
    row.verdict = statistics::Verdict::kFailed;
    row.newly_failed = row.base->status == record::Status::kOk;
    row.reason = StatusText(*row.contender) + (row.newly_failed ? "" : " (in BASE too)");
  } else if (row.base->status != record::Status::kOk) {
    row.verdict = statistics::Verdict::kNew;
    row.reason = "in BASE it is " + StatusText(*row.base);
  } else {
    return false;
  }
  return true;
}

bool IsAggregate(const record::Record& record) {
  return record.repetitions.size() == 1 && record.repetitions[0].aggregate != nullptr;
}

std::string TooFew(const Comparison& row, const Side& base, const Side& contender) {
  for (const auto& [record, side] : {std::pair(row.base, "BASE"), std::pair(row.contender, "NEW")})
    if (IsAggregate(*record) && !statistics::SummaryOf(record->repetitions))
      return fmt::format(
          "{} has only the {} of the repetitions: expected their deviation (stddev or cv) and "
          "number (at least 3), or the repetitions",
          side, record->repetitions[0].aggregate->statistic);
  return fmt::format(
      "clean repetitions: {} of {} in BASE, {} of {} in NEW; at least {}, and half of all, are "
      "needed in each",
      base.clean.size(), row.base->repetitions.size(), contender.clean.size(),
      row.contender->repetitions.size(), statistics::kMinClean);
}

bool CountsJudged(const std::set<Quantity>& on, const std::vector<Comparison>& rows) {
  const auto known = [&](const auto& get, bool flops = false) {
    return std::ranges::any_of(rows, [&](const Comparison& row) {
      if (row.base == nullptr || row.contender == nullptr) return false;
      return std::ranges::any_of(AllProvenances(), [&](Provenance from) {
        if (flops && from == Provenance::kModelled && !row.flops_alike) return false;
        const auto a = row.base->work.find(from), b = row.contender->work.find(from);
        return a != row.base->work.end() && b != row.contender->work.end() &&
               !get(a->second).empty() && !get(b->second).empty();
      });
    });
  };
  return (on.count(Quantity::kBytes) > 0 && known([](const Work& work) { return work.bytes; })) ||
         (on.count(Quantity::kFlops) > 0 &&
          known([](const Work& work) { return work.flops; }, true));
}

int ExitCode(const std::set<Quantity>& on, const CompareResult& result) {
  const bool time = on.count(Quantity::kTime) > 0;
  const auto has = [&](statistics::Verdict verdict) { return result.count.count(verdict) > 0; };
  const bool failed =
      std::ranges::any_of(result.rows, [](const auto& row) { return row.newly_failed; });
  if (failed || result.alerts > 0 || (time && has(statistics::Verdict::kSlower))) return 1;
  const bool timed = has(statistics::Verdict::kSame) || has(statistics::Verdict::kFaster) ||
                     has(statistics::Verdict::kSlower);
  if (time && result.common && result.common->is_unexplained) return 3;
  const bool residuals = on.count(Quantity::kResidual) > 0 && !result.residuals.empty();
  return (time && timed) || result.fractions_judged || residuals || CountsJudged(on, result.rows)
             ? 0
             : 3;
}

// The comparison of a pair of run files.
class Comparing {
 public:
  Comparing(const NamedRun& base, const NamedRun& contender, const CompareOptions& options)
      : base_(base),
        contender_(contender),
        options_(options),
        interleaved_(InterleavedComparisonOf(base.file, contender.file)),
        earlier_(options.earlier, base) {}

  // Adds a row per pair, with its shift; the verdicts follow for all rows together.
  void Add(const std::vector<PairedRecord>& pairs) {
    rows_.resize(pairs.size());
    std::vector<std::optional<Measured>> measured(pairs.size());
    ParallelFor(pairs.size(), [&](std::size_t i) {
      std::tie(rows_[i].base, rows_[i].contender) = std::tie(pairs[i].base, pairs[i].contender);
      if (!DecideByStatus(rows_[i])) measured[i] = Measure(rows_[i]);
    });
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (!measured[i]) continue;
      measured[i]->row = i;
      measured_.push_back(*std::move(measured[i]));
    }
  }

  CompareResult Finish(std::vector<statistics::Shift> stored) {
    CompareResult result{.base = base_.where};
    JudgeMain(std::move(stored), result);
    if (options_.on.count(Quantity::kFraction) > 0) AlertOnFraction(result);
    FillResiduals(result);
    for (auto& row : rows_) {
      AlertOnCounts(row);
      row.explained_by_common = result.common && row.judgement && row.judgement->moved_with_run;
    }
    if (options_.rerun != nullptr)
      result.rerun = RetractUnlessRepeated(*options_.rerun, result.min_effect, rows_);
    result.context = ContextChanges(base_.file, contender_.file);
    ExplainByContext(result.context);
    result.rows = std::move(rows_);
    result.interleaved = interleaved_.has_value();
    result.across_machines = options_.across_machines;
    CountVerdicts(options_, result);
    return result;
  }

 private:
  struct Measured {
    std::size_t row = 0;
    statistics::Candidate candidate;
    std::optional<double> roof;       // [1] logarithm of the ratio of roof times, with any ceilings
    std::optional<double> predicted;  // [1] logarithm of the ratio of predicted times
    std::optional<double> cycles;     // [1] logarithm of the ratio of a GPU's SM cycles
    bool device_time = false;         // by a GPU's clock, without the host
  };

  // Gives what other programs' files say of their runs (a debug build, another clock) as the cause
  // of a change that the benchmark's own facts do not explain.
  void ExplainByContext(const std::vector<std::string>& context) {
    if (context.empty() || base_.file.context.contains("dlroof")) return;
    for (auto& row : rows_)
      if (row.changes.empty() && (row.verdict == statistics::Verdict::kSlower ||
                                  row.verdict == statistics::Verdict::kFaster))
        row.changes.push_back(
            {.kind = ChangeKind::kRun,
             .text = fmt::format("differs between the runs: {}", fmt::join(context, "; "))});
  }

  // Sets what the row shows of the judged times. The contender's time is shown uncorrected.
  static void Describe(const Side& base, const Side& contender,
                       const std::optional<JudgedTimes>& chosen, Comparison& row) {
    row.base_seconds = base.seconds;
    row.contender_seconds = contender.seconds;
    row.base_fraction = base.fraction;
    row.contender_fraction = contender.fraction;
    row.base_fraction_at_most = base.fraction_at_most;
    row.contender_fraction_at_most = contender.fraction_at_most;
    row.specified_roof = base.specified_roof || contender.specified_roof;
    if (!chosen) return;
    row.added_seconds = chosen->added_seconds;
    if (!row.added_seconds) row.timed = chosen->timed;
    if (row.added_seconds && row.contender_seconds) *row.contender_seconds -= *row.added_seconds;
  }

  // Chooses which times of a GPU are judged. Sets the row's reason and returns false if the two
  // records have no kind in common.
  static bool Choose(Comparison& row, std::optional<JudgedTimes>& chosen) {
    try {
      if (row.contender->device == "gpu") chosen = ChooseTimes(*row.base, *row.contender);
      return true;
    } catch (const Unsupported& error) {
      row.reason = error.what();
      return false;
    }
  }

  static void SetDeviceAndPrediction(const record::Record& base, const record::Record& contender,
                                     Measured& measured) {
    if (contender.device == "gpu") measured.cycles = CyclesLogRatio(base, contender);
    measured.device_time = IsDeviceTime(base) && IsDeviceTime(contender);
    if (base.prediction && contender.prediction)
      measured.predicted = std::log(contender.prediction->seconds / base.prediction->seconds);
  }

  // Returns the row's ratios, or sets its reason and returns nothing if it cannot be judged.
  std::optional<Measured> Measure(Comparison& row) const {
    const auto *base_machine = record::MachineFor(base_.file, *row.base),
               *contender_machine = record::MachineFor(contender_.file, *row.contender);
    std::optional<JudgedTimes> chosen;
    if (!Choose(row, chosen)) return std::nullopt;
    const record::Record& base_record = chosen ? chosen->base : *row.base;
    const record::Record& contender_record = chosen ? chosen->contender : *row.contender;
    auto processes = interleaved_ || options_.across_machines
                         ? std::nullopt
                         : statistics::PairByProcess(base_record, contender_record);
    using Pair = statistics::ProcessPair;
    Side base = SideOf(base_record, base_machine, FastestSeconds(processes, &Pair::base));
    const Side contender =
        SideOf(contender_record, contender_machine, FastestSeconds(processes, &Pair::contender));
    row.flops_alike =
        CountFlopsAlike(base_.file.context, contender_.file.context, row.contender->op);
    if (!row.flops_alike) base.fraction = base.fraction_at_most = base.roof_seconds = std::nullopt;
    Describe(base, contender, chosen, row);
    row.changes =
        FindChanges(*row.base, base_machine, *row.contender, contender_machine, row.flops_alike);
    std::optional<double> p_value;
    const auto shift = ShiftOf(row, {base_record, base}, {contender_record, contender}, p_value);
    if (!shift) return std::nullopt;
    if (!options_.across_machines) row.cliffs_delta = shift->cliffs_delta;
    const bool roofs = base.roof_seconds && contender.roof_seconds;
    if (options_.across_machines && !roofs) {
      row.reason = WithoutRoof(base, contender);
      return std::nullopt;
    }
    Measured measured{.candidate = {*shift, std::nullopt, p_value}};
    if (!interleaved_ && !options_.across_machines) {
      measured.candidate.base_logs = CleanLogs(base_record);
      measured.candidate.contender_logs = CleanLogs(contender_record);
      if (processes) measured.candidate.processes = *std::move(processes);
      if (!chosen || chosen->timed == base_record.timed)
        measured.candidate.earlier = earlier_.TimesOf(*row.base);
    }
    SetDeviceAndPrediction(base_record, contender_record, measured);
    if (roofs) measured.roof = std::log(*contender.roof_seconds / *base.roof_seconds);
    // Only ceilings that each run measured anew show whether the machine changed.
    if (roofs && base_machine->measured_at != contender_machine->measured_at)
      measured.candidate.roof_log_ratio = measured.roof;
    return measured;
  }

  static void SetTimes(const statistics::ProcessPair& pair, double share, Comparison& row) {
    row.fastest_share = share;
    row.base_seconds = std::exp(statistics::FastestLevel(pair.base, share));
    row.contender_seconds = std::exp(statistics::FastestLevel(pair.contender, share));
  }

  // Chooses the share of the repetitions by which benchmarks of several processes are judged.
  double JudgeByFastest() {
    std::vector<const statistics::ProcessPair*> pairs;
    for (const auto& measured : measured_)
      if (!measured.candidate.processes.base.empty())
        pairs.push_back(&measured.candidate.processes);
    const double share = statistics::ChooseShare(pairs);
    ParallelFor(measured_.size(), [&](std::size_t i) {
      auto& candidate = measured_[i].candidate;
      if (candidate.processes.base.empty()) return;
      candidate.shift = statistics::ShiftOfProcesses(candidate.processes, share);
      SetTimes(candidate.processes, share, rows_[measured_[i].row]);
    });
    return share;
  }

  // Returns the shift of the times, or sets the row's reason and returns nothing for too few times.
  std::optional<statistics::Shift> ShiftOf(Comparison& row, const JudgedSide& base,
                                           const JudgedSide& contender,
                                           std::optional<double>& p_value) const {
    if (!interleaved_) {
      if (!statistics::PairByProcess(base.record, contender.record) &&
          (!HasEnoughClean(base.record) || !HasEnoughClean(contender.record))) {
        row.reason = TooFew(row, base.side, contender.side);
        return std::nullopt;
      }
      auto shift = ShiftOfTimes(base.record, contender.record);
      if (!shift) row.reason = "a time of 0 has no ratio";
      return shift;
    }
    const auto blocks = statistics::MeasureBlocks(base.record, contender.record);
    if (blocks.paired) {
      if (blocks.fastest_share)
        SetTimes(*statistics::PairByProcess(base.record, contender.record), *blocks.fastest_share,
                 row);
      p_value = blocks.paired->p_value;
      return blocks.paired->shift;
    }
    row.reason = fmt::format("clean blocks: {}; at least {} are needed", blocks.clean_blocks,
                             statistics::kMinBlocks);
    return std::nullopt;
  }

  // Returns a candidate for the ratio of times divided by the ratio exp(`other`).
  static statistics::Candidate Against(double other, const Measured& measured) {
    statistics::Candidate candidate{measured.candidate.shift, std::nullopt, std::nullopt};
    candidate.shift.log_ratio -= other;
    candidate.shift.ci95.first -= other;
    candidate.shift.ci95.second -= other;
    return candidate;
  }

  // Returns verdicts on the times divided by the quantity `other`, by row, where it is known.
  std::map<std::size_t, statistics::Verdict> JudgeAgainst(
      std::optional<double> Measured::*other) const {
    std::vector<statistics::Candidate> candidates;
    std::vector<std::size_t> rows;
    for (const auto& measured : measured_) {
      if (!(measured.*other)) continue;
      candidates.push_back(Against(*(measured.*other), measured));
      rows.push_back(measured.row);
    }
    std::map<std::size_t, statistics::Verdict> verdicts;
    if (rows.empty()) return verdicts;
    const auto judged =
        statistics::Judge(candidates, {options_.min_effect, options_.run_noise, {}, false});
    for (std::size_t i = 0; i < rows.size(); ++i) verdicts[rows[i]] = judged.each[i].verdict;
    return verdicts;
  }

  statistics::JudgeSettings Settings(std::vector<statistics::Shift> stored) const {
    statistics::JudgeSettings settings{
        .min_effect = options_.min_effect,
        .run_noise = options_.run_noise,
        .stored = std::move(stored),
        .look_for_common_shift = !options_.across_machines && !interleaved_};
    if (std::ranges::all_of(measured_, &Measured::device_time))
      settings.usual_noise = kUsualDeviceNoise;
    if (!interleaved_) return settings;
    // Each block has new processes, so the shift's error already includes noise between processes.
    if (!settings.run_noise) {
      settings.run_noise = 0;
      settings.run_noise_from = "measured interleaved, with new processes for each block";
    }
    if (!settings.min_effect) settings.min_effect = interleaved_->min_effect;
    return settings;
  }

  // Sets which benchmarks share a factor, and what the ceilings say of it.
  void AddGroups(std::vector<statistics::Candidate>& candidates,
                 statistics::JudgeSettings& settings) const {
    std::map<std::string, int> devices;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const record::Record& record = *rows_[measured_[i].row].contender;
      const auto [found, added] =
          devices.try_emplace(record.device, static_cast<int>(devices.size()));
      candidates[i].device = found->second;
      if (!added) continue;
      const auto* base = record::MachineFor(base_.file, *rows_[measured_[i].row].base);
      const auto* contender = record::MachineFor(contender_.file, record);
      if (base == nullptr || contender == nullptr) continue;
      if (const auto roofs = RoofShiftOf(*base, *contender))
        settings.roofs.emplace(found->second, *roofs);
    }
  }

  void JudgeMain(std::vector<statistics::Shift> stored, CompareResult& result) {
    const bool across = options_.across_machines;
    const double share = JudgeByFastest();
    std::vector<statistics::Candidate> candidates;
    candidates.reserve(measured_.size());
    for (const auto& measured : measured_)
      candidates.push_back(across ? Against(*measured.roof, measured) : measured.candidate);
    auto settings = Settings(std::move(stored));
    settings.fastest_share = share;
    if (!across && !interleaved_) AddGroups(candidates, settings);
    statistics::Judged judged = statistics::Judge(candidates, settings);
    for (std::size_t i = 0; i < measured_.size(); ++i) {
      Comparison& row = rows_[measured_[i].row];
      row.verdict = judged.each[i].verdict;
      row.reason = judged.each[i].reason;
      if (row.verdict == statistics::Verdict::kAmbiguous &&
          IsSameMeasurement(*row.base, *row.contender)) {
        row.verdict = statistics::Verdict::kSame;
        row.reason = "both files have the same repetitions: they are one measurement";
      }
      row.judgement = std::move(judged.each[i]);
      RetractUnlessInCycles(measured_[i], row);
    }
    result.min_effect = judged.min_effect;
    result.min_effect_from = std::move(judged.min_effect_from);
    result.noise = std::move(judged.noise);
    result.removed = judged.removed;
    result.earlier_runs = earlier_.runs();
    if (judged.common && (judged.common->is_unexplained ||
                          std::abs(judged.common->log_ratio) >= std::log1p(judged.min_effect) / 2))
      result.common = judged.common;
  }

  // A GPU's time that changed only with the clock of its SMs says nothing about the code: a verdict
  // must hold in cycles, too (as nvbench's robust comparison asks).
  static void RetractUnlessInCycles(const Measured& measured, Comparison& row) {
    if (!measured.cycles) return;
    if (row.verdict != statistics::Verdict::kSlower && row.verdict != statistics::Verdict::kFaster)
      return;
    const double time = measured.candidate.shift.log_ratio;
    if (*measured.cycles / time > kMinInCycles) return;
    row.reason = fmt::format(
        "{:+.1f} % in time but {:+.1f} % in SM cycles: the GPU's clock changed, so this run cannot "
        "say whether the code did",
        100 * std::expm1(time), 100 * std::expm1(*measured.cycles));
    row.verdict = statistics::Verdict::kAmbiguous;
  }

  void AlertOnFraction(CompareResult& result) {
    const auto verdicts = JudgeAgainst(&Measured::roof);
    result.fractions_judged = !verdicts.empty();
    for (const auto& [index, verdict] : verdicts) {
      Comparison& row = rows_[index];
      if (verdict == statistics::Verdict::kSlower)
        row.alerts.push_back(
            {Quantity::kFraction,
             fmt::format("percent of {}roof fell from {:.1f} to {:.1f}",
                         row.specified_roof ? "specified " : "", 100 * *row.base_fraction,
                         100 * *row.contender_fraction)});
    }
  }

  void FillResiduals(CompareResult& result) {
    const auto times = JudgeAgainst(&Measured::predicted);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Comparison& row = rows_[i];
      if (row.base == nullptr || row.contender == nullptr) continue;
      std::optional<statistics::Verdict> time;
      if (const auto judged = times.find(i); judged != times.end()) time = judged->second;
      row.residuals = CompareResiduals(*row.base, *row.contender, time);
      AddTo(result.residuals, row.residuals);
      if (options_.on.count(Quantity::kResidual) == 0) continue;
      for (const auto& residual : row.residuals)
        if (residual.worse) row.alerts.push_back({Quantity::kResidual, residual.Text()});
    }
  }

  void AlertOnCounts(Comparison& row) const {
    for (const auto& change : row.changes) {
      const bool counts = change.kind == ChangeKind::kBytes || change.kind == ChangeKind::kFlops;
      const auto on = change.kind == ChangeKind::kBytes ? Quantity::kBytes : Quantity::kFlops;
      // A change without a ratio is an increase from 0.
      if (counts && options_.on.count(on) > 0 && change.ratio.value_or(2) > 1)
        row.alerts.push_back({on, change.text});
    }
  }

  const NamedRun& base_;
  const NamedRun& contender_;
  const CompareOptions& options_;
  const std::optional<InterleavedComparison> interleaved_;
  const EarlierRuns earlier_;
  std::vector<Comparison> rows_;
  std::vector<Measured> measured_;
};

}  // namespace

std::string_view Key(Quantity quantity) { return KeyIn(kQuantities, quantity); }
std::optional<Quantity> QuantityFromKey(std::string_view key) { return ValueIn(kQuantities, key); }

std::string Comparison::Cause() const {
  const bool moved =
      verdict == statistics::Verdict::kSlower || verdict == statistics::Verdict::kFaster;
  return moved || !changes.empty() ? CausesText(changes) : "";
}

void CountVerdicts(const CompareOptions& options, CompareResult& result) {
  result.count.clear();
  result.alerts = 0;
  for (const auto& row : result.rows) {
    ++result.count[row.verdict];
    result.alerts += static_cast<int>(row.alerts.size());
  }
  result.exit_code = ExitCode(options.on, result);
}

CompareResult Compare(const NamedRun& base, const NamedRun& contender,
                      const CompareOptions& options) {
  if (options.rerun != nullptr) CheckRerun(contender, *options.rerun);
  return ComparePairs(base, contender, PairRecords(base, contender, options.names), options, {});
}

CompareResult ComparePairs(const NamedRun& base, const NamedRun& contender,
                           const std::vector<PairedRecord>& pairs, const CompareOptions& options,
                           std::vector<statistics::Shift> stored) {
  CheckComparable(base, contender, pairs, options.across_machines);
  Comparing comparing(base, contender, options);
  comparing.Add(pairs);
  return comparing.Finish(std::move(stored));
}

bool IsSameMeasurement(const record::Record& base_record, const record::Record& contender_record) {
  const auto noisy = [](const record::Repetition& repetition) { return repetition.noisy; };
  auto base = base_record.repetitions.begin(), contender = contender_record.repetitions.begin();
  const auto base_end = base_record.repetitions.end(),
             contender_end = contender_record.repetitions.end();
  for (;; ++base, ++contender) {
    base = std::find_if_not(base, base_end, noisy);
    contender = std::find_if_not(contender, contender_end, noisy);
    if (base == base_end || contender == contender_end)
      return base == base_end && contender == contender_end;
    if (base->seconds != contender->seconds) return false;
  }
}

std::vector<double> CleanSeconds(const record::Record& record) {
  std::vector<double> seconds;
  seconds.reserve(record.repetitions.size());
  for (const auto& repetition : record.repetitions)
    if (!repetition.noisy) seconds.push_back(repetition.seconds);
  return seconds;
}

std::optional<statistics::Shift> ShiftOfTimes(const record::Record& base,
                                              const record::Record& contender) {
  if (const auto pair = statistics::PairByProcess(base, contender))
    return statistics::ShiftOfProcesses(*pair, statistics::kFastestShares.front());
  if (!IsAggregate(base) && !IsAggregate(contender))
    return statistics::MeasureShift(CleanSeconds(base), CleanSeconds(contender));
  const auto one = statistics::SummaryOf(base.repetitions),
             other = statistics::SummaryOf(contender.repetitions);
  if (!one || !other) return std::nullopt;
  return statistics::ShiftOfSummaries(*one, *other);
}

bool HasEnoughClean(const record::Record& record) {
  if (IsAggregate(record)) return statistics::SummaryOf(record.repetitions).has_value();
  const auto clean = CleanSeconds(record).size();
  return clean >= statistics::kMinClean && 2 * clean >= record.repetitions.size();
}

}  // namespace dlroof::compare
