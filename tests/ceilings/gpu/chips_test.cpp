#include "ceilings/gpu/chips.h"

#include <gtest/gtest.h>

#include "ceilings/gpu_known/rows.h"

namespace dlroof {
namespace {

// [Tflop/s] of a whole chip by the table, at its boost clock, of the highest value.
double TeraflopsOf(int capability, const std::string& pipe, double sms, double clock_hz) {
  const auto* peak = FindGpuPeak(capability, pipe);
  return peak == nullptr ? 0 : peak->per_cycle.back() * sms * clock_hz / 1e12;
}

// Published figures of whole products, in another unit than the table's.
TEST(GpuPeaks, GiveTheVendorsFiguresOfA100) {
  EXPECT_NEAR(TeraflopsOf(80, "fp64.vector", 108, 1.41e9), 9.7, 0.1);
  EXPECT_NEAR(TeraflopsOf(80, "fp32.vector", 108, 1.41e9), 19.5, 0.1);
  EXPECT_NEAR(TeraflopsOf(80, "fp16.vector", 108, 1.41e9), 78, 0.5);
  EXPECT_NEAR(TeraflopsOf(80, "bf16.vector", 108, 1.41e9), 39, 0.5);
  EXPECT_NEAR(TeraflopsOf(80, "fp64.matrix", 108, 1.41e9), 19.5, 0.1);
  EXPECT_NEAR(TeraflopsOf(80, "tf32.matrix", 108, 1.41e9), 156, 1);
  EXPECT_NEAR(TeraflopsOf(80, "bf16.matrix", 108, 1.41e9), 312, 1);
  EXPECT_NEAR(TeraflopsOf(80, "int8.matrix", 108, 1.41e9), 624, 1);
}

TEST(GpuPeaks, GiveTheVendorsFiguresOfH100) {
  EXPECT_NEAR(TeraflopsOf(90, "fp64.vector", 132, 1.98e9), 33.5, 0.1);
  EXPECT_NEAR(TeraflopsOf(90, "fp32.vector", 132, 1.98e9), 66.9, 0.1);
  EXPECT_NEAR(TeraflopsOf(90, "fp64.matrix", 132, 1.98e9), 66.9, 0.1);
  EXPECT_NEAR(TeraflopsOf(90, "tf32.matrix", 132, 1.83e9), 494.7, 1);
  EXPECT_NEAR(TeraflopsOf(90, "bf16.matrix", 132, 1.83e9), 989.4, 1);
  EXPECT_NEAR(TeraflopsOf(90, "fp8.matrix", 132, 1.83e9), 1978.9, 1);
}

TEST(GpuPeaks, GiveTheVendorsFiguresOfT4AndConsumerCards) {
  EXPECT_NEAR(TeraflopsOf(75, "fp16.matrix", 40, 1.59e9), 65, 0.5);  // T4
  EXPECT_NEAR(TeraflopsOf(75, "int8.matrix", 40, 1.59e9), 130, 1);
  EXPECT_NEAR(TeraflopsOf(86, "fp32.vector", 82, 1.695e9), 35.6, 0.1);  // RTX 3090
  EXPECT_NEAR(TeraflopsOf(86, "int8.matrix", 82, 1.695e9), 284, 1);
  EXPECT_NEAR(FindGpuPeak(86, "bf16.matrix")->per_cycle.front() * 82 * 1.695e9, 71e12, 0.5e12);
  EXPECT_NEAR(FindGpuPeak(89, "fp8.matrix")->per_cycle.front() * 128 * 2.52e9, 330.3e12, 0.5e12);
}

TEST(GpuPeaks, EveryArithmeticRowOfAKnownGpuHasOneWithASource) {
  for (const int capability : {75, 80, 86, 89, 90, 120})
    for (const auto& row : GpuRows(capability)) {
      if (IsMemory(row)) continue;
      const auto* peak = FindGpuPeak(capability, row.key.substr(0, row.key.rfind('.')));
      ASSERT_NE(peak, nullptr) << capability << ' ' << row.key;
      EXPECT_FALSE(std::string(peak->source).empty());
    }
}

TEST(GpuPeaks, AnUnknownGpuHasNone) { EXPECT_EQ(FindGpuPeak(130, "fp32.vector"), nullptr); }

}  // namespace
}  // namespace dlroof
