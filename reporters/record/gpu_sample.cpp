#include "reporters/record/gpu_sample.h"

#include <cstdint>

#include "counters/base/order_statistics.h"
#include "counters/gpu/throttle.h"

namespace dlroof {
namespace {

// Absent where a file's number is none that NVML gives.
std::optional<std::uint64_t> ThrottleBits(const GpuSample& sample) {
  constexpr double kExactWholeNumbers = 9007199254740992;  // 2^53
  if (!sample.throttle || !(*sample.throttle >= 0 && *sample.throttle < kExactWholeNumbers))
    return std::nullopt;
  return static_cast<std::uint64_t>(*sample.throttle);
}

}  // namespace

const std::vector<GpuSampleField>& GpuSampleFields() {
  static const std::vector<GpuSampleField> fields = {
      {"throughput_seconds", &GpuSample::throughput_seconds},
      {"graph_seconds", &GpuSample::graph_seconds},
      {"host_seconds", &GpuSample::host_seconds},
      {"clock_hz", &GpuSample::clock_hz},
      {"default_clock_hz", &GpuSample::default_clock_hz},
      {"memory_clock_hz", &GpuSample::memory_clock_hz},
      {"power_watts", &GpuSample::power_watts},
      {"temperature_celsius", &GpuSample::temperature_celsius},
      {"throttle", &GpuSample::throttle}};
  return fields;
}

bool IsThrottled(const GpuSample& sample) {
  return IsClockTooLow(sample.clock_hz, sample.default_clock_hz, ThrottleBits(sample).value_or(0));
}

GpuSample SummarizeSamples(const std::vector<GpuSample>& samples) {
  GpuSample summary;
  for (const auto& [key, member] : GpuSampleFields()) {
    std::vector<double> values;
    for (const auto& sample : samples)
      if (const auto& value = sample.*member) values.push_back(*value);
    if (!values.empty()) summary.*member = Median(values);
  }
  std::optional<std::uint64_t> bits;
  for (const auto& sample : samples)
    if (const auto more = ThrottleBits(sample)) bits = bits.value_or(0) | *more;
  summary.throttle.reset();
  if (bits) summary.throttle = static_cast<double>(*bits);
  summary.default_clock_hz.reset();
  summary.host_seconds.reset();
  return summary;
}

}  // namespace dlroof
