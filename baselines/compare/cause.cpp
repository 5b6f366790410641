#include "baselines/compare/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::compare {
namespace {

// [1] Modelled counts are exact, so any difference is a change.
constexpr double kExactCount = 1e-6;
// [1] An increase of the share of noisy repetitions by this much may explain a slower time.
constexpr double kNoisyShare = 0.3;
// [1] Larger relative differences between the clocks of two runs are reported.
constexpr double kClockChange = 0.02;

// Returns "grew by 12.0 %, from 1.00 MB to 1.12 MB", or a factor for ratios of at least 2.
std::string Moved(double from, double to, std::string_view unit) {
  const double ratio = from > 0 ? to / from : 0;
  const auto ends =
      fmt::format("from {} to {}", text::WithPrefix(from, unit), text::WithPrefix(to, unit));
  if (ratio >= 2) return fmt::format("grew {:.2f}-fold, {}", ratio, ends);
  if (from == 0) return "grew " + ends;
  return fmt::format("{} by {:.1f} %, {}", ratio > 1 ? "grew" : "fell", 100 * std::abs(ratio - 1),
                     ends);
}

void AddQuantity(ChangeKind kind, std::optional<Level> level, const std::string& what,
                 Provenance from, double before, double after, std::string_view unit,
                 std::vector<Change>& changes) {
  const double tolerance = from == Provenance::kModelled ? kExactCount : kCounterTolerance;
  if (std::abs(after - before) <= tolerance * before) return;
  Change change{.kind = kind, .level = level};
  if (before > 0) change.ratio = after / before;
  change.text = fmt::format("{} ({}) {}", what, Key(from), Moved(before, after, unit));
  changes.push_back(std::move(change));
}

void AddAlgorithm(const record::Record& base, const record::Record& contender,
                  std::vector<Change>& changes) {
  if (base.algorithm.empty() || contender.algorithm.empty()) return;
  if (base.algorithm == contender.algorithm && base.isa == contender.isa) return;
  changes.push_back(
      {.kind = ChangeKind::kAlgorithm,
       .text = fmt::format("algorithm changed from '{}' to '{}'", record::AlgorithmText(base),
                           record::AlgorithmText(contender))});
}

// Calls `get` for each provenance, the most trusted first, until both records have the quantity.
template <class Get>
void ForBothKnown(const record::Record& base, const record::Record& contender, const Get& get) {
  for (const Provenance from : AllProvenances()) {
    const auto a = base.work.find(from), b = contender.work.find(from);
    if (a != base.work.end() && b != contender.work.end() && get(from, a->second, b->second))
      return;
  }
}

void AddFlops(const record::Record& base, const record::Record& contender, bool alike,
              std::vector<Change>& changes) {
  ForBothKnown(base, contender, [&](Provenance from, const Work& a, const Work& b) {
    if (a.flops.empty() || b.flops.empty()) return false;
    if (from == Provenance::kModelled && !alike) return true;
    if (a.flops == b.flops) return true;
    std::set<std::string> pipes;
    for (const auto* work : {&a, &b})
      for (const auto& [pipe, flops] : work->flops) pipes.insert(pipe);
    const auto count = [](const Work& work, const std::string& pipe) {
      const auto found = work.flops.find(pipe);
      return found == work.flops.end() ? 0 : found->second;
    };
    for (const auto& pipe : pipes)
      AddQuantity(ChangeKind::kFlops, std::nullopt, pipe + " FLOPs", from, count(a, pipe),
                  count(b, pipe), "FLOP", changes);
    return true;
  });
}

void AddBytes(const record::Record& base, const record::Record& contender,
              std::vector<Change>& changes) {
  for (const Level level : AllLevels())
    ForBothKnown(base, contender, [&](Provenance from, const Work& a, const Work& b) {
      const auto before = a.bytes.find(level), after = b.bytes.find(level);
      if (before == a.bytes.end() || after == b.bytes.end()) return false;
      AddQuantity(ChangeKind::kBytes, level, std::string(Key(level)) + " bytes", from,
                  before->second, after->second, "B", changes);
      return true;
    });
}

void AddLaunches(const record::Record& base, const record::Record& contender,
                 std::vector<Change>& changes) {
  ForBothKnown(base, contender, [&](Provenance from, const Work& a, const Work& b) {
    if (!a.launches || !b.launches) return false;
    if (*a.launches != *b.launches)
      changes.push_back({.kind = ChangeKind::kLaunches,
                         .text = fmt::format("launches ({}) changed from {:.6g} to {:.6g}",
                                             Key(from), *a.launches, *b.launches)});
    return true;
  });
}

const machine::Ceiling* CeilingOf(const machine::Machine* machine, const record::Record& record,
                                  const std::string& pipe) {
  const auto* set = machine == nullptr ? nullptr : machine::ForThreads(*machine, record.threads);
  if (set == nullptr) return nullptr;
  const auto found = set->flops.find(pipe);
  return found == set->flops.end() ? nullptr : &found->second;
}

// Returns the clock [1/s] of a GPU's SMs during the calls: the median of the clean repetitions.
std::optional<double> ClockOfSms(const record::Record& record) {
  std::vector<double> clocks;
  for (const auto& repetition : record.repetitions)
    if (!repetition.noisy && repetition.gpu && repetition.gpu->clock_hz)
      clocks.push_back(*repetition.gpu->clock_hz);
  if (clocks.empty()) return std::nullopt;
  return Median(std::move(clocks));
}

// Adds a change if the clocks [1/s] differ by more than kClockChange. Returns whether they do.
bool AddClockChange(const std::string& what, double before, double after,
                    std::vector<Change>& changes) {
  if (before <= 0 || std::abs(after / before - 1) <= kClockChange) return false;
  changes.push_back({.kind = ChangeKind::kClock,
                     .ratio = after / before,
                     .text = fmt::format("{} {}", what, Moved(before, after, "Hz"))});
  return true;
}

void AddClock(const record::Record& base, const machine::Machine* base_machine,
              const record::Record& contender, const machine::Machine* contender_machine,
              std::vector<Change>& changes) {
  const auto base_sms = ClockOfSms(base), contender_sms = ClockOfSms(contender);
  if (base_sms && contender_sms) {
    AddClockChange("the clock of the SMs while it ran", *base_sms, *contender_sms, changes);
    return;
  }
  for (const auto& [from, work] : contender.work)
    for (const auto& [pipe, flops] : work.flops) {
      const auto* before = CeilingOf(base_machine, base, pipe);
      const auto* after = CeilingOf(contender_machine, contender, pipe);
      if (before == nullptr || after == nullptr || !before->clock_hz || !after->clock_hz) continue;
      if (AddClockChange(fmt::format("the clock at the {} ceiling", pipe), *before->clock_hz,
                         *after->clock_hz, changes))
        return;
    }
}

void AddNoisy(const record::Record& base, const record::Record& contender,
              std::vector<Change>& changes) {
  const auto noisy = [](const record::Record& record) {
    return std::ranges::count_if(record.repetitions,
                                 [](const auto& repetition) { return repetition.noisy; });
  };
  const auto share = [&](const record::Record& record) {
    return record.repetitions.empty() ? 0
                                      : static_cast<double>(noisy(record)) /
                                            static_cast<double>(record.repetitions.size());
  };
  if (share(contender) < share(base) + kNoisyShare) return;
  changes.push_back(
      {.kind = ChangeKind::kNoisy,
       .text = fmt::format("noisy: {} of {} repetitions, before {} of {}", noisy(contender),
                           contender.repetitions.size(), noisy(base), base.repetitions.size())});
}

const Work* CountedWork(const record::Record& record, Level level) {
  for (const Provenance from : {Provenance::kMeasured, Provenance::kSimulated}) {
    const auto work = record.work.find(from);
    if (work != record.work.end() && work->second.bytes.count(level) > 0) return &work->second;
  }
  return nullptr;
}

}  // namespace

