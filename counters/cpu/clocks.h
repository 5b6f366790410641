// Wall time, CPU time, and the time that our threads waited for a CPU: together they tell a slow
// program from a noisy one, without privileges or hardware counters.
//
// The clock at which a core really runs, which no file of the system tells in a virtual machine.
//
// The instructions that a core can start in a cycle. Two hardware threads share one core's issue
// slots; a virtual machine may not tell which of its CPUs do, or who runs on the other one.
//
// Chains of additions that keep every adder of a core busy, on x86.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace dlroof::cpu {

// All [s]; differences of two readings are what counts.
struct ClockReading {
  double wall = 0;         // steady clock
  double thread_cpu = 0;   // CPU time of the calling thread
  double process_cpu = 0;  // CPU time of all our threads
  std::optional<double>
      run_delay;  // all our threads: runnable but not running; absent without /proc schedstat
};

// Costs some 10 us (a file per thread): read outside timed regions.
ClockReading ReadClocks();
ClockReading operator-(const ClockReading& end, const ClockReading& begin);
ClockReading operator+(ClockReading one, const ClockReading& other);

// Returns the time of `call` alone: wall and CPU clocks are read right around it (some 0.5 us of
// CPU time are theirs), the files outside of `ready`, which runs just before.
ClockReading SpentBy(const std::function<void()>& ready, const std::function<void()>& call);

double WallSeconds();
// Run delay of the calling thread only [s]; absent without /proc schedstat.
std::optional<double> ThreadRunDelay();

// Second field of a schedstat line (nanoseconds waited) as seconds; absent when the text is not of
// that form.
std::optional<double> ParseRunDelay(std::string_view schedstat);

// Result of a busy loop that only reads the clock. Gaps are times in which it did not run.
struct FreezeReport {
  double seconds = 0;               // length of the watch
  std::vector<double> gaps;         // [s] each gap of at least 1 ms, in order
  std::optional<double> run_delay;  // [s] of them, waited for a CPU in this system; the rest was
                                    // the host's or an interrupt's
};
FreezeReport WatchFreezes(double seconds);

// [1/s] of the calling thread's core now, within about 0.1 ms: a chain of integer multiplications,
// each of which waits 3 cycles for the one before (on all of Intel's and AMD's cores since 2008 and
// 2017; Fog, Instruction tables). A sibling thread on the core does not slow it. The best of a few
// short chains: an interrupt spoils only one. Absent on CPUs for which this program has no chain.
std::optional<double> MeasureCoreClock();

// [1/cycle] independent integer additions that the calling thread starts now, over some 50 us:
// all that its core can start (4 on Intel's and AMD's cores of 2013 to 2023, then 5 or 6) when the
// core is its own, and about half where another hardware thread is busy on it. Additions go by the
// clock of a chain of multiplications (core_clock.h), which such a neighbour does not slow; the
// median of five pairs, so that an interrupt or a change of the clock spoils one. Absent on CPUs
// for which this program has no such loops.
std::optional<double> MeasureIssueRate();

inline constexpr int kAdditionsPerRound = 72;

// `rounds` times kAdditionsPerRound additions in eight chains, each of which adds once a cycle: up
// to eight in a cycle. Both operands are registers: some cores skip the addition of a constant.
[[gnu::noinline]] inline unsigned AddInChains(unsigned x, int rounds) {
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 9\n\t"
        "addl %8, %0\n\taddl %8, %1\n\taddl %8, %2\n\taddl %8, %3\n\t"
        "addl %8, %4\n\taddl %8, %5\n\taddl %8, %6\n\taddl %8, %7\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
        : "r"(x));
  return a + b + c + d + e + f + g + h;
}

}  // namespace dlroof::cpu
