// Traces of a GPU that a test builds launch by launch, in microseconds.
#pragma once

#include <cstdint>
#include <string>

#include "counters/gpu_trace/read.h"

namespace dlroof::fakes {

struct GpuTraceBuilder {
  gpu_trace::Trace trace;

  // Returns the kernel's index. Blocks have 128 threads.
  std::uint32_t Kernel(const std::string& name, std::uint32_t blocks) {
    trace.texts.push_back(name);
    trace.kernels.push_back(
        {static_cast<std::uint32_t>(trace.texts.size() - 1), {blocks, 1, 1}, {128, 1, 1}});
    return static_cast<std::uint32_t>(trace.kernels.size() - 1);
  }
  void Launch(std::uint32_t kernel, std::int64_t begin, std::int64_t length,
              std::uint32_t stream = 7, std::uint32_t correlation = 0) {
    trace.launches.push_back({Us(begin, length), kernel, 0, {0, 1, stream}, correlation});
  }
  // A launch that the thread calls for at `called`.
  void Call(std::uint32_t kernel, std::int64_t called, std::int64_t begin, std::int64_t length,
            std::uint32_t thread = 1) {
    const auto number = static_cast<std::uint32_t>(trace.calls.size() + 1);
    trace.calls.push_back({number, thread, Us(called, 0).begin_ns});
    Launch(kernel, begin, length, 7, number);
  }
  void Range(const std::string& name, std::int64_t begin, std::int64_t length,
             std::uint32_t thread = 1) {
    trace.texts.push_back(name);
    trace.ranges.push_back(
        {Us(begin, length), static_cast<std::uint32_t>(trace.texts.size() - 1), thread, 0});
  }
  // Copies 1 MB to the device.
  void Copy(std::int64_t begin, std::int64_t length) {
    trace.copies.push_back(
        {Us(begin, length), gpu_trace::CopyKind::kToDevice, true, 1e6, {0, 1, 8}});
  }
  static gpu_trace::Interval Us(std::int64_t begin, std::int64_t length) {
    return {1000 * begin + 1'000'000, 1000 * (begin + length) + 1'000'000};
  }
};

}  // namespace dlroof::fakes
