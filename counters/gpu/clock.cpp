#include "counters/gpu/clock.h"

namespace dlroof::gpu {
namespace {

constexpr double kMinClock = 0.75;  // [1] min share of the default clock

// Bits for faults of the cooling or the power supply: nvmlClocksEventReason* in nvml.h.
constexpr std::pair<std::uint64_t, const char*> kSlowdowns[] = {
    {0x8, "a hardware slowdown"},
    {0x20, "a thermal slowdown"},
    {0x40, "a hardware thermal slowdown"},
    {0x80, "a slowdown by the power supply"}};
constexpr std::uint64_t kPowerLimit = 0x4;  // nvmlClocksEventReasonSwPowerCap

}  // namespace

std::optional<std::string> GpuSlowdown(std::uint64_t throttle) {
  for (const auto& [bit, text] : kSlowdowns)
    if ((throttle & bit) != 0) return text;
  return std::nullopt;
}

bool IsClockTooLow(std::optional<double> clock_hz, std::optional<double> default_clock_hz,
                   std::uint64_t throttle) {
  if (!clock_hz || !default_clock_hz || *clock_hz >= kMinClock * *default_clock_hz) return false;
  return (throttle & kPowerLimit) == 0 || GpuSlowdown(throttle);
}

std::uint64_t KeepPowerLimit(std::uint64_t earlier, std::uint64_t later) {
  return earlier | (later & kPowerLimit);
}

std::optional<double> MeanClockHz(const std::vector<SmStamp>& stamps) {
  // The GPU's timer may advance in steps of 1 us: shorter times would have errors above 1%.
  constexpr unsigned long long kMinNanoseconds = 200'000;
  const std::size_t sms = stamps.size() / 2;
  double sum = 0;
  int known = 0;
  for (std::size_t sm = 0; sm < sms; ++sm) {
    const auto& before = stamps[sm];
    const auto& after = stamps[sms + sm];
    if (before.nanoseconds == 0 || after.nanoseconds < before.nanoseconds + kMinNanoseconds ||
        after.cycles <= before.cycles)
      continue;
    sum += 1e9 * static_cast<double>(after.cycles - before.cycles) /
           static_cast<double>(after.nanoseconds - before.nanoseconds);
    ++known;
  }
  if (known == 0) return std::nullopt;
  return sum / known;
}

}  // namespace dlroof::gpu
