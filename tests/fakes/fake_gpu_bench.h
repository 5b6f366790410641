// A GPU of known rates for the measurement of ceilings, and what can be wrong with one.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "ceilings/gpu_ceilings/bench.h"

namespace dlroof::fakes {

// Four SMs of compute capability 9.0 at 1 GHz. Every arithmetic row runs at `share` of what
// rows.cpp says (0.97; mma 0.6; cublasLt 0.9), L1 at 120 of 128 byte per cycle and SM; L2 and
// DRAM have rates of their own, chosen by where the set fits.
class FakeGpuBench : public gpu_ceilings::GpuBench {
 public:
  gpu::GpuIdentity identity = {.name = "NVIDIA Fake 100",
                               .major = 9,
                               .minor = 0,
                               .sms = 4,
                               .memory_bytes = 16e9,
                               .l2_bytes = 8 << 20,
                               .shared_bytes_per_sm = 233472,
                               .memory_bus_bits = 256,
                               .ecc = true};
  double free_bytes = 12e9;
  double clock_hz = 1e9, default_clock_hz = 1e9;
  double memory_clock_hz = 1.6e9;           // pins: 256 / 8 * 2 * 1.6e9 = 102.4 GB/s
  double dram_bytes_per_second = 98.304e9;  // 96 % of the pins
  double l2_bytes_per_second = 250e9;
  double launch_seconds = 2.5e-6;  // of an empty kernel
  bool gemms = true;               // false: cublasLt has none, which saves a test's time

  // Faults, each by the row's key.
  std::map<std::string, double> speed;  // a factor on the rate
  std::map<std::string, std::string> unsupported, broken;
  std::string wrong_result;                     // this row leaves wrong bytes
  std::string dead_loop;                        // this row takes no time
  std::string idle_sms;                         // this row runs on half of the SMs
  std::function<double(int run)> clock_factor;  // factor on the clock, from the number of the run
  std::function<double(double seconds)> heat;   // factor on the rate, from the time so far [s]
  std::function<std::uint64_t(int run)> throttle;         // NVML's throttle reasons (bits)
  std::function<double(std::int64_t times)> launch_time;  // instead of times * launch_seconds

  double Now() const { return now_; }

  gpu_ceilings::GpuDescription Describe() override {
    return {identity, free_bytes, default_clock_hz};
  }
  void Prepare(const gpu_ceilings::GpuRow& row, const gpu_ceilings::GpuShape& shape) override;
  gpu_ceilings::GpuTime Run(std::int64_t iterations) override;
  gpu_ceilings::GpuBytes Result(const gpu_ceilings::GpuRow& row,
                                const gpu_ceilings::GpuShape& shape,
                                const gpu_ceilings::GpuBytes& operands,
                                std::int64_t iterations) override;
  double Overhead(gpu_ceilings::GpuOverhead kind, std::int64_t times) override;

 private:
  double PerSecond() const;
  void RefuseWhatCannotRun(const gpu_ceilings::GpuRow& row) const;

  gpu_ceilings::GpuRow row_;
  gpu_ceilings::GpuShape shape_;
  double now_ = 0;
  int runs_ = 0;
};

inline gpu_ceilings::GpuRow RowOf(int capability, const std::string& key) {
  for (const auto& row : gpu_ceilings::GpuRows(capability))
    if (row.key == key) return row;
  ADD_FAILURE() << key;
  return {};
}

// Returns results without a difference. A GEMM's has only the compared elements.
inline gpu_ceilings::GpuBytes ExpectedGpuResults(const gpu_ceilings::GpuRow& row,
                                                 const gpu_ceilings::GpuShape& shape,
                                                 std::int64_t iterations) {
  const auto expected = gpu_ceilings::ExpectedResults(row, shape, iterations);
  const auto bytes = static_cast<std::size_t>(gpu_ceilings::GpuResultBytes(row, shape));
  gpu_ceilings::GpuBytes results;
  while (results.size() < bytes)  // a block's results repeat
    results.insert(results.end(), expected.begin(), expected.end());
  return results;
}

}  // namespace dlroof::fakes