std::string_view Key(ChangeKind kind) {
  constexpr KeyRow<ChangeKind> kKeys[] = {{ChangeKind::kAlgorithm, "algorithm"},
                                          {ChangeKind::kFlops, "flops"},
                                          {ChangeKind::kBytes, "bytes"},
                                          {ChangeKind::kLaunches, "launches"},
                                          {ChangeKind::kClock, "clock"},
                                          {ChangeKind::kNoisy, "disturbed"},
                                          {ChangeKind::kRun, "run"}};
  return KeyIn(kKeys, kind);
}

std::vector<Change> FindChanges(const record::Record& base, const machine::Machine* base_machine,
                                const record::Record& contender,
                                const machine::Machine* contender_machine, bool flops_alike) {
  std::vector<Change> changes;
  AddAlgorithm(base, contender, changes);
  AddFlops(base, contender, flops_alike, changes);
  AddBytes(base, contender, changes);
  AddLaunches(base, contender, changes);
  AddClock(base, base_machine, contender, contender_machine, changes);
  AddNoisy(base, contender, changes);
  return changes;
}

std::string CausesText(const std::vector<Change>& changes) {
  if (changes.empty())
    return "unexplained: same algorithm, FLOPs, bytes and launches, as far as known";
  std::string text;
  for (const auto& change : changes) text += (text.empty() ? "" : "; ") + change.text;
  return text;
}

