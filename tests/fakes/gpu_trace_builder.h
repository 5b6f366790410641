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
              std::uint32_t stream = 7) {
    trace.launches.push_back({Us(begin, length), kernel, 0, 0, {0, 1, stream}, 0});
  }
  // Copies 1 MB to the device.
  void Copy(std::int64_t begin, std::int64_t length) {
    trace.copies.push_back(
        {Us(begin, length), gpu_trace::CopyKind::kToDevice, true, 1e6, 0, {0, 1, 8}});
  }
  static gpu_trace::Interval Us(std::int64_t begin, std::int64_t length) {
    return {1000 * begin + 1'000'000, 1000 * (begin + length) + 1'000'000};
  }
};

}  // namespace dlroof::fakes
