#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "ceilings/machine/machine.h"
#include "counters/base/keys.h"

namespace dlroof::machine {
namespace {

constexpr std::size_t kMaxVisits = 8;
constexpr double kSameClock = 0.95, kPerCycleTolerance = 0.04;  // [1]
constexpr int kEnough = 2;  // min number of agreeing visits that validate a rate
constexpr const char* kSecondVisit =
    "lower bound until a second visit, a minute or more later, agrees";

// Returns whether the visit can agree with others (see Agreement): a repetition was clean, and
// clock and operations per cycle are as expected.
bool MayCount(const Visit& visit, double highest_clock) {
  if (visit.clean == 0) return false;
  if (visit.clock_hz && *visit.clock_hz < kSameClock * highest_clock) return false;
  return !visit.per_cycle || !visit.per_cycle_expected ||
         std::abs(*visit.per_cycle / *visit.per_cycle_expected - 1) <= kPerCycleTolerance;
}

std::vector<Visit> Joined(std::vector<Visit> visits, const std::vector<Visit>& more) {
  for (const auto& visit : more)
    if (std::ranges::count(visits, visit) == 0) visits.push_back(visit);
  while (visits.size() > kMaxVisits)
    visits.erase(std::ranges::min_element(visits, {}, &Visit::per_second));
  return visits;
}

// Returns the time `at` [s], or nullopt if the text is not an ISO 8601 time.
std::optional<double> SecondsOf(const std::string& at) {
  std::tm parts = {};
  std::istringstream text(at);
  text >> std::get_time(&parts, "%Y-%m-%dT%H:%M:%S");
  return text ? std::optional(static_cast<double>(timegm(&parts))) : std::nullopt;
}

bool AreApart(const Visit& visit, const Visit& other) {
  const auto at = SecondsOf(visit.at), then = SecondsOf(other.at);
  return at && then ? std::abs(*at - *then) >= kApartSeconds : visit.at != other.at;
}

// Replaces visits that are less than kApartSeconds apart by the fastest of them.
std::vector<Visit> VisitsApart(const std::vector<Visit>& visits) {
  std::vector<Visit> apart;
  for (const auto& visit : visits) {
    const auto same =
        std::ranges::find_if(apart, [&](const Visit& other) { return !AreApart(visit, other); });
    if (same == apart.end())
      apart.push_back(visit);
    else if (visit.per_second > same->per_second)
      *same = visit;
  }
  return apart;
}

const Ceiling* FasterValidated(const Ceiling& a, const Ceiling& b) {
  if (!a.IsValidated()) return b.IsValidated() ? &b : nullptr;
  return b.IsValidated() && b.per_second > a.per_second ? &b : &a;
}

Ceiling ValidatedByAgreement(Ceiling ceiling, const Agreement& agreement) {
  ceiling.per_second = agreement.best;
  ceiling.status = CeilingStatus::kValidated;
  ceiling.reasons.clear();
  // Numbers of one measurement that by itself proved nothing.
  ceiling.validation.doubling = ceiling.validation.spread = std::nullopt;
  ceiling.ci95 = std::nullopt;
  return ceiling;
}

// Returns the ceiling's last measured rate [flop/s] or [byte/s] and its time of measurement.
std::pair<double, std::string> LastOf(const Ceiling& row, const Machine& machine) {
  if (row.visits.empty()) return {row.per_second, machine.measured_at};
  return {row.visits.back().per_second, row.visits.back().at};
}

}  // namespace

std::vector<double> LogRateRatios(const Machine& base, const Machine& contender) {
  std::vector<double> ratios;
  const auto add = [&](const auto& rows, const auto& others) {
    for (const auto& [key, row] : rows) {
      const auto* const other = FindValue(others, key);
      if (other == nullptr || !row.IsValidated() || !other->IsValidated()) continue;
      const auto [before, then] = LastOf(row, base);
      const auto [after, now] = LastOf(*other, contender);
      if (then != now && before > 0 && after > 0) ratios.push_back(std::log(before / after));
    }
  };
  for (const auto& [threads, set] : base.by_threads) {
    const auto* const other = ForThreads(contender, threads);
    if (other == nullptr) continue;
    add(set.flops, other->flops);
    add(set.bytes, other->bytes);
  }
  return ratios;
}

Agreement AgreementOf(const Ceiling& ceiling, double tolerance) {
  Agreement agreement{.visits = static_cast<int>(ceiling.visits.size())};
  double clock = 0;  // [1/s] highest clock of all visits
  for (const auto& visit : ceiling.visits) clock = std::max(clock, visit.clock_hz.value_or(0));
  for (const auto& visit : ceiling.visits)
    if (visit.clean > 0) agreement.best = std::max(agreement.best, visit.per_second);
  for (const auto& visit : ceiling.visits)
    if (MayCount(visit, clock) && visit.per_second >= (1 - tolerance) * agreement.best)
      ++agreement.agreeing;
  return agreement;
}

Ceiling LearnedShared(const Ceiling* stored, const Ceiling& now) {
  if (stored != nullptr && now.unbounded) return *stored;
  const bool joins = stored != nullptr && !stored->unbounded;
  Ceiling all = joins && stored->per_second > now.per_second ? *stored : now;
  if (all.unbounded || now.visits.empty()) return all;
  all.visits = VisitsApart(joins ? Joined(stored->visits, now.visits) : now.visits);
  const auto agreement = AgreementOf(all, kMemoryAgreement);
  if (agreement.agreeing >= kEnough && all.per_second <= (1 + kMemoryAgreement) * agreement.best)
    return ValidatedByAgreement(std::move(all), agreement);
  if (all.IsValidated()) all.reasons = {kSecondVisit};
  all.status = CeilingStatus::kNotValidated;
  return all;
}

Ceiling Learned(const Ceiling& stored, const Ceiling& now, double tolerance) {
  if (now.unbounded) return stored;
  if (stored.unbounded) return now;
  Ceiling all = now.per_second >= stored.per_second ? now : stored;
  all.visits = Joined(stored.visits, now.visits);
  const auto agreement = AgreementOf(all, tolerance);
  const auto* validated = FasterValidated(stored, now);
  const bool agreed = agreement.agreeing >= kEnough;
  if (validated == nullptr) return agreed ? ValidatedByAgreement(all, agreement) : all;
  if (agreed && agreement.best > (1 + tolerance) * validated->per_second)
    return ValidatedByAgreement(all, agreement);
  auto kept = *validated;
  kept.visits = std::move(all.visits);
  return kept;
}

namespace {

bool IsShared(const std::string& row) { return row.starts_with("dram.") || row.starts_with("l3."); }

template <class Rows, class Tolerance>
void LearnRows(const Rows& now, const Tolerance& tolerance, Rows& rows) {
  for (const auto& [key, ceiling] : now) {
    const auto* const known = FindValue(rows, key);
    rows[key] = IsShared(key)      ? LearnedShared(known, ceiling)
                : known == nullptr ? ceiling
                                   : Learned(*known, ceiling, tolerance);
  }
}

int Rank(const std::string& effort) {
  constexpr std::array<std::string_view, 4> kEfforts = {"quick", "roofs", "full", "thorough"};
  const auto found = std::ranges::find(kEfforts, effort);
  return found == kEfforts.end() ? -1 : static_cast<int>(found - kEfforts.begin());
}

template <class Map>
void Replace(const Map& now, Map& known) {
  for (const auto& [key, value] : now) known[key] = value;
}

}  // namespace

CeilingSet Learned(const CeilingSet& stored, const CeilingSet& now) {
  CeilingSet set = stored;
  LearnRows(now.flops, kArithmeticAgreement, set.flops);
  LearnRows(now.mixes, kMemoryAgreement, set.mixes);
  for (const auto& [level, roof] : now.bytes) set.bytes.try_emplace(level, roof);
  if (now.launch_seconds)
    set.launch_seconds =
        std::min(set.launch_seconds.value_or(*now.launch_seconds), *now.launch_seconds);
  for (const auto& [name, seconds] : now.overheads) {
    const auto known = set.overheads.try_emplace(name, seconds).first;
    known->second = std::min(known->second, seconds);
  }
  // Takes the newest rate, not the largest: one reading that is too high would stay forever.
  if (now.best_state.issue_rate) set.best_state.issue_rate = now.best_state.issue_rate;
  if (now.best_state.round_trip) set.best_state.round_trip = now.best_state.round_trip;
  if (!now.sweep.empty()) set.sweep = now.sweep;
  Replace(now.ridges, set.ridges);
  Replace(now.costs_how, set.costs_how);
  Replace(now.sustained, set.sustained);
  Replace(now.edges, set.edges);
  Replace(now.absent, set.absent);
  std::erase_if(set.absent, [&](const auto& entry) {
    return set.flops.contains(entry.first) || set.mixes.contains(entry.first) ||
           set.overheads.contains(entry.first) ||
           (entry.first == "launch" && set.launch_seconds.has_value());
  });
  if (set.effort.empty() || Rank(now.effort) > Rank(set.effort)) set.effort = now.effort;
  return set;
}

}  // namespace dlroof::machine
