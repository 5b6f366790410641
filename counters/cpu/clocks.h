// Clocks that distinguish a slow program from a noisy system without privileges or hardware
// counters: wall time, CPU time and run delay (the time that runnable threads waited for a CPU).
// Also measures a core's actual clock, which virtual machines do not report, and its issue rate,
// which falls if the sibling hardware thread is busy.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "counters/base/process.h"

namespace dlroof::cpu {

// Readings of several clocks, all in [s]. Only the difference of two readings has a meaning.
struct ClockReading {
  double wall = 0;                  // steady clock
  double thread_cpu = 0;            // CPU time of the calling thread
  double process_cpu = 0;           // CPU time of all threads of this process
  std::optional<double> run_delay;  // of all threads; nullopt if /proc lacks schedstat
};

// Reads all clocks. Call it outside timed regions, because it reads a file per thread.
ClockReading ReadClocks();
// Reads the clocks of the calling thread only: run_delay is this thread's, process_cpu is 0.
ClockReading ReadThreadClocks();
ClockReading operator-(const ClockReading& end, const ClockReading& begin);
ClockReading operator+(ClockReading sum, const ClockReading& other);

// Calls `ready`, then `call`, and returns the times of `call`. Reads the wall and CPU clocks
// directly before and after `call`. Reads the slow files of the run delay before `ready` and after
// all clocks, so that the run delay includes `ready`.
ClockReading SpentBy(const std::function<void()>& ready, const std::function<void()>& call);

// Returns the lower of two values, the known one if the other is unknown, or nullopt.
inline std::optional<double> Lower(std::optional<double> first, std::optional<double> other) {
  return first && other ? std::min(first, other) : first ? first : other;
}

using dlroof::WallSeconds;
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
// since 2008, AMD's since 2017; Fog, Instruction tables). A busy sibling thread does not slow it.
double MeasureCoreClock();

// Returns the number of independent integer additions that the calling thread starts per cycle
// [1/cycle], measured over some 50 us. The value is the core's issue width (4 on Intel's and AMD's
// cores of 2013 to 2023, then 5 or 6), or about half of it if the sibling hardware thread is busy.
// The clock is from the shortest of five multiplication chains (as in MeasureCoreClock), the rate
// from the median of five loops of additions.
double MeasureIssueRate();

// Returns the instruction rate [1/s] of the faster of two loops: independent additions, and two
// additions per load from L1. Takes the best of many tries in 0.03 s, at the current clock. Cores
// that fuse pairs of instructions, e.g. compare and branch, can exceed this rate.
double MeasureInstructionRate();

struct BudgetClocks {
  std::function<double()> wall;  // [s] steady clock
  std::function<double()> cpu;   // [s] CPU time of the code that the budget limits
};

// Returns clocks with the CPU time of the calling thread, so that waiting threads do not count.
BudgetClocks CallersClocks();

// A time limit from the construction on. Limits CPU time, because on a busy machine wall time
// passes without progress, and wall time, because a measurement must end on a busy machine, too.
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

// Measures the cores that a team of threads runs on: the share of its core's issue slots that each
// thread gets, and the communication latency between the cores. In a virtual machine both can
// change during a run: another guest may use the sibling hardware thread, or the host may move a
// virtual CPU to another socket. No clock shows such a change.

struct TeamState {
  std::optional<double> issue_rate;  // [1/cycle] lowest MeasureIssueRate of the threads, if known
  // [s] Round trip of a cache line between the first thread and the thread farthest from it.
  std::optional<double> round_trip;

  bool operator==(const TeamState&) const = default;
};

struct IssueLook {
  double begin = 0, end = 0;   // [s] of the measurement, steady clock
  std::optional<double> rate;  // [1/cycle]
};

// Returns the lowest issue rate of the team's threads. Returns nullopt if a thread has no rate or
// the measurements did not overlap: a thread issues faster while its sibling on the core waits.
std::optional<double> TeamIssueRate(const std::vector<IssueLook>& looks);

class TeamLook {
 public:
  explicit TeamLook(int threads) : looks_(static_cast<std::size_t>(threads)) {}

  // Each thread of the team calls Measure once. The call waits up to 1 ms for the other threads.
  // Ignores thread numbers beyond the team.
  void Measure(int thread);
  // Call this after all threads have measured.
  TeamState State() const { return {TeamIssueRate(looks_), farthest_}; }

 private:
  bool WaitsFor(const std::atomic<long>& line, long value) const;
  void Send();
  void Answer(std::size_t thread);

  std::vector<IssueLook> looks_;
  std::optional<double> farthest_;  // [s] longest round trip; set by the first thread
  std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<long> sent_{0};
  alignas(64) std::atomic<long> answered_{0};
};

// [1] A measurement is noisy if a thread got less than this share of its core's issue slots.
inline constexpr double kMinCoreShare = 0.9;
// [1] A measurement is noisy if the shortest known round trip / its round trip is below this.
// Round trips within a group of cores differ by a factor of two (50 to 115 ns); round trips between
// groups or sockets take 400 ns and more.
inline constexpr double kMinLinkShare = 0.3;

// Returns the state with the higher issue rate or, if the rates differ by less than a tenth, the
// higher rate with the shorter round trip.
TeamState Better(const TeamState& first, const TeamState& other);

// A team's state relative to the best known state; each value is in ]0, 1].
struct TeamShares {
  std::optional<double> core;  // [1] issue rate divided by the best issue rate
  std::optional<double> link;  // [1] shortest known round trip divided by this round trip

  bool operator==(const TeamShares&) const = default;
};

// Compares the states of a team with the best state so far. `best_known` is the best state of an
// earlier run.
class SharesOfBest {
 public:
  explicit SharesOfBest(const TeamState& best_known = {}) : best_known_(best_known) {}

  // Records the states before and after a measurement. Returns the lower value of each share.
  TeamShares OfLower(const TeamState& before, const TeamState& after);
  // Returns the better of `best_known` and the third best measured values (of fewer than three, the
  // worst), so that outliers do not count. Ignores the issue rate of `best_known` if no measured
  // rate reached kMinCoreShare of it. Ignores round trips that were measured below the full issue
  // rate, because sibling threads on one core have a short round trip.
  TeamState Best() const;

 private:
  TeamState best_known_;
  std::vector<TeamState> looks_;
};

}  // namespace dlroof::cpu
