#include "baselines/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "reporters/record/run_context.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::compare {
namespace {

using statistics::Verdict;

// Shows the judged `level`. If it is null (there is none, or blocks' ratios were judged), shows the
// record's time or, if `only_clean`, no estimate.
Side SideOf(const record::Record& record, const machine::Machine* machine,
            const statistics::Level* level, bool only_clean) {
  Side side;
  const auto timing =
      only_clean ? record::Summarize(record.repetitions) : record::TimeOf(record.repetitions);
  if (level != nullptr)
    side.seconds = level->seconds();
  else if (timing)
    side.seconds = timing->median;
  if (machine == nullptr || !side.seconds || record.work.empty()) return side;
  const auto placed = roofline::PlaceTime(record, *side.seconds, *machine);
  if (!placed) return side;
  side.specified_roof = placed->specified;
  (placed->at_least ? side.fraction_at_most : side.fraction) = 1 / placed->times_over_roof;
  if (!placed->at_least) side.roof_seconds = placed->seconds / placed->times_over_roof;
  return side;
}

// Returns a copy whose times are CPU times of the main thread; 0 where it is unknown.
record::Record InCpuTime(record::Record record) {
  for (auto& repetition : record.repetitions)
    repetition.seconds = repetition.main_cpu_seconds.value_or(0);
  return record;
}

std::string StatusText(const record::Record& record) {
  return fmt::format("{}{}{}", record::Key(record.status), record.reason.empty() ? "" : ": ",
                     record.reason);
}

// Returns true and sets the verdict (gone, new, failed...) if a record is absent or not ok.
bool DecideByStatus(Comparison& row) {
  using record::Status;
  const auto decide = [&](Verdict verdict, std::string reason) {
    row.verdict = verdict;
    row.reason = std::move(reason);
    return true;
  };
  const auto seconds_of = [](const record::Record& record) -> std::optional<double> {
    const auto timing = record::TimeOf(record.repetitions);
    return timing ? std::optional(timing->median) : std::nullopt;
  };
  if (row.contender == nullptr) {
    row.before.seconds = seconds_of(*row.base);
    return decide(Verdict::kGone, "only in BASE");
  }
  if (row.base == nullptr) row.after.seconds = seconds_of(*row.contender);
  const Status after = row.contender->status;
  if (row.base == nullptr)
    return decide(Verdict::kNew, after == Status::kOk
                                     ? "only in NEW"
                                     : "only in NEW, " + StatusText(*row.contender));
  const Status before = row.base->status;
  if (before == Status::kUnsupported && after == Status::kUnsupported)
    return decide(Verdict::kUnsupported, row.contender->reason + " (in both runs)");
  row.newly_failed = before == Status::kOk && after != Status::kOk;
  if (after != Status::kOk)
    return decide(Verdict::kFailed,
                  StatusText(*row.contender) + (row.newly_failed ? "" : " (in BASE too)"));
  if (before != Status::kOk) return decide(Verdict::kNew, "in BASE it is " + StatusText(*row.base));
  return false;
}

std::string TooFew(const Comparison& row) {
  std::string counts;
  for (const auto& [record, side] : {std::pair(row.base, "BASE"), {row.contender, "NEW"}}) {
    const auto& repetitions = record->repetitions;
    if (repetitions.size() == 1 && repetitions[0].aggregate) {
      if (statistics::LevelOfClean(*record)) continue;
      return fmt::format(
          "{} has only the {} of the repetitions: expected their deviation (stddev or cv) and "
          "number (at least 3), or the repetitions",
          side, repetitions[0].aggregate->statistic);
    }
    const auto clean = [](const auto& repetition) { return !repetition.noisy; };
    if (std::ranges::any_of(repetitions, [&](const auto& repetition) {
          return clean(repetition) && !(repetition.seconds > 0);
        }))
      return "a time of 0 has no ratio";
    counts += fmt::format("{}{} of {} in {}", counts.empty() ? "" : ", ",
                          std::ranges::count_if(repetitions, clean), repetitions.size(), side);
  }
  return fmt::format("clean repetitions: {}; at least {}, and half of all, are needed in each",
                     counts, statistics::kMinClean);
}

// Returns how much slower the machine was in NEW: the median shift over the ceilings that both runs
// measured, with its standard error. Returns nullopt if there is no such ceiling.
std::optional<statistics::JointShift> RoofShiftOf(const machine::Machine& base,
                                                  const machine::Machine& contender) {
  constexpr double kAssumedDeviation = 0.02;  // [1] of a ceiling's log rate, if there are few
  constexpr std::size_t kMinForScatter = 4;
  const auto ratios = machine::LogRateRatios(base, contender);
  if (ratios.empty()) return std::nullopt;
  const auto count = static_cast<double>(ratios.size());
  const double centre = Median(ratios);
  const double deviation = ratios.size() < kMinForScatter
                               ? kAssumedDeviation * std::sqrt(2)
                               : statistics::RobustDeviation(ratios, centre);
  return statistics::JointShift{centre, statistics::kMedianError * deviation / std::sqrt(count),
                                static_cast<int>(count)};
}

class Comparer {
 public:
  Comparer(const std::vector<PairedRecord>& pairs, std::span<const NamedRun> earlier, bool window,
           const NamedRun& contender, const CompareOptions& options)
      : pairs_(pairs), window_(window), contender_(contender), options_(options) {
    for (std::size_t run = 0; run < earlier.size(); ++run)
      for (const auto& record : earlier[run].file.records)
        earlier_[record.name].emplace_back(run, &record);
  }