std::map<std::string, double> ResidualsOf(const record::Record& record) {
  std::map<std::string, double> residuals;
  if (!record.prediction) return residuals;
  const auto put = [&](std::string_view of, double measured, double predicted) {
    if (measured > 0 && predicted > 0) residuals.emplace(of, measured / predicted);
  };
  if (const auto timing = record::Summarize(record.repetitions))
    put("time", timing->median, record.prediction->seconds);
  for (const auto& [level, predicted] : record.prediction->bytes)
    if (const auto* work = CountedWork(record, level))
      put(Key(level), work->bytes.at(level), predicted);
  return residuals;
}

std::string Residual::Text() const {
  return fmt::format("{} residual (measured over predicted) {} from {:.3g} to {:.3g}", of,
                     contender > base ? "grew" : "fell", base, contender);
}

std::vector<Residual> CompareResiduals(const record::Record& base, const record::Record& contender,
                                       std::optional<statistics::Verdict> time) {
  std::vector<Residual> residuals;
  const auto before = ResidualsOf(base), after = ResidualsOf(contender);
  for (const auto& [of, value] : after) {
    const auto found = before.find(of);
    if (found == before.end() || (of == "time" && !time)) continue;
    Residual residual{of, found->second, value};
    residual.moved =
        of == "time" ? time == statistics::Verdict::kSlower || time == statistics::Verdict::kFaster
                     : std::abs(value / found->second - 1) > kCounterTolerance;
    residual.worse =
        residual.moved && std::abs(std::log(value)) > std::abs(std::log(found->second));
    residuals.push_back(std::move(residual));
  }
  return residuals;
}

void AddTo(std::map<std::string, ResidualMean>& means, const std::vector<Residual>& residuals) {
  for (const auto& residual : residuals) {
    ResidualMean& mean = means[residual.of];
    ++mean.benchmarks;
    mean.base += (std::abs(residual.base - 1) - mean.base) / mean.benchmarks;
    mean.contender += (std::abs(residual.contender - 1) - mean.contender) / mean.benchmarks;
  }
}

std::string Describe(const std::map<std::string, ResidualMean>& means) {
  std::string text;
  for (const auto& [of, mean] : means)
    text += fmt::format("{}{} {:.1f} % -> {:.1f} % ({} benchmark{})", text.empty() ? "" : ", ", of,
                        100 * mean.base, 100 * mean.contender, mean.benchmarks,
                        mean.benchmarks == 1 ? "" : "s");
  return text.empty()
             ? text
             : fmt::format("residuals (measured over predicted, mean distance from 1): {}", text);
}

}  // namespace dlroof::compare
