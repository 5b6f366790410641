// Wall time, CPU time, and the time that our threads waited for a CPU: together they tell a slow
// program from a disturbed one, without privileges or hardware counters.
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

}  // namespace dlroof::cpu