  CompareResult Run() {
    rows_.resize(pairs_.size());
    std::vector<record::Rare<statistics::Candidate>> measured(pairs_.size());
    ParallelFor(pairs_.size(), [&](std::size_t i) {
      rows_[i].base = pairs_[i].base;
      rows_[i].contender = pairs_[i].contender;
      if (window_ && rows_[i].base != nullptr) rows_[i].stored = pairs_[i].run;
      if (!DecideByStatus(rows_[i])) measured[i] = Measure(pairs_[i], rows_[i]);
    });
    CompareResult result{.base = newest_.where};
    Judge(measured, result);
    result.context = record::ContextChanges(newest_.file, contender_.file);
    ExplainByContext();
    result.rows = std::move(rows_);
    result.interleaved = interleaved_.has_value();
    result.across_machines = options_.across_machines;
    CountVerdicts(result);
    return result;
  }

 private:
  // For run files that dlroof did not write: if a record shows no cause of a change, names the
  // differences of the context (e.g. debug build, clock) as the cause. Commits and branches
  // (history::SetOrigin) differ in every comparison of two versions: they explain nothing.
  void ExplainByContext() {
    if (newest_.file.context.contains("dlroof")) return;
    record::RunFile base;
    base.context = newest_.file.context;
    for (const char* key : {"commit", "branch"}) base.context[key] = nullptr;
    const auto context = record::ContextChanges(base, contender_.file);
    if (context.empty()) return;
    for (auto& row : rows_)
      if (row.changes.empty() && statistics::IsChange(row.verdict))
        row.changes.push_back(
            {"run", fmt::format("differs between the runs: {}", fmt::join(context, "; "))});
  }

