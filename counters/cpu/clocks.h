// Clocks that distinguish a slow program from a noisy system without privileges or hardware
// counters: wall time, CPU time and run delay (the time that runnable threads waited for a CPU).
// Also measures a core's actual clock, which virtual machines do not report, and its issue rate,
// which falls if the sibling hardware thread is busy.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace dlroof::cpu {

// Readings of several clocks, all in [s]. Only the difference of two readings has a meaning.
struct ClockReading {
  double wall = 0;                  // steady clock
  double thread_cpu = 0;            // CPU time of the calling thread
  double process_cpu = 0;           // CPU time of all threads of this process
  std::optional<double> run_delay;  // of all threads; nullopt if /proc lacks schedstat
};

// Takes some 10 us, as it reads a file per thread, so call it outside timed regions.
ClockReading ReadClocks();
// Reads the clocks of the calling thread only: run_delay is this thread's, process_cpu is 0.
ClockReading ReadThreadClocks();
ClockReading operator-(const ClockReading& end, const ClockReading& begin);
ClockReading operator+(ClockReading sum, const ClockReading& other);

// Calls `ready`, then `call`, and returns the times spent in `call`. Reads wall and CPU clocks
// directly before and after `call` (which adds some 0.5 us of CPU time), and the files with the run
// delay outside of these readings.
ClockReading SpentBy(const std::function<void()>& ready, const std::function<void()>& call);

double WallSeconds();
// Returns the run delay [s] of the calling thread, or nullopt if /proc lacks schedstat.
std::optional<double> ThreadRunDelay();

// Returns the run delay [s] in the text of a schedstat file (the second field, in nanoseconds).
// Returns nullopt if the text has another format.
std::optional<double> ParseRunDelay(std::string_view schedstat);

// Result of a loop that only reads the clock. A gap is a time in which the loop did not run.
struct FreezeReport {
  double seconds = 0;               // [s] duration of the loop
  std::vector<double> gaps;         // [s] the gaps of at least 1 ms, in order of time
  std::optional<double> run_delay;  // [s] the thread's wait for a CPU of this system; the rest of
                                    // the gaps was caused by the host or by interrupts
};
FreezeReport WatchFreezes(double seconds);

// Returns the current clock [1/s] of the calling thread's core, measured in about 0.1 ms: the best
// of a few short chains of integer multiplications with a latency of 3 cycles each (Intel's cores
// since 2008, AMD's since 2017; Fog, Instruction tables). A busy sibling hardware thread does not
// slow such a chain.
double MeasureCoreClock();

// Returns the number of independent integer additions that the calling thread starts per cycle
// [1/cycle], measured over some 50 us. The value is the core's issue width (4 on Intel's and AMD's
// cores of 2013 to 2023, then 5 or 6), or about half of it if the sibling hardware thread is busy.
// The clock is from the shortest of five multiplication chains (as in MeasureCoreClock), the rate
// from the median of five loops of additions.
double MeasureIssueRate();

// Returns the instruction rate [1/s] of the faster of two loops: independent additions, and two
// additions per load from L1. It is the best of many tries within 0.03 s, at the core's current
// clock. Cores that fuse pairs of instructions (compare and branch) can start more pairs than the
// loops show.
double MeasureInstructionRate();

// --- Limits of the time of a measurement ---

struct BudgetClocks {
  std::function<double()> wall;  // [s] steady clock
  std::function<double()> cpu;   // [s] CPU time of the code that the budget limits
};

// Returns clocks with the CPU time of the calling thread, so that waiting threads do not count.
BudgetClocks CallersClocks();

// The time left since the construction. Limits CPU time, because on a busy machine wall time passes
// without progress, and wall time, because a measurement must end on a busy machine, too.
class Budget {
 public:
  explicit Budget(double cpu_seconds, double wall_seconds = std::numeric_limits<double>::infinity(),
                  BudgetClocks clocks = CallersClocks());

  // Returns a budget of `cpu_seconds` [s] from now on that ends with this budget at the latest.
  Budget Part(double cpu_seconds) const;

  double CpuLeft() const;   // [s] at least 0
  double WallLeft() const;  // [s] at least 0
  bool IsSpent() const { return CpuLeft() <= 0 || WallLeft() <= 0; }

 private:
  BudgetClocks clocks_;
  double cpu_end_, wall_end_;  // [s] on the clocks
};

}  // namespace dlroof::cpu
