#include "counters/cpu/team_look.h"

#include <algorithm>
#include <functional>

#include "counters/cpu/clocks.h"

namespace dlroof::cpu {
namespace {

constexpr double kTimeout = 1e-3;  // [s] ends waits: a library may start fewer threads
constexpr int kChunks = 9, kTrips = 10;
constexpr std::size_t kRank = 3, kMaxLooks = 4096;

// Returns the third best value, or the worst of fewer than three.
template <class Better>
std::optional<double> ThirdBest(std::vector<double> values, Better better) {
  if (values.empty()) return std::nullopt;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(kRank, values.size()) - 1);
  std::nth_element(values.begin(), at, values.end(), better);
  return *at;
}

// Returns the lower of two values; one of them if the other is unknown.
std::optional<double> Lower(std::optional<double> first, std::optional<double> other) {
  if (!first || !other) return first ? first : other;
  return std::min(*first, *other);
}

}  // namespace

std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks) {
  constexpr double kMinOverlap = 0.8;  // [1] common time / (last end - first begin)
  std::optional<double> lowest;
  if (looks.empty()) return lowest;
  auto [first_begin, last_begin] = std::pair(looks.front().begin, looks.front().begin);
  auto [first_end, last_end] = std::pair(looks.front().end, looks.front().end);
  for (const auto& look : looks) {
    if (!look.rate) return std::nullopt;
    lowest = std::min(lowest.value_or(*look.rate), *look.rate);
    first_begin = std::min(first_begin, look.begin);
    last_begin = std::max(last_begin, look.begin);
    first_end = std::min(first_end, look.end);
    last_end = std::max(last_end, look.end);
  }
  if (first_end - last_begin < kMinOverlap * (last_end - first_begin)) return std::nullopt;
  return lowest;
}

bool TeamLook::WaitsFor(const std::atomic<long>& line, long value) const {
  for (double begin = WallSeconds();;) {
    for (int i = 0; i < 1000; ++i)
      if (line.load(std::memory_order_acquire) >= value) return true;
    if (WallSeconds() - begin > kTimeout) return false;
  }
}

// Runs in the first thread. Exchanges a cache line with each other thread in turn. A thread's round
// trip is the median of several chunks of trips.
void TeamLook::Send() {
  std::optional<double> farthest;
  long trip = 0;
  for (std::size_t other = 1; other < looks_.size(); ++other) {
    std::vector<double> chunks;
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const double begin = WallSeconds();
      for (int i = 0; i < kTrips; ++i) {
        sent_.store(++trip, std::memory_order_release);
        if (!WaitsFor(answered_, trip)) return;
      }
      chunks.push_back((WallSeconds() - begin) / kTrips);
    }
    std::nth_element(chunks.begin(), chunks.begin() + kChunks / 2, chunks.end());
    farthest = std::max(farthest.value_or(0), chunks[kChunks / 2]);
  }
  farthest_ = farthest;
}

void TeamLook::Answer(std::size_t thread) {
  constexpr long kOfEach = kChunks * kTrips;
  const long before = static_cast<long>(thread - 1) * kOfEach;
  for (long at = answered_.load(); at < before; at = answered_.load())
    if (!WaitsFor(answered_, at + 1)) return;  // the previous thread has timed out
  for (long trip = before + 1; trip <= before + kOfEach; ++trip) {
    if (!WaitsFor(sent_, trip)) return;
    answered_.store(trip, std::memory_order_release);
  }
}

void TeamLook::Measure(int thread) {
  const auto index = static_cast<std::size_t>(thread);
  if (thread < 0 || index >= looks_.size()) return;
  arrived_.fetch_add(1);
  const double begin = WallSeconds();
  while (arrived_.load(std::memory_order_acquire) < looks_.size())
    if (WallSeconds() - begin > kTimeout) return;
  auto& look = looks_[index];
  look.begin = WallSeconds();
  look.rate = MeasureIssueRate();
  look.end = WallSeconds();
  if (thread == 0)
    Send();
  else
    Answer(index);
}

TeamState Better(const TeamState& first, const TeamState& other) {
  const double rate = first.issue_rate.value_or(0), others = other.issue_rate.value_or(0);
  const double least = kMinCoreShare * std::max(rate, others);
  if (rate < least) return other;
  if (others < least) return first;
  TeamState better{rate < others ? other.issue_rate : first.issue_rate, first.round_trip};
  better.round_trip = Lower(first.round_trip, other.round_trip);
  return better;
}

TeamState SharesOfBest::Best() const {
  std::vector<double> rates, trips;
  for (const auto& look : looks_)
    if (look.issue_rate) rates.push_back(*look.issue_rate);
  TeamState seen{ThirdBest(rates, std::greater<>()), std::nullopt};
  // Ignores a known rate that no measurement reaches: it was wrong, or the host permanently takes a
  // part of the core.
  TeamState known = best_known_;
  if (!known.issue_rate || std::ranges::none_of(rates, [&](double rate) {
        return rate >= kMinCoreShare * *known.issue_rate;
      }))
    known.issue_rate = seen.issue_rate;
  const auto full = Better(seen, {known.issue_rate, std::nullopt}).issue_rate.value_or(0);
  for (const auto& look : looks_)
    if (look.round_trip && look.issue_rate.value_or(full) >= kMinCoreShare * full)
      trips.push_back(*look.round_trip);
  seen.round_trip = ThirdBest(trips, std::less<>());
  return Better(known, seen);
}

TeamShares SharesOfBest::OfLower(const TeamState& before, const TeamState& after) {
  for (const auto& look : {before, after})
    if (look != TeamState{}) looks_.push_back(look);
  if (looks_.size() > kMaxLooks) looks_.erase(looks_.begin(), looks_.begin() + kMaxLooks / 2);
  const auto best = Best();
  TeamShares shares;
  for (const auto& look : {before, after}) {
    if (look.issue_rate)
      shares.core = Lower(shares.core, std::min(1.0, *look.issue_rate / *best.issue_rate));
    if (look.round_trip && best.round_trip)
      shares.link = Lower(shares.link, std::min(1.0, *best.round_trip / *look.round_trip));
  }
  return shares;
}

}  // namespace dlroof::cpu
