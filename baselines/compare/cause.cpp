#include "baselines/compare/cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "counters/base/keys.h"
#include "counters/base/order_statistics.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

// [1] A count that comes from a formula is exact, so any change is one.
constexpr double kExactCount = 1e-6;
// [1] Share of disturbed repetitions in NEW, above BASE's, that may explain a time.
constexpr double kDisturbedShare = 0.3;
// [1] Clocks of two runs differ when they are further apart.
constexpr double kClockChange = 0.02;

// "grew by 12.0 %, from 1.00 MB to 1.12 MB"; a factor where percents are hard to read.
std::string Moved(double from, double to, std::string_view unit) {
  const double ratio = from > 0 ? to / from : 0;
  const auto ends = fmt::format("from {} to {}", WithPrefix(from, unit), WithPrefix(to, unit));
  if (ratio >= 2) return fmt::format("grew {:.2f}-fold, {}", ratio, ends);
  if (from == 0) return "grew " + ends;
  return fmt::format("{} by {:.1f} %, {}", ratio > 1 ? "grew" : "fell", 100 * std::abs(ratio - 1),
                     ends);
}

void AddQuantity(ChangeKind kind, std::optional<Level> level, const std::string& what,
                 Provenance from, double before, double after, std::string_view unit,
                 std::vector<Change>& changes) {
  const double tolerance = from == Provenance::kModelled ? kExactCount : kCountedCount;
  if (std::abs(after - before) <= tolerance * before) return;
  Change change{.kind = kind, .level = level};
  if (before > 0) change.ratio = after / before;
  change.text = fmt::format("{} ({}) {}", what, Key(from), Moved(before, after, unit));
  changes.push_back(std::move(change));
}

void AddAlgorithm(const Record& base, const Record& fresh, std::vector<Change>& changes) {
  if (base.algorithm.empty() || fresh.algorithm.empty()) return;
  if (base.algorithm == fresh.algorithm && base.isa == fresh.isa) return;
  changes.push_back({.kind = ChangeKind::kAlgorithm,
                     .text = fmt::format("algorithm changed from '{}' to '{}'", AlgorithmText(base),
                                         AlgorithmText(fresh))});
}

// The best known provenance under which both have the thing that `get` finds in a Work.
template <class Get>
void ForBothKnown(const Record& base, const Record& fresh, const Get& get) {
  for (const Provenance from : AllProvenances()) {
    const auto a = base.work.find(from), b = fresh.work.find(from);
    if (a != base.work.end() && b != fresh.work.end() && get(from, a->second, b->second)) return;
  }
}

