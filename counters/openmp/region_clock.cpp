#include "counters/openmp/region_clock.h"

#include <algorithm>

namespace dlroof::openmp {

void RegionClock::Start(ThreadMark thread) {
  seen_ = {};
  inside_ = too_wide_ = false;
  watching_.store(thread, std::memory_order_relaxed);
}

std::optional<RegionsSeen> RegionClock::Stop() {
  watching_.store(nullptr, std::memory_order_relaxed);
  if (too_wide_) return std::nullopt;
  return seen_;
}

void RegionClock::Forks(double at) {
  inside_ = true;
  forked_ = at;
}

void RegionClock::Joins(int team, double at) {
  inside_ = false;
  seen_.widest_team = std::max(seen_.widest_team, team);
  too_wide_ = too_wide_ || team > kMaxThreads;
  auto& sums = seen_.sums;
  sums.regions += 1;
  sums.seconds += at - forked_;
  double longest = 0;
  for (int i = 0; i < std::min(team, kMaxThreads); ++i) {
    const auto& thread = *Thread(i);
    longest = std::max(longest, thread.Seconds());
    sums.busy_seconds += thread.Seconds() - thread.Waited();
  }
  sums.longest_seconds += longest;
}

ThreadInRegion* RegionClock::Thread(int number) {
  if (number < 0 || number >= kMaxThreads) return nullptr;
  return &threads_[static_cast<std::size_t>(number)];
}

}  // namespace dlroof::openmp
