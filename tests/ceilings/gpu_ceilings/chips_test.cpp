#include "ceilings/gpu_ceilings/validation.h"

#include <gtest/gtest.h>

#include "ceilings/gpu_kernels/rows.h"

namespace dlroof::gpu_ceilings {
namespace {

// Published figures of whole products, in another unit than the table's: [Tflop/s] at the boost
// clock. Consumer cards run 16-bit products with fp32 sums at the lower of their two rates.
TEST(GpuPeaks, GiveTheVendorsFigures) {
  constexpr bool kHighest = true, kLowest = false;
  struct Figure {
    int capability;
    const char* pipe;
    double sms, clock_hz, teraflops, within;
    bool highest;
  };
  const Figure figures[] = {{80, "fp64.vector", 108, 1.41e9, 9.7, 0.1, kHighest},  // A100
                            {80, "fp32.vector", 108, 1.41e9, 19.5, 0.1, kHighest},
                            {80, "fp16.vector", 108, 1.41e9, 78, 0.5, kHighest},
                            {80, "bf16.vector", 108, 1.41e9, 39, 0.5, kHighest},
                            {80, "fp64.matrix", 108, 1.41e9, 19.5, 0.1, kHighest},
                            {80, "tf32.matrix", 108, 1.41e9, 156, 1, kHighest},
                            {80, "bf16.matrix", 108, 1.41e9, 312, 1, kHighest},
                            {80, "int8.matrix", 108, 1.41e9, 624, 1, kHighest},
                            {90, "fp64.vector", 132, 1.98e9, 33.5, 0.1, kHighest},  // H100
                            {90, "fp32.vector", 132, 1.98e9, 66.9, 0.1, kHighest},
                            {90, "fp64.matrix", 132, 1.98e9, 66.9, 0.1, kHighest},
                            {90, "tf32.matrix", 132, 1.83e9, 494.7, 1, kHighest},
                            {90, "bf16.matrix", 132, 1.83e9, 989.4, 1, kHighest},
                            {90, "fp8.matrix", 132, 1.83e9, 1978.9, 1, kHighest},
                            {75, "fp16.matrix", 40, 1.59e9, 65, 0.5, kHighest},  // T4
                            {75, "int8.matrix", 40, 1.59e9, 130, 1, kHighest},
                            {86, "fp32.vector", 82, 1.695e9, 35.6, 0.1, kHighest},  // RTX 3090
                            {86, "int8.matrix", 82, 1.695e9, 284, 1, kHighest},
                            {86, "bf16.matrix", 82, 1.695e9, 71, 0.5, kLowest},
                            {89, "fp8.matrix", 128, 2.52e9, 330.3, 0.5, kLowest}};  // RTX 4090
  for (const auto& each : figures) {
    const auto* peak = FindGpuPeak(each.capability, each.pipe);
    ASSERT_NE(peak, nullptr) << each.capability << each.pipe;
    const double per_cycle = each.highest ? peak->per_cycle.back() : peak->per_cycle.front();
    EXPECT_NEAR(per_cycle * each.sms * each.clock_hz / 1e12, each.teraflops, each.within)
        << each.capability << each.pipe;
  }
}

TEST(GpuPeaks, EveryArithmeticRowOfAKnownGpuHasOneWithASource) {
  for (const int capability : {75, 80, 86, 89, 90, 120})
    for (const auto& row : gpu_kernels::GpuRows(capability)) {
      if (gpu_kernels::IsMemory(row)) continue;
      const auto* peak = FindGpuPeak(capability, row.key.substr(0, row.key.rfind('.')));
      ASSERT_NE(peak, nullptr) << capability << ' ' << row.key;
      EXPECT_FALSE(std::string(peak->source).empty());
    }
}

TEST(GpuPeaks, AnUnknownGpuHasNone) { EXPECT_EQ(FindGpuPeak(130, "fp32.vector"), nullptr); }

}  // namespace
}  // namespace dlroof::gpu_ceilings
