#include "counters/cpu/clocks.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "counters/base/files.h"

namespace dlroof::cpu {
namespace {

double CpuSeconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::optional<double> RunDelayIn(const std::filesystem::path& schedstat) {
  return ParseRunDelay(ReadFileIfAny(schedstat));
}

std::optional<double> ProcessRunDelay() {
  std::error_code error;
  std::optional<double> total;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error))
    if (const auto delay = RunDelayIn(task.path() / "schedstat"))
      total = total.value_or(0) + *delay;
  return total;
}

}  // namespace

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<double> ThreadRunDelay() { return RunDelayIn("/proc/thread-self/schedstat"); }

ClockReading ReadClocks() {
  return {WallSeconds(), CpuSeconds(CLOCK_THREAD_CPUTIME_ID), CpuSeconds(CLOCK_PROCESS_CPUTIME_ID),
          ProcessRunDelay()};
}

ClockReading ReadThreadClocks() {
  return {WallSeconds(), CpuSeconds(CLOCK_THREAD_CPUTIME_ID), 0, ThreadRunDelay()};
}

ClockReading operator-(const ClockReading& end, const ClockReading& begin) {
  ClockReading difference{end.wall - begin.wall, end.thread_cpu - begin.thread_cpu,
                          end.process_cpu - begin.process_cpu, std::nullopt};
  // The sum over threads may decrease if a thread has ended between the two readings.
  if (end.run_delay && begin.run_delay)
    difference.run_delay = std::max(0.0, *end.run_delay - *begin.run_delay);
  return difference;
}

ClockReading operator+(ClockReading one, const ClockReading& other) {
  one.wall += other.wall;
  one.thread_cpu += other.thread_cpu;
  one.process_cpu += other.process_cpu;
  if (other.run_delay) one.run_delay = one.run_delay.value_or(0) + *other.run_delay;
  return one;
}

ClockReading SpentBy(const std::function<void()>& ready, const std::function<void()>& call) {
  ClockReading begin, end;
  begin.run_delay = ProcessRunDelay();
  ready();
  begin.process_cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  begin.thread_cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  begin.wall = WallSeconds();
  call();
  end.wall = WallSeconds();
  end.thread_cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  end.process_cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
  end.run_delay = ProcessRunDelay();
  return end - begin;
}

std::optional<double> ParseRunDelay(std::string_view schedstat) {
  const auto space = schedstat.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const char* last = schedstat.data() + schedstat.size();
  unsigned long long nanoseconds = 0;
  const auto [end, error] = std::from_chars(schedstat.data() + space + 1, last, nanoseconds);
  if (error != std::errc() || end == last || *end != ' ') return std::nullopt;
  return static_cast<double>(nanoseconds) * 1e-9;
}

FreezeReport WatchFreezes(double seconds) {
  constexpr double kGapSeconds = 1e-3;
  FreezeReport report;
  const auto delay_before = ThreadRunDelay();
  const double begin = WallSeconds();
  double previous = begin;
  while (previous - begin < seconds) {
    const double now = WallSeconds();
    if (now - previous >= kGapSeconds) report.gaps.push_back(now - previous);
    previous = now;
  }
  report.seconds = previous - begin;
  if (const auto delay_after = ThreadRunDelay(); delay_after && delay_before)
    report.run_delay = *delay_after - *delay_before;
  return report;
}

}  // namespace dlroof::cpu
