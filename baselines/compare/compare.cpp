#include "baselines/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "baselines/compare/compare_stored.h"
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

constexpr KeyRow<Quantity> kQuantities[] = {{Quantity::kTime, "time"},
                                            {Quantity::kBytes, "bytes"},
                                            {Quantity::kFlops, "flops"},
                                            {Quantity::kFraction, "fraction"},
                                            {Quantity::kResidual, "residual"}};

// The times of BASE's or NEW's record of one benchmark.
struct Side {
  std::optional<double> seconds;  // [s] median of the clean times, or the mean of the fastest
  // [1] of the binding roof; its upper limit, if that roof is not validated
  std::optional<double> fraction, fraction_at_most;
  std::optional<double> roof_seconds;  // [s]
  bool specified_roof = false;
};

// `fastest_seconds` [s]: mean of the fastest repetitions, if that is judged.
Side SideOf(const record::Record& record, const machine::Machine* machine,
            std::optional<double> fastest_seconds) {
  Side side{.seconds = fastest_seconds};
  if (const auto timing = record::Summarize(record.repetitions); timing && !side.seconds)
    side.seconds = timing->median;
  if (machine == nullptr || !side.seconds || record.work.empty()) return side;
  const auto placed = roofline::PlaceTime(record, *side.seconds, *machine);
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

// Returns why no percentages of roofs can be compared: one of the two has none.
std::string WithoutRoof(const Side& base, const Side& contender) {
  const auto& [side, name] = base.roof_seconds
                                 ? std::pair<const Side&, const char*>(contender, "NEW")
                                 : std::pair<const Side&, const char*>(base, "BASE");
  if (!side.fraction_at_most) return fmt::format("no percent of roof in {}", name);
  return fmt::format("the roof in {} is not validated: its percentage is only an upper limit",
                     name);
}

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

std::string TooFew(const Comparison& row) {
  std::string counts;
  for (const auto& [record, side] :
       {std::pair(row.base, "BASE"), std::pair(row.contender, "NEW")}) {
    const auto& repetitions = record->repetitions;
    if (repetitions.size() == 1 && repetitions[0].aggregate != nullptr) {
      if (statistics::LevelOfClean(*record)) continue;
      return fmt::format(
          "{} has only the {} of the repetitions: expected their deviation (stddev or cv) and "
          "number (at least 3), or the repetitions",
          side, repetitions[0].aggregate->statistic);
    }
    const auto clean = [](const auto& repetition) { return !repetition.noisy; };
    if (std::ranges::any_of(repetitions,
                            [&](const auto& one) { return clean(one) && !(one.seconds > 0); }))
      return "a time of 0 has no ratio";
    counts += fmt::format("{}{} of {} in {}", counts.empty() ? "" : ", ",
                          std::ranges::count_if(repetitions, clean), repetitions.size(), side);
  }
  return fmt::format("clean repetitions: {}; at least {}, and half of all, are needed in each",
                     counts, statistics::kMinClean);
}

// [1] P(new > base) - P(new < base) over all repetitions that were judged, in [-1, 1].
double CliffsDelta(const record::Record& base, const record::Record& contender, bool noisy_too) {
  const auto sorted = [&](const record::Record& record) {
    std::vector<double> seconds;
    for (const auto& repetition : record.repetitions)
      if (noisy_too || !repetition.noisy) seconds.push_back(repetition.seconds);
    std::ranges::sort(seconds);
    return seconds;
  };
  const auto before = sorted(base), after = sorted(contender);
  double more = 0;
  for (const double seconds : after) {
    const auto equal = std::ranges::equal_range(before, seconds);
    more += static_cast<double>(equal.begin() - before.begin()) -
            static_cast<double>(before.end() - equal.end());
  }
  return more / static_cast<double>(before.size() * after.size());
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

// Finds the records of earlier runs by name.
class EarlierRuns {
 public:
  // Skips runs of other machines or settings than those of `base`.
  EarlierRuns(const std::vector<const NamedRun*>& runs, const NamedRun& base) {
    for (const auto* run : runs) {
      try {
        CheckComparable(*run, base, PairRecords(*run, base, {}), false);
      } catch (const BadInput&) {
        continue;  // another machine, other settings, or no benchmark in common
      }
      auto& records = by_name_.emplace_back();
      for (const auto& record : run->file.records) records.emplace(record.name, &record);
    }
  }

  // Returns the levels of a benchmark, of the same kind as the judged ones, but for copies of BASE.
  std::vector<statistics::EarlierLevel> LevelsOf(const record::Record& base,
                                                 std::optional<double> share) const {
    std::vector<statistics::EarlierLevel> levels;
    for (std::size_t run = 0; run < by_name_.size(); ++run) {
      const auto found = by_name_[run].find(base.name);
      if (found == by_name_[run].end()) continue;
      const record::Record& record = *found->second;
      if (record.status != record::Status::kOk || IsSameMeasurement(record, base)) continue;
      try {
        const auto chosen = base.device == "gpu" ? ChooseTimes(base, record) : std::nullopt;
        const auto pair =
            compare::LevelsOf(chosen ? chosen->base : base, chosen ? chosen->contender : record,
                              share.value_or(statistics::kFastestShares.front()));
        if (pair && pair->fastest_share == share)
          levels.push_back({static_cast<int>(run), pair->contender});
      } catch (const Unsupported&) {
        continue;  // no time of the same kind
      }
    }
    return levels;
  }

  int runs() const { return static_cast<int>(by_name_.size()); }

 private:
  std::vector<std::unordered_map<std::string_view, const record::Record*>> by_name_;
};

// The comparison of a pair of run files.
class PairOfRuns {
 public:
  PairOfRuns(const NamedRun& base, const NamedRun& contender, const CompareOptions& options)
      : base_(base),
        contender_(contender),
        options_(options),
        interleaved_(InterleavedComparisonOf(base.file, contender.file)),
        earlier_(options.earlier, base) {}

  // Adds a row per pair, with its levels; the verdicts follow for all rows together.
  void Add(const std::vector<PairedRecord>& pairs) {
    rows_.resize(pairs.size());
    if (!interleaved_) {
      std::vector<statistics::ProcessPair> processes;
      for (const auto& [base, contender] : pairs)
        if (base != nullptr && contender != nullptr)
          if (auto pair = statistics::PairByProcess(*base, *contender))
            processes.push_back(*std::move(pair));
      share_ = statistics::ChooseShare(processes);
    }
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

  CompareResult Finish() {
    CompareResult result{.base = base_.where};
    JudgeMain(result);
    if (options_.on.count(Quantity::kFraction) > 0) AlertOnFraction(result);
    FillResiduals(result);
    for (auto& row : rows_) AlertOnCounts(row);
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

  // Returns the row's levels and ratios, or sets its reason and returns nothing if it cannot be
  // judged.
  std::optional<Measured> Measure(Comparison& row) const {
    std::optional<JudgedTimes> chosen;
    if (!Choose(row, chosen)) return std::nullopt;
    const record::Record& base_record = chosen ? chosen->base : *row.base;
    const record::Record& contender_record = chosen ? chosen->contender : *row.contender;
    Measured measured;
    const auto levels = interleaved_ ? LevelsOfBlocks(base_record, contender_record, measured, row)
                                     : LevelsOf(base_record, contender_record, share_);
    if (levels) {
      row.fastest_share = levels->fastest_share;
      measured.candidate.base = levels->base;
      measured.candidate.contender = levels->contender;
    }
    const auto *base_machine = record::MachineFor(base_.file, *row.base),
               *contender_machine = record::MachineFor(contender_.file, *row.contender);
    const auto fastest = [&](const statistics::Level LevelPair::*side) {
      return row.fastest_share ? std::optional(((*levels).*side).seconds()) : std::nullopt;
    };
    Side base = SideOf(base_record, base_machine, fastest(&LevelPair::base));
    const Side contender =
        SideOf(contender_record, contender_machine, fastest(&LevelPair::contender));
    row.flops_alike =
        CountFlopsAlike(base_.file.context, contender_.file.context, row.contender->op);
    if (!row.flops_alike) base.fraction = base.fraction_at_most = base.roof_seconds = std::nullopt;
    Describe(base, contender, chosen, row);
    row.changes =
        FindChanges(*row.base, base_machine, *row.contender, contender_machine, row.flops_alike);
    if (!levels) {
      if (row.reason.empty()) row.reason = TooFew(row);
      return std::nullopt;
    }
    const bool roofs = base.roof_seconds && contender.roof_seconds;
    if (options_.across_machines && !roofs) {
      row.reason = WithoutRoof(base, contender);
      return std::nullopt;
    }
    if (!options_.across_machines)
      row.cliffs_delta = CliffsDelta(base_record, contender_record, row.fastest_share.has_value());
    if (!interleaved_ && !options_.across_machines &&
        (!chosen || chosen->timed == base_record.timed))
      measured.candidate.earlier = earlier_.LevelsOf(*row.base, row.fastest_share);
    if (row.fastest_share) measured.candidate.floor = statistics::kFloorOfProcesses;
    if (IsDeviceTime(base_record) && IsDeviceTime(contender_record))
      measured.candidate.floor = statistics::kFloorOfDevice;
    if (row.contender->device == "gpu")
      measured.cycles = CyclesLogRatio(base_record, contender_record);
    if (base_record.prediction && contender_record.prediction)
      measured.predicted =
          std::log(contender_record.prediction->seconds / base_record.prediction->seconds);
    if (roofs) measured.roof = std::log(*contender.roof_seconds / *base.roof_seconds);
    return measured;
  }

  // Returns the levels of an interleaved comparison, whose difference is the shift of its blocks;
  // sets the row's reason and returns nothing if they are too few.
  static std::optional<LevelPair> LevelsOfBlocks(const record::Record& base,
                                                 const record::Record& contender,
                                                 Measured& measured, Comparison& row) {
    auto blocks = statistics::MeasureBlocks(base, contender);
    if (!blocks.paired) {
      row.reason = fmt::format("clean blocks: {}; at least {} are needed", blocks.clean_blocks,
                               statistics::kMinBlocks);
      return std::nullopt;
    }
    measured.candidate.interleaved = blocks.paired;
    if (blocks.base) return LevelPair{*blocks.base, *blocks.contender, blocks.share};
    constexpr double kExact = 1e9;  // all of the error is in NEW's level
    const auto& shift = blocks.paired->shift;
    return LevelPair{.base = {.count = kExact},
                     .contender = {shift.log_ratio, 1, shift.standard_error * shift.standard_error,
                                   static_cast<double>(blocks.clean_blocks) - 1}};
  }

  // Returns the candidate for the ratio of times divided by the ratio exp(`other`).
  static statistics::Candidate Against(double other, const Measured& measured) {
    auto candidate = measured.candidate;
    candidate.contender.log_seconds -= other;
    candidate.earlier.clear();
    candidate.interleaved.reset();
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
    auto settings = Settings();
    settings.look_for_common_shift = false;
    const auto judged = statistics::Judge(candidates, settings);
    std::map<std::size_t, statistics::Verdict> verdicts;
    for (std::size_t i = 0; i < rows.size(); ++i) verdicts[rows[i]] = judged.each[i].verdict;
    return verdicts;
  }

  statistics::JudgeSettings Settings() const {
    statistics::JudgeSettings settings{
        .min_effect = options_.min_effect,
        .run_noise = options_.run_noise,
        .look_for_common_shift = !options_.across_machines && !interleaved_,
        .window = options_.window};
    if (!interleaved_) return settings;
    // Each block has new processes, so the shift's error already includes noise between processes.
    if (!settings.run_noise) settings.run_noise = 0;
    if (!settings.min_effect) settings.min_effect = interleaved_->min_effect;
    return settings;
  }

  // Sets which benchmarks share a shift, and what the ceilings say of it.
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

  void JudgeMain(CompareResult& result) {
    std::vector<statistics::Candidate> candidates;
    candidates.reserve(measured_.size());
    for (const auto& measured : measured_)
      candidates.push_back(options_.across_machines ? Against(*measured.roof, measured)
                                                    : measured.candidate);
    auto settings = Settings();
    if (settings.look_for_common_shift) AddGroups(candidates, settings);
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
    result.run_noise = judged.run_noise;
    result.run_noise_from = interleaved_ && !options_.run_noise
                                ? "measured interleaved, with new processes for each block"
                                : std::move(judged.run_noise_from);
    result.common = std::move(judged.common);
    result.earlier_runs = earlier_.runs();
  }

  // A GPU's time that changed only with the clock of its SMs says nothing about the code: a verdict
  // must hold in cycles, too (as nvbench's robust comparison asks).
  static void RetractUnlessInCycles(const Measured& measured, Comparison& row) {
    if (!measured.cycles || !statistics::IsChange(row.verdict)) return;
    const auto& [base, contender, earlier, floor, device, interleaved] = measured.candidate;
    const double time = contender.log_seconds - base.log_seconds;
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
  double share_ = statistics::kFastestShares.front();
  std::vector<Comparison> rows_;
  std::vector<Measured> measured_;
};

}  // namespace

std::string_view Key(Quantity quantity) { return KeyIn(kQuantities, quantity); }
std::optional<Quantity> QuantityFromKey(std::string_view key) { return ValueIn(kQuantities, key); }

std::string Comparison::Cause() const {
  return statistics::IsChange(verdict) || !changes.empty() ? CausesText(changes) : "";
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
  return ComparePairs(base, contender, PairRecords(base, contender, options.names), options);
}

CompareResult ComparePairs(const NamedRun& base, const NamedRun& contender,
                           const std::vector<PairedRecord>& pairs, const CompareOptions& options) {
  CheckComparable(base, contender, pairs, options.across_machines);
  PairOfRuns runs(base, contender, options);
  runs.Add(pairs);
  return runs.Finish();
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

std::optional<LevelPair> LevelsOf(const record::Record& base, const record::Record& contender,
                                  double share) {
  if (const auto pair = statistics::PairByProcess(base, contender))
    return LevelPair{statistics::LevelOfProcesses(pair->base, share),
                     statistics::LevelOfProcesses(pair->contender, share), share};
  const auto old = statistics::LevelOfClean(base), now = statistics::LevelOfClean(contender);
  if (!old || !now) return std::nullopt;
  return LevelPair{*old, *now, {}};
}

}  // namespace dlroof::compare
