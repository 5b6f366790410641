#include "reporters/record/changes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

// [1] Relative differences that are no change. Modelled counts are exact; counters and simulations
// are reproducible within 5 %.
constexpr double kExactCount = 1e-6, kCounterTolerance = 0.05;
// [1] Increase of the share of noisy repetitions that may explain a slower time.
constexpr double kNoisyShare = 0.3;
// [1] Larger relative differences between the clocks of two runs are reported.
constexpr double kClockChange = 0.02;

// Returns e.g. "grew by 12.0 %, from 1.00 MB to 1.12 MB" or "grew 2.50-fold, from ... to ...".
std::string Moved(double from, double to, std::string_view unit) {
  const double ratio = from > 0 ? to / from : 0;
  const auto shown = [&](double count) {
    return unit.empty() ? fmt::format("{:.6g}", count) : text::WithPrefix(count, unit);
  };
  const auto ends = fmt::format("from {} to {}", shown(from), shown(to));
  if (ratio >= 2) return fmt::format("grew {:.2f}-fold, {}", ratio, ends);
  if (from == 0) return "grew " + ends;
  return fmt::format("{} by {:.1f} %, {}", ratio > 1 ? "grew" : "fell", 100 * std::abs(ratio - 1),
                     ends);
}

using Counts = std::map<std::string, double>;  // by name

constexpr std::string_view kFlops = "flops", kBytes = "bytes", kLaunches = "launches";

Counts CountsOf(std::string_view kind, const Work& work) {
  Counts counts;
  if (kind == kFlops)
    for (const auto& [pipe, flops] : work.flops) counts[pipe + " FLOPs"] = flops;
  else if (kind == kBytes)
    for (const auto& [level, bytes] : work.bytes)
      counts[std::string(Key(level)) + " bytes"] = bytes;
  else if (work.launches)
    counts["launches"] = *work.launches;
  return counts;
}

void AddCounts(std::string_view kind, std::string_view unit, const Record& base,
               const Record& contender, bool flops_alike, std::vector<Change>& changes) {
  for (const Provenance from : AllProvenances()) {
    const auto a = base.work.find(from), b = contender.work.find(from);
    if (a == base.work.end() || b == contender.work.end()) continue;
    auto before = CountsOf(kind, a->second), after = CountsOf(kind, b->second);
    if (before.empty() || after.empty()) continue;
    if (kind == kFlops) {
      if (from == Provenance::kModelled && !flops_alike) return;
      // A pipe that is missing executed 0 FLOPs. (Missing bytes or launches are unknown.)
      for (const auto& [name, count] : before) after.try_emplace(name, 0);
      for (const auto& [name, count] : after) before.try_emplace(name, 0);
    }
    const double tolerance = from == Provenance::kModelled ? kExactCount : kCounterTolerance;
    for (const auto& [name, count] : before) {
      const auto now = after.find(name);
      if (now == after.end() || std::abs(now->second - count) <= tolerance * count) continue;
      changes.push_back(
          {kind, fmt::format("{} ({}) {}", name, Key(from), Moved(count, now->second, unit))});
    }
    return;
  }
}

struct Clock {
  std::string of;
  double hz = 0;  // [1/s]
};

std::optional<Clock> ClockOfSms(const Record& record) {
  const auto clock = SampleMedian(record, &GpuSample::clock_hz);
  return clock ? std::optional(Clock{"the clock of the SMs while it ran", *clock}) : std::nullopt;
}

// Returns the clock at which the ceiling of the record's first pipe was measured, or nullopt.
std::optional<Clock> ClockOfCeiling(const Record& record, const machine::Machine* machine) {
  const auto* set = machine == nullptr ? nullptr : machine::ForThreads(*machine, record.threads);
  if (set == nullptr) return std::nullopt;
  for (const auto& [from, work] : record.work)
    for (const auto& [pipe, flops] : work.flops)
      if (const auto found = set->flops.find(pipe);
          found != set->flops.end() && found->second.clock_hz)
        return Clock{fmt::format("the clock at the {} ceiling", pipe), *found->second.clock_hz};
  return std::nullopt;
}

double NoisyShare(const Record& record) {
  if (record.repetitions.empty()) return 0;
  const auto noisy = std::ranges::count_if(record.repetitions,
                                           [](const auto& repetition) { return repetition.noisy; });
  return static_cast<double>(noisy) / static_cast<double>(record.repetitions.size());
}

}  // namespace

std::vector<Change> FindChanges(const Record& base, const machine::Machine* base_machine,
                                const Record& contender, const machine::Machine* contender_machine,
                                bool flops_alike) {
  std::vector<Change> changes;
  const bool chosen = !base.algorithm.empty() && !contender.algorithm.empty();
  if (chosen && (base.algorithm != contender.algorithm || base.isa != contender.isa))
    changes.push_back({"algorithm", fmt::format("algorithm changed from '{}' to '{}'",
                                                AlgorithmText(base), AlgorithmText(contender))});
  AddCounts(kFlops, "FLOP", base, contender, flops_alike, changes);
  AddCounts(kBytes, "B", base, contender, flops_alike, changes);
  AddCounts(kLaunches, "", base, contender, flops_alike, changes);
  auto before = ClockOfSms(base), after = ClockOfSms(contender);
  if (!before || !after) {
    before = ClockOfCeiling(base, base_machine);
    after = ClockOfCeiling(contender, contender_machine);
  }
  if (before && after && before->of == after->of && before->hz > 0 &&
      std::abs(after->hz / before->hz - 1) > kClockChange)
    changes.push_back(
        {"clock", fmt::format("{} {}", before->of, Moved(before->hz, after->hz, "Hz"))});
  if (NoisyShare(contender) >= NoisyShare(base) + kNoisyShare)
    changes.push_back(
        {"disturbed", fmt::format("{:.0f} % of the repetitions are noisy, before {:.0f} %",
                                  100 * NoisyShare(contender), 100 * NoisyShare(base))});
  return changes;
}

std::string CausesText(const std::vector<Change>& changes) {
  if (changes.empty())
    return "unexplained: same algorithm, FLOPs, bytes and launches, as far as known";
  std::vector<std::string> texts;
  for (const auto& change : changes) texts.push_back(change.text);
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace dlroof::record
