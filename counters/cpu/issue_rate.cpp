#include "counters/cpu/issue_rate.h"

#include <algorithm>
#include <functional>

#include "counters/cpu/clocks.h"

namespace dlroof {

std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks) {
  constexpr double kLeastOverlap = 0.8;  // [1] of the time from the first begin to the last end
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
  if (first_end - last_begin < kLeastOverlap * (last_end - first_begin)) return std::nullopt;
  return lowest;
}

void TeamLook::Measure(int thread) {
  constexpr double kPatience = 1e-3;  // [s] a library may have fewer threads than were asked for
  if (thread < 0 || static_cast<std::size_t>(thread) >= looks_.size()) return;
  arrived_.fetch_add(1);
  const double begin = WallSeconds();
  while (arrived_.load(std::memory_order_acquire) < looks_.size())
    if (WallSeconds() - begin > kPatience) return;
  auto& look = looks_[static_cast<std::size_t>(thread)];
  look.begin = WallSeconds();
  look.rate = MeasureIssueRate();
  look.end = WallSeconds();
}

void BestIssueRate::Add(double rate) {
  constexpr std::size_t kKept = 3;
  highest_.insert(std::upper_bound(highest_.begin(), highest_.end(), rate, std::greater<>()), rate);
  if (highest_.size() > kKept) highest_.pop_back();
}

std::optional<double> BestIssueRate::Value() const {
  return highest_.empty() ? std::nullopt : std::optional(highest_.back());
}

double CoreShare::Of(double rate) {
  seen_.Add(rate);
  const double seen = *seen_.Value();
  return std::min(1.0, rate / std::max(best_known_.value_or(seen), seen));
}

std::optional<double> CoreShare::OfLower(std::optional<double> before,
                                         std::optional<double> after) {
  std::optional<double> share;
  for (const auto& rate : {before, after})
    if (rate) {
      const double of = Of(*rate);
      share = std::min(share.value_or(of), of);
    }
  return share;
}

}  // namespace dlroof