void AddFlops(const Record& base, const Record& fresh, std::vector<Change>& changes) {
  ForBothKnown(base, fresh, [&](Provenance from, const Work& a, const Work& b) {
    if (a.flops.empty() || b.flops.empty()) return false;
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

void AddBytes(const Record& base, const Record& fresh, std::vector<Change>& changes) {
  for (const Level level : AllLevels())
    ForBothKnown(base, fresh, [&](Provenance from, const Work& a, const Work& b) {
      const auto before = a.bytes.find(level), after = b.bytes.find(level);
      if (before == a.bytes.end() || after == b.bytes.end()) return false;
      AddQuantity(ChangeKind::kBytes, level, std::string(Key(level)) + " bytes", from,
                  before->second, after->second, "B", changes);
      return true;
    });
}

void AddLaunches(const Record& base, const Record& fresh, std::vector<Change>& changes) {
  ForBothKnown(base, fresh, [&](Provenance from, const Work& a, const Work& b) {
    if (!a.launches || !b.launches) return false;
    if (*a.launches != *b.launches)
      changes.push_back({.kind = ChangeKind::kLaunches,
                         .text = fmt::format("launches ({}) changed from {:.6g} to {:.6g}",
                                             Key(from), *a.launches, *b.launches)});
    return true;
  });
}

const Ceiling* CeilingOf(const Machine* machine, const Record& record, const std::string& pipe) {
  const auto* set = machine == nullptr ? nullptr : ForThreads(*machine, record.threads);
  if (set == nullptr) return nullptr;
  const auto found = set->flops.find(pipe);
  return found == set->flops.end() ? nullptr : &found->second;
}

// [1/s] of a GPU's SMs while it ran: the median of the clean repetitions that know it.
std::optional<double> ClockOfSms(const Record& record) {
  std::vector<double> clocks;
  for (const auto& repetition : record.repetitions)
    if (!repetition.disturbed && repetition.gpu && repetition.gpu->clock_hz)
      clocks.push_back(*repetition.gpu->clock_hz);
  if (clocks.empty()) return std::nullopt;
  return Median(std::move(clocks));
}

// False: they are alike.
bool AddClockChange(const std::string& what, double before, double after,
                    std::vector<Change>& changes) {
  if (before <= 0 || std::abs(after / before - 1) <= kClockChange) return false;
  changes.push_back({.kind = ChangeKind::kClock,
                     .ratio = after / before,
                     .text = fmt::format("{} {}", what, Moved(before, after, "Hz"))});
  return true;
}

void AddClock(const Record& base, const Machine* base_machine, const Record& fresh,
              const Machine* fresh_machine, std::vector<Change>& changes) {
  const auto base_sms = ClockOfSms(base), fresh_sms = ClockOfSms(fresh);
  if (base_sms && fresh_sms) {
    AddClockChange("the clock of the SMs while it ran", *base_sms, *fresh_sms, changes);
    return;
  }
  for (const auto& [from, work] : fresh.work)
    for (const auto& [pipe, flops] : work.flops) {
      const auto* before = CeilingOf(base_machine, base, pipe);
      const auto* after = CeilingOf(fresh_machine, fresh, pipe);
      if (before == nullptr || after == nullptr || !before->clock_hz || !after->clock_hz) continue;
      if (AddClockChange(fmt::format("the clock under the {} ceiling", pipe), *before->clock_hz,
                         *after->clock_hz, changes))
        return;
    }
}

void AddDisturbed(const Record& base, const Record& fresh, std::vector<Change>& changes) {
  const auto disturbed = [](const Record& record) {
    return std::ranges::count_if(record.repetitions,
                                 [](const auto& repetition) { return repetition.disturbed; });
  };
  const auto share = [&](const Record& record) {
    return record.repetitions.empty() ? 0
                                      : static_cast<double>(disturbed(record)) /
                                            static_cast<double>(record.repetitions.size());
  };
  if (share(fresh) < share(base) + kDisturbedShare) return;
  changes.push_back(
      {.kind = ChangeKind::kDisturbed,
       .text = fmt::format("disturbed: {} of {} repetitions, before {} of {}", disturbed(fresh),
                           fresh.repetitions.size(), disturbed(base), base.repetitions.size())});
}

}  // namespace

std::string_view Key(ChangeKind kind) {
  constexpr KeyRow<ChangeKind> kKeys[] = {
      {ChangeKind::kAlgorithm, "algorithm"}, {ChangeKind::kFlops, "flops"},
      {ChangeKind::kBytes, "bytes"},         {ChangeKind::kLaunches, "launches"},
      {ChangeKind::kClock, "clock"},         {ChangeKind::kDisturbed, "disturbed"}};
  return KeyIn(kKeys, kind);
}

std::vector<Change> FindChanges(const Record& base, const Machine* base_machine,
                                const Record& fresh, const Machine* fresh_machine) {
  std::vector<Change> changes;
  AddAlgorithm(base, fresh, changes);
  AddFlops(base, fresh, changes);
  AddBytes(base, fresh, changes);
  AddLaunches(base, fresh, changes);
  AddClock(base, base_machine, fresh, fresh_machine, changes);
  AddDisturbed(base, fresh, changes);
  return changes;
}

std::string WhyItMoved(const std::vector<Change>& changes) {
  if (changes.empty())
    return "unexplained: same algorithm, FLOPs, bytes and launches, as far as known";
  std::string text;
  for (const auto& change : changes) text += (text.empty() ? "" : "; ") + change.text;
  return text;
}

}  // namespace dlroof