  // Returns the row's candidate for the judge and sets the row's displayed facts. If the row cannot
  // be judged, sets row.reason and returns nullopt.
  std::optional<statistics::Candidate> Measure(const PairedRecord& pair, Comparison& row) const {
    std::optional<JudgedTimes> chosen;
    try {
      if (row.contender->device == "gpu") chosen = ChooseTimes(*row.base, *row.contender);
    } catch (const Unsupported& error) {
      row.reason = error.what();
      return std::nullopt;
    }
    const record::Record& base = chosen ? chosen->base : *row.base;
    const record::Record& contender = chosen ? chosen->contender : *row.contender;
    statistics::BlocksShift blocks;
    if (interleaved_) blocks = statistics::MeasureBlocks(base, contender);
    const auto levels = !interleaved_   ? statistics::LevelsOf(base, contender)
                        : blocks.paired ? std::optional(blocks.levels)
                                        : std::nullopt;
    Describe(pair, base, contender, levels, row);
    if (chosen) {
      row.added_seconds = chosen->added_seconds;
      if (chosen->timed != row.base->timed || chosen->timed != row.contender->timed)
        row.timed = chosen->timed;
      if (row.added_seconds && row.after.seconds) *row.after.seconds -= *row.added_seconds;
    }
    if (!levels) {
      row.reason = interleaved_ ? fmt::format("blocks: {}; at least {} are needed", blocks.blocks,
                                              statistics::kMinBlocks)
                                : TooFew(row);
      return std::nullopt;
    }
    row.fastest_share = levels->fastest_share;
    statistics::Candidate candidate{
        .base = levels->base, .contender = levels->contender, .interleaved = blocks.paired};
    if (options_.across_machines && (!row.before.roof_seconds || !row.after.roof_seconds)) {
      row.reason = fmt::format("no percent of a validated roof in {}",
                               row.before.roof_seconds ? "NEW" : "BASE");
      return std::nullopt;
    }
    if (!interleaved_ && !options_.across_machines && (!chosen || chosen->timed == row.base->timed))
      candidate.earlier = EarlierLevels(*row.base, pair.earlier, row.fastest_share);
    if (options_.across_machines)
      candidate.contender.log_seconds -=
          std::log(*row.after.roof_seconds / *row.before.roof_seconds);
    candidate.control = options_.controls.contains(row.contender->name);
    if (row.fastest_share) candidate.measured = statistics::Measured::kProcesses;
    if (record::IsDeviceTime(base) && record::IsDeviceTime(contender))
      candidate.measured = statistics::Measured::kDevice;
    candidate.other = OtherMeasureOf(base, contender, candidate);
    return candidate;
  }

  // Returns the benchmark's levels in the first `runs` earlier runs. Omits runs whose level must be
  // computed differently from the judged ones (`share`: their LevelPair::fastest_share), and runs
  // with the same repetitions as BASE.
  std::vector<statistics::EarlierLevel> EarlierLevels(const record::Record& base, std::size_t runs,
                                                      std::optional<double> share) const {
    std::vector<statistics::EarlierLevel> levels;
    const auto* records = FindValue(earlier_, base.name);
    if (records == nullptr) return levels;
    for (const auto& [run, record] : *records) {
      if (run >= runs || record->status != record::Status::kOk || IsSameMeasurement(*record, base))
        continue;
      const auto pair = LevelsOfTimes(base, *record);
      if (pair && pair->fastest_share == share)
        levels.push_back({static_cast<int>(run), pair->contender});
    }
    return levels;
  }

  // Returns the change of SM cycles for a GPU call, and of CPU time for a CPU benchmark of one
  // thread whose wall time was much longer (kMinWait) in either run, and which ran in one process
  // or in interleaved blocks that were mostly noisy. Returns nullopt for others, and if a run lacks
  // the measure.
  static std::optional<statistics::OtherMeasure> OtherMeasureOf(
      const record::Record& base, const record::Record& contender,
      const statistics::Candidate& candidate) {
    if (contender.device == "gpu") {
      const auto before = record::MedianCycles(base), after = record::MedianCycles(contender);
      if (!before || !after) return std::nullopt;
      return {{std::log(*after / *before), "SM cycles", "the GPU's clock changed"}};
    }
    const auto before = record::WallOverCpu(base), after = record::WallOverCpu(contender);
    if (candidate.measured != statistics::Measured::kOneProcess || !before || !after ||
        std::max(*before, *after) < statistics::kMinWait)
      return std::nullopt;
    const double time = candidate.contender.log_seconds - candidate.base.log_seconds;
    double log_ratio = time - std::log(*after / *before);
    if (candidate.interleaved) {
      if (record::Summarize(base.repetitions) && record::Summarize(contender.repetitions))
        return std::nullopt;
      const auto shift = statistics::MeasureSequentialShift(
          statistics::BlockLogRatios(InCpuTime(base), InCpuTime(contender)));
      if (!shift) return std::nullopt;
      log_ratio = shift->log_ratio;
    }
    return {{log_ratio, "CPU time", "it waits, or other programs ran on its CPU"}};
  }

