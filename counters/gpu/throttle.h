// Throttling of a GPU, by its clock and by NVML's bits. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dlroof::gpu {

// Returns the fault of the GPU's cooling or supply, as "a slowdown by heat". Empty: none.
std::string GpuSlowdown(std::uint64_t throttle);

// The SMs ran below 75 % of their default clock (NVBench's rule), and not because of the GPU's own
// power limit: that is what it can do. Not known is not guilty.
bool IsClockTooLow(std::optional<double> clock_hz, std::optional<double> default_clock_hz,
                   std::uint64_t throttle);

// `earlier` and the bit of the power limit where `later` has it. The driver is asked at one moment
// of calls that all ran at that limit, and the answer may come a moment too early.
std::uint64_t KeepPowerLimit(std::uint64_t earlier, std::uint64_t later);

}  // namespace dlroof::gpu
