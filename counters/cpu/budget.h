// Limits the time of a measurement in CPU time, because on a busy machine wall time passes without
// progress, and in wall time, because the measurement has to end on a busy machine, too.
#pragma once

#include <functional>
#include <limits>

namespace dlroof::cpu {

struct BudgetClocks {
  std::function<double()> wall;  // [s] steady clock
  std::function<double()> cpu;   // [s] CPU time of what the budget limits
};

// Returns clocks of which `cpu` is the CPU time of the calling thread. Threads that only wait for
// work do not count.
BudgetClocks CallersClocks();

// The time that is left from the construction on.
class Budget {
 public:
  explicit Budget(double cpu_seconds, double wall_seconds = std::numeric_limits<double>::infinity(),
                  BudgetClocks clocks = CallersClocks());

  // Returns a budget of `cpu_seconds` from now on that ends with this budget at the latest. [s]
  Budget Part(double cpu_seconds) const;

  double CpuLeft() const;   // [s] at least 0
  double WallLeft() const;  // [s] at least 0
  bool IsSpent() const { return CpuLeft() <= 0 || WallLeft() <= 0; }

 private:
  BudgetClocks clocks_;
  double cpu_end_, wall_end_;  // [s] on the clocks
};

}  // namespace dlroof::cpu
