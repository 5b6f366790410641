#include "counters/gpu/throttle.h"

namespace dlroof {
namespace {

constexpr double kLeastClock = 0.75;  // of the default

struct Slowdown {
  std::uint64_t bit;
  const char* text;
};
// nvml.h, nvmlClocksEventReason*: those that are faults of cooling or supply.
constexpr Slowdown kSlowdowns[] = {{0x8, "a hardware slowdown"},
                                   {0x20, "a slowdown by heat"},
                                   {0x40, "a hardware slowdown by heat"},
                                   {0x80, "a slowdown by the power supply"}};
constexpr std::uint64_t kPowerLimit = 0x4;  // nvmlClocksEventReasonSwPowerCap

}  // namespace

std::string GpuSlowdown(std::uint64_t throttle) {
  for (const auto& slowdown : kSlowdowns)
    if ((throttle & slowdown.bit) != 0) return slowdown.text;
  return {};
}

bool IsClockTooLow(std::optional<double> clock_hz, std::optional<double> default_clock_hz,
                   std::uint64_t throttle) {
  if (!clock_hz || !default_clock_hz || *clock_hz >= kLeastClock * *default_clock_hz) return false;
  return (throttle & kPowerLimit) == 0 || !GpuSlowdown(throttle).empty();
}

std::uint64_t KeepPowerLimit(std::uint64_t earlier, std::uint64_t later) {
  return earlier | (later & kPowerLimit);
}

}  // namespace dlroof