  // Sets the row's displayed times and the changes that may explain them.
  void Describe(const PairedRecord& pair, const record::Record& base,
                const record::Record& contender, const std::optional<statistics::LevelPair>& levels,
                Comparison& row) const {
    const auto *base_machine = record::MachineFor(pair.run->file, *row.base),
               *contender_machine = record::MachineFor(contender_.file, *row.contender);
    const bool timed = levels && (!interleaved_ || levels->fastest_share);
    row.before = SideOf(base, base_machine, timed ? &levels->base : nullptr, !interleaved_);
    row.after =
        SideOf(contender, contender_machine, timed ? &levels->contender : nullptr, !interleaved_);
    const bool alike =
        record::CountFlopsAlike(pair.run->file.context, contender_.file.context, row.contender->op);
    if (!alike) row.before = {.seconds = row.before.seconds};
    row.changes =
        record::FindChanges(*row.base, base_machine, *row.contender, contender_machine, alike);
  }

  statistics::JudgeSettings Settings() const {
    statistics::JudgeSettings settings{
        .min_effect = options_.min_effect,
        .run_noise = options_.run_noise,
        .look_for_common_shift = !options_.across_machines && !interleaved_,
        .window = window_};
    if (!interleaved_) return settings;
    // The error of the blocks' shift includes noise between runs: each block has new processes.
    if (!settings.run_noise) settings.run_noise = 0;
    if (!settings.min_effect) settings.min_effect = interleaved_->min_effect;
    return settings;
  }

  using Groups = std::map<std::pair<const NamedRun*, bool>, int>;

  // Returns the number of the benchmark's group: those on GPUs or the others of its BASE's run. A
  // group has a common shift. (In a name that is not dlroof's, Record::device may be an argument.)
  // Sets the shift of a new group's machine from the ceilings.
  int GroupOf(std::size_t row, Groups& groups, statistics::JudgeSettings& settings) const {
    const auto& [base, contender, run, earlier] = pairs_[row];
    const auto [found, added] =
        groups.try_emplace({run, contender->device == "gpu"}, static_cast<int>(groups.size()));
    const auto* before = record::MachineFor(run->file, *base);
    const auto* after = record::MachineFor(contender_.file, *contender);
    if (added && before != nullptr && after != nullptr)
      if (const auto shift = RoofShiftOf(*before, *after))
        settings.machines.emplace(found->second, *shift);
    return found->second;
  }

  void Judge(std::vector<record::Rare<statistics::Candidate>>& measured, CompareResult& result) {
    std::vector<statistics::Candidate> candidates;
    std::vector<std::size_t> row_of;  // by candidate
    Groups groups;
    auto settings = Settings();
    for (std::size_t row = 0; row < measured.size(); ++row) {
      if (!measured[row]) continue;
      row_of.push_back(row);
      auto& candidate = candidates.emplace_back(std::move(*measured[row]));
      if (settings.look_for_common_shift) candidate.group = GroupOf(row, groups, settings);
    }
    auto& judged = result.judged;
    judged = statistics::Judge(candidates, settings);
    for (std::size_t i = 0; i < row_of.size(); ++i) {
      Comparison& row = rows_[row_of[i]];
      row.verdict = judged.each[i].verdict;
      row.reason = judged.each[i].reason;
      if (row.verdict == Verdict::kAmbiguous && IsSameMeasurement(*row.base, *row.contender)) {
        row.verdict = Verdict::kSame;
        row.reason = "both files have the same repetitions: they are one measurement";
      }
      row.judgement = std::move(judged.each[i]);
    }
    judged.each.clear();
    if (interleaved_ && !options_.run_noise)
      judged.run_noise_from = "measured interleaved, with new processes for each block";
  }

