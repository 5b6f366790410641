#include "reporters/gpu_sample.h"

#include <cstdint>

#include "counters/order_statistics.h"

namespace dlroof {

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
  constexpr double kLeastShare = 0.75;
  return sample.clock_hz && sample.default_clock_hz &&
         *sample.clock_hz < kLeastShare * *sample.default_clock_hz;
}

GpuSample SummarizeSamples(const std::vector<GpuSample>& samples) {
  constexpr double kExactWholeNumbers = 9007199254740992;  // 2^53
  GpuSample summary;
  for (const auto& [key, member] : GpuSampleFields()) {
    std::vector<double> values;
    for (const auto& sample : samples)
      if (const auto& value = sample.*member) values.push_back(*value);
    if (!values.empty()) summary.*member = Median(values);
  }
  std::optional<std::uint64_t> bits;
  for (const auto& sample : samples)
    if (sample.throttle && *sample.throttle >= 0 && *sample.throttle < kExactWholeNumbers)
      bits = bits.value_or(0) | static_cast<std::uint64_t>(*sample.throttle);
  summary.throttle.reset();
  if (bits) summary.throttle = static_cast<double>(*bits);
  summary.default_clock_hz.reset();
  summary.host_seconds.reset();
  return summary;
}

}  // namespace dlroof
