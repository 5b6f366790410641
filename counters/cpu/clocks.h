// Wall time, CPU time and run delay (time that threads waited for a CPU), which distinguish a slow
// program from a noisy system without privileges or hardware counters; the actual clock of a core,
// which virtual machines do not report; and its issue rate, which shows a busy sibling hardware
// thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace dlroof::cpu {

// All [s]; only differences of two readings have a meaning.
struct ClockReading {
  double wall = 0;                  // steady clock
  double thread_cpu = 0;            // CPU time of the calling thread
  double process_cpu = 0;           // CPU time of all threads of this process
  std::optional<double> run_delay;  // of all threads of this process, if /proc has schedstat
};

// Takes some 10 us (a file per thread), so call it outside timed regions.
ClockReading ReadClocks();
ClockReading operator-(const ClockReading& end, const ClockReading& begin);
ClockReading operator+(ClockReading one, const ClockReading& other);

// Calls `ready`, then `call`, and returns the time of `call`. Reads wall and CPU clocks right
// around `call` (which includes some 0.5 us of CPU time for reading them), and the files outside of
// both.
ClockReading SpentBy(const std::function<void()>& ready, const std::function<void()>& call);

double WallSeconds();
// [s] Run delay of the calling thread, if /proc has schedstat.
std::optional<double> ThreadRunDelay();

// [s] The second field of a schedstat line, in which the kernel counts nanoseconds. Returns nullopt
// for a text of another form.
std::optional<double> ParseRunDelay(std::string_view schedstat);

// Result of a busy loop that only reads the clock. Gaps are times in which the loop did not run.
struct FreezeReport {
  double seconds = 0;               // [s] of the loop
  std::vector<double> gaps;         // [s] each gap of at least 1 ms, in order
  std::optional<double> run_delay;  // [s] that the thread waited for a CPU of this system; the host
                                    // or interrupts caused the other gaps
};
FreezeReport WatchFreezes(double seconds);

// [1/s] The calling thread's core clock at the moment, measured in about 0.1 ms: the best of a few
// short chains of integer multiplications, each with a latency of 3 cycles (Intel's cores since
// 2008, AMD's since 2017; Fog, Instruction tables). A busy sibling hardware thread does not slow
// such a chain. Returns nullopt on CPUs other than x86.
std::optional<double> MeasureCoreClock();

// [1/cycle] Independent integer additions that the calling thread starts per cycle at the moment,
// measured over some 50 us. This is the core's issue width (4 on Intel's and AMD's cores of 2013 to
// 2023, then 5 or 6), or about half of it if a sibling hardware thread is busy. Cycles come from a
// chain of multiplications as in MeasureCoreClock; the result is the median of five pairs. Returns
// nullopt on CPUs other than x86.
std::optional<double> MeasureIssueRate();

inline constexpr int kAdditionsPerRound = 72;

// x86: executes `rounds` * kAdditionsPerRound additions in eight independent chains, so that up to
// eight additions can start per cycle. Both operands are registers, as some cores eliminate
// additions of a constant.
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
