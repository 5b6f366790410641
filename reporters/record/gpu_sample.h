// Readings of a repetition on a GPU besides the time of its calls.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace dlroof::record {

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

// Every quantity by its key in files and counters, and in stored histories by its place here: a new
// one comes last.
using GpuSampleField = std::pair<const char*, std::optional<double> GpuSample::*>;
const std::vector<GpuSampleField>& GpuSampleFields();

// IsClockTooLow of throttle.h.
bool IsThrottled(const GpuSample& sample);

// Summary of several repetitions: each quantity's median over those that know it; of
// `throttle` every bit that one of them had, of `default_clock_hz` and `host_seconds` nothing.
GpuSample SummarizeSamples(const std::vector<GpuSample>& samples);

}  // namespace dlroof::record