  const std::vector<PairedRecord>& pairs_;
  // Records of the earlier runs (CompareOptions::earlier) and the numbers of these, by name.
  std::unordered_map<std::string_view, std::vector<std::pair<std::size_t, const record::Record*>>>
      earlier_;
  const bool window_;
  const NamedRun& contender_;
  const CompareOptions& options_;
  // The newest of BASE's runs; its context is compared.
  const NamedRun& newest_ = *std::ranges::max_element(pairs_, {}, &PairedRecord::earlier)->run;
  const std::optional<record::InterleavedComparison> interleaved_ =
      record::InterleavedComparisonOf(newest_.file, contender_.file);
  std::vector<Comparison> rows_;
};

}  // namespace

std::string Comparison::Cause() const {
  if (!statistics::IsChange(verdict) && changes.empty()) return "";
  return record::CausesText(changes, verdict == Verdict::kSlower   ? 1
                                     : verdict == Verdict::kFaster ? -1
                                                                   : 0);
}

void CountVerdicts(CompareResult& result) {
  result.count.clear();
  bool worse = false, suspect = false;
  int judged = 0, open = 0;
  for (const auto& row : result.rows) {
    ++result.count[row.verdict];
    judged += row.verdict == Verdict::kSame || row.verdict == Verdict::kFaster ? 1 : 0;
    open += row.verdict == Verdict::kAmbiguous || row.verdict == Verdict::kInsufficient ? 1 : 0;
    worse = worse || row.GotWorse();
    suspect = suspect || (row.verdict == Verdict::kAmbiguous && row.judgement->is_suspect);
  }
  const bool unexplained = result.judged.common && result.judged.common->is_unexplained;
  result.exit_code = worse ? 1 : unexplained || suspect || judged <= open ? 3 : 0;
}

CompareResult Compare(const NamedRun& base, const NamedRun& contender,
                      const CompareOptions& options) {
  auto pairs = PairRecords(base, contender, options.names);
  CheckComparable(base, contender, pairs, options.across_machines);
  for (auto& pair : pairs) pair.earlier = options.earlier.size();
  return Comparer(pairs, options.earlier, false, contender, options).Run();
}

CompareResult CompareWithStored(const std::vector<NamedRun>& stored, const NamedRun& contender,
                                const CompareOptions& options) {
  const auto is_known = [](const record::Record& record) {  // failed, or has enough times
    return record.status != record::Status::kOk || CanTell(record);
  };
  std::unordered_map<const record::Record*, PairedRecord> pair_of;  // key: NEW's record
  std::vector<PairedRecord> gone;                                   // those of the newest run first
  for (std::size_t run = stored.size(); run-- > 0;)
    for (auto& pair : PairRecords(stored[run], contender, NamesIn(stored[run], options.names))) {
      pair.earlier = run;
      if (pair.contender == nullptr) gone.push_back(pair);
      if (pair.base == nullptr || pair.contender == nullptr) continue;
      const auto [found, added] = pair_of.try_emplace(pair.contender, pair);
      if (!added && !is_known(*found->second.base) && is_known(*pair.base)) found->second = pair;
    }
  std::set<std::size_t, std::greater<>> used;  // indices of runs, descending
  for (const auto& [record, pair] : pair_of) used.insert(pair.earlier);
  if (used.empty()) throw BadInput(contender.where + ": no stored run has one of its benchmarks");
  const std::size_t newest = *used.begin();
  std::vector<PairedRecord> pairs;
  for (const auto& record : contender.file.records) {
    const auto* found = FindValue(pair_of, &record);
    pairs.push_back(found != nullptr ? *found
                                     : PairedRecord{nullptr, &record, &stored[newest], newest});
  }
  std::set<std::string_view> names;
  for (const auto& pair : gone)
    if (used.contains(pair.earlier) && names.insert(pair.base->name).second) pairs.push_back(pair);
  std::vector<std::string> paths;
  for (const auto run : used) {
    CheckComparable(stored[run], contender, pairs, false);
    paths.push_back(stored[run].where);
  }
  auto result = Comparer(pairs, stored, true, contender, options).Run();
  result.base = fmt::format("{}", fmt::join(paths, ", "));
  return result;
}

}  // namespace dlroof::compare
