#include "counters/cpu/issue_rate.h"

#include <algorithm>
#include <functional>

namespace dlroof {

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

}  // namespace dlroof
