#include "counters/cpu/budget.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "counters/cpu/clocks.h"

namespace dlroof::cpu {
namespace {

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

BudgetClocks CallersClocks() { return {WallSeconds, ThreadSeconds}; }

Budget::Budget(double cpu_seconds, double wall_seconds, BudgetClocks clocks)
    : clocks_(std::move(clocks)),
      cpu_end_(clocks_.cpu() + cpu_seconds),
      wall_end_(clocks_.wall() + wall_seconds) {}

Budget Budget::Part(double cpu_seconds) const {
  return Budget(std::min(cpu_seconds, CpuLeft()), WallLeft(), clocks_);
}

double Budget::CpuLeft() const { return std::max(0.0, cpu_end_ - clocks_.cpu()); }

double Budget::WallLeft() const { return std::max(0.0, wall_end_ - clocks_.wall()); }

}  // namespace dlroof::cpu
