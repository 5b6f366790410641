// Readings of a repetition on a GPU besides the time of its calls.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof {

// Each absent where it is not known. A repetition's `seconds` is the time of a call that is started
// on an idle GPU, its launch included; the two other times of a call are never mixed with it.
struct GpuSample {
  std::optional<double> throughput_seconds;   // [s] per call, calls back to back
  std::optional<double> graph_seconds;        // [s] per call, replayed as a CUDA graph
  std::optional<double> host_seconds;         // [s] wall time per call of the loop that timed them
  std::optional<double> clock_hz;             // [1/s] of the SMs while calls ran
  std::optional<double> default_clock_hz;     // [1/s] of the SMs by the driver's table
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<double> throttle;             // NVML's bits, a whole number; 0: none

  bool operator==(const GpuSample&) const = default;
};

// A sample or none, in the room of a pointer: of 10^6 repetitions read at once few have one. A
// value like std::optional: a copy has a sample of its own.
class OptionalGpuSample {
 public:
  OptionalGpuSample() = default;
  OptionalGpuSample(const GpuSample& sample) : sample_(std::make_unique<GpuSample>(sample)) {}
  OptionalGpuSample(const std::optional<GpuSample>& sample)
      : sample_(sample ? std::make_unique<GpuSample>(*sample) : nullptr) {}
  OptionalGpuSample(const OptionalGpuSample& other)
      : sample_(other ? std::make_unique<GpuSample>(*other) : nullptr) {}
  OptionalGpuSample(OptionalGpuSample&&) noexcept = default;
  OptionalGpuSample& operator=(OptionalGpuSample other) noexcept {
    sample_ = std::move(other.sample_);
    return *this;
  }
  ~OptionalGpuSample() = default;

  explicit operator bool() const { return sample_ != nullptr; }
  const GpuSample& operator*() const { return *sample_; }
  const GpuSample* operator->() const { return sample_.get(); }
  GpuSample* operator->() { return sample_.get(); }
  GpuSample& emplace() { return *(sample_ = std::make_unique<GpuSample>()); }

 private:
  std::unique_ptr<GpuSample> sample_;
};

// Every quantity by its key in files and counters, and in stored histories by its place here: a new
// one comes last.
using GpuSampleField = std::pair<const char*, std::optional<double> GpuSample::*>;
const std::vector<GpuSampleField>& GpuSampleFields();

// IsClockTooLow of gpu_throttle.h.
bool IsThrottled(const GpuSample& sample);

// Summary of several repetitions: each quantity's median over those that know it; of
// `throttle` every bit that one of them had, of `default_clock_hz` and `host_seconds` nothing.
GpuSample SummarizeSamples(const std::vector<GpuSample>& samples);

}  // namespace dlroof
