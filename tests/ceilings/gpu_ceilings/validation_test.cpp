#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ceilings/gpu_ceilings/bench.h"
#include "tests/fakes/expected_gpu_results.h"
#include "tests/fakes/reason.h"

namespace dlroof::gpu_ceilings {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

GpuTime TimeAt(double clock_hz, std::uint64_t throttle = 0) {
  GpuTime time{.seconds = 1e-3, .clock_hz = clock_hz};
  time.health.throttle = throttle;
  return time;
}

TEST(GpuInterference, IsAClockBelow75PercentOfTheDefault) {
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(1.51e9), 2e9)), IsEmpty());
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(1.49e9), 2e9)),
              HasSubstr("1490 MHz, below 75 % of their default 2000 MHz"));
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(1.49e9), std::nullopt)), IsEmpty());
}

TEST(GpuInterference, IsTheDriversWordWhereTheSmsDidNotCount) {
  GpuTime time = TimeAt(0);
  time.clock_hz.reset();
  EXPECT_THAT(fakes::TextOf(GpuInterference(time, 2e9)), IsEmpty());
  time.health.sm_clock_hz = 1e9;
  EXPECT_THAT(fakes::TextOf(GpuInterference(time, 2e9)), HasSubstr("1000 MHz"));
}

TEST(GpuInterference, IsHeatAndPowerSupplyButNotThePowerLimit) {
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(1e9, 0x4), 2e9)),
              IsEmpty());  // however low it makes the clock
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(1e9, 0x24), 2e9)), HasSubstr("thermal"));
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(2e9, 0x4), 2e9)),
              IsEmpty());  // software power cap
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(2e9, 0x1), 2e9)), IsEmpty());  // idle
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(2e9, 0x20), 2e9)), HasSubstr("thermal"));
  EXPECT_THAT(fakes::TextOf(GpuInterference(TimeAt(2e9, 0x84), 2e9)), HasSubstr("power supply"));
}

machine::Ceiling CeilingOf(double per_second, double per_cycle = 1) {
  machine::Ceiling ceiling{
      .per_second = per_second, .clock_hz = 1e9, .status = machine::CeilingStatus::kValidated};
  ceiling.validation.per_cycle = per_cycle;
  ceiling.validation.result = "right";
  return ceiling;
}

// Returns the value that it is compared with, if it is validated.
std::optional<double> Met(int capability, const std::string& key, double per_cycle) {
  auto ceiling = CeilingOf(1e12, per_cycle);
  JudgeGpuPerCycle(fakes::RowOf(capability, key), capability, ceiling);
  if (!ceiling.IsValidated()) return std::nullopt;
  return ceiling.validation.per_cycle_expected;
}

TEST(JudgeGpuPerCycle, HoldsARowAgainstTheValuesOfItsArchitecture) {
  EXPECT_EQ(Met(90, "fp32.vector.ffma", 250), 256);
  EXPECT_EQ(Met(90, "fp32.vector.ffma", 240), std::nullopt);
  EXPECT_EQ(Met(90, "fp32.vector.ffma", 262), std::nullopt);
  EXPECT_EQ(Met(90, "bf16.matrix.wgmma", 3700), 4096);
  EXPECT_EQ(Met(90, "bf16.matrix.wgmma", 3600), std::nullopt);
  // Products of one capability may differ.
  EXPECT_EQ(Met(86, "bf16.matrix.mma", 500), 512);
  EXPECT_EQ(Met(86, "bf16.matrix.mma", 1000), 1024);
  EXPECT_EQ(Met(86, "bf16.matrix.mma", 700), std::nullopt);
  // mma on Hopper and cublasLt need not reach it, but must not exceed it.
  EXPECT_EQ(Met(90, "bf16.matrix.mma", 2500), 4096);
  EXPECT_EQ(Met(90, "bf16.matrix.cublaslt", 3000), 4096);
  EXPECT_EQ(Met(90, "bf16.matrix.cublaslt", 4300), std::nullopt);
}

TEST(JudgeGpuPerCycle, WithoutAClockOrAValueNothingIsJudged) {
  auto ceiling = CeilingOf(1e12);
  ceiling.validation.per_cycle.reset();
  JudgeGpuPerCycle(fakes::RowOf(90, "fp32.vector.ffma"), 90, ceiling);
  EXPECT_TRUE(ceiling.IsValidated());
  EXPECT_TRUE(Met(100, "fp16.vector.hfma2", 12345) == std::nullopt);  // validated, no value
  auto unknown = CeilingOf(1e12, 12345);
  JudgeGpuPerCycle(fakes::RowOf(100, "fp16.vector.hfma2"), 100, unknown);
  EXPECT_TRUE(unknown.IsValidated());
}

TEST(JudgeGpuScaling, ComparesInCyclesBecauseHalfAGpuClocksHigher) {
  auto ceiling = CeilingOf(1e12);
  ceiling.clock_hz = 1.5e9;
  JudgeGpuScaling({0.6e12, 1.8e9, 0.5}, ceiling);  // 0.6 / 1.8 = 1 / 1.5 / 2
  EXPECT_TRUE(ceiling.IsValidated());
  EXPECT_NEAR(*ceiling.validation.scaling, 1, 1e-12);
  JudgeGpuScaling({0.6e12, std::nullopt, 0.5}, ceiling);
  EXPECT_FALSE(ceiling.IsValidated());
}

TEST(PinBandwidth, GivesTheVendorsFigures) {
  EXPECT_NEAR(*PinBandwidth(5120, 1.215e9), 1555e9, 1e9);  // A100 40 GB
  EXPECT_NEAR(*PinBandwidth(384, 9.751e9), 936e9, 1e9);    // RTX 3090
  EXPECT_NEAR(*PinBandwidth(256, 5.001e9), 320e9, 1e9);    // T4
  EXPECT_FALSE(PinBandwidth(0, 1e9));
  EXPECT_FALSE(PinBandwidth(384, std::nullopt));
}

TEST(ChooseGpuRoofs, AValidatedRowCloseToAnNotValidatedOneIsTheRoof) {
  std::map<std::string, machine::Ceiling> flops = {{"bf16.matrix.cublaslt", CeilingOf(100e12)},
                                                   {"bf16.matrix.mma", CeilingOf(60e12)},
                                                   {"bf16.matrix.wgmma", CeilingOf(102e12)}};
  flops["bf16.matrix.wgmma"].status = machine::CeilingStatus::kNotValidated;
  ChooseGpuRoofs(flops);
  EXPECT_THAT(flops.at("bf16.matrix").how,
              testing::StartsWith("bf16.matrix.cublaslt, the best of 3 rows"));
  EXPECT_TRUE(flops.at("bf16.matrix").IsValidated());
}

TEST(ChooseGpuRoofs, AnNotValidatedRowFarAboveAllOthersLeavesTheRoofNotValidated) {
  std::map<std::string, machine::Ceiling> flops = {{"bf16.matrix.mma", CeilingOf(60e12)},
                                                   {"bf16.matrix.wgmma", CeilingOf(102e12)}};
  flops["bf16.matrix.wgmma"].status = machine::CeilingStatus::kNotValidated;
  ChooseGpuRoofs(flops);
  EXPECT_FALSE(flops.at("bf16.matrix").IsValidated());
  EXPECT_EQ(flops.at("bf16.matrix").per_second, 102e12);
}

// Three repetitions and one of twice the work are enough here.
machine::RatePolicy Small() {
  return machine::RatePolicy{.repetitions = 3, .doubled = 1, .max_seconds = 1};
}

// A measurement at 1 of 2 GHz. The driver reports `throttle` of the first repetition alone.
GpuPass MeasuredAtHalfTheClock(std::uint64_t throttle) {
  double now = 0;
  int runs = 0;
  auto policy = Small();
  policy.now = [&] { return now; };
  return MeasureGpuRate(
      [&](std::int64_t iterations) {
        auto time = TimeAt(1e9, runs++ == 0 ? throttle : 0);
        time.seconds = 1e-6 * static_cast<double>(iterations);
        now += time.seconds;
        return time;
      },
      policy, 2e9);
}

TEST(MergeGpuPasses, SaysWhatNoisyRepetitionsAndNeverSpeaksOfOtherPrograms) {
  const auto merged = MergeGpuPasses({MeasuredAtHalfTheClock(0)}, Small(), 0.05, true);
  EXPECT_FALSE(merged.rate.IsValidated());
  EXPECT_THAT(fakes::TextOf(merged.rate.reason), HasSubstr("the SMs ran at 1000 MHz, below 75 %"));
}

TEST(MeasureGpuRate, APowerLimitThatTheDriverSpokeOfOnceHolds) {
  const auto pass = MeasuredAtHalfTheClock(0x4);
  EXPECT_TRUE(pass.rate.IsValidated()) << fakes::TextOf(pass.rate.reason);
  EXPECT_FALSE(pass.interference);
}

// Three repetitions of 1000 iterations and one of 2000, 1000 cycles each, at these clocks.
GpuPass PassAtClocks(std::vector<double> clocks) {
  GpuPass pass;
  const auto repetition = [](std::int64_t iterations, double clock_hz) {
    return machine::RateRepetition{
        iterations, {1e3 * static_cast<double>(iterations) / clock_hz, 0.0, clock_hz}};
  };
  pass.rate.evidence.doubled.push_back(repetition(2000, clocks.back()));
  clocks.pop_back();
  for (const double clock : clocks) pass.rate.evidence.single.push_back(repetition(1000, clock));
  pass.rate = machine::JudgeRate(pass.rate.evidence, Small());
  return pass;
}

TEST(MergeGpuPasses, JudgesInCyclesOnlyWhatRunsByTheSmClock) {
  const auto pass = PassAtClocks({1.3e9, 1.2e9, 1.1e9, 1.0e9});
  EXPECT_FALSE(pass.rate.IsValidated());  // twice the work took 2.6 times the time
  EXPECT_FALSE(MergeGpuPasses({pass}, Small(), 0.05, false).rate.IsValidated());
  const auto merged = MergeGpuPasses({pass}, Small(), 0.05, true);
  EXPECT_TRUE(merged.rate.IsValidated()) << fakes::TextOf(merged.rate.reason);
  EXPECT_TRUE(merged.clock_moved);
  EXPECT_NEAR(*merged.rate.doubling, 2, 1e-9);
  EXPECT_NEAR(merged.rate.per_second, 1.3e6, 1);  // the best in seconds
}

TEST(MergeGpuPasses, WhatDisagreesInCyclesTooIsNotValidated) {
  auto pass = PassAtClocks({1.3e9, 1.2e9, 1.1e9, 1.0e9});
  pass.rate.evidence.doubled.front().time.seconds *= 1.2;
  EXPECT_FALSE(MergeGpuPasses({pass}, Small(), 0.05, true).rate.IsValidated());
}

TEST(MergeGpuPasses, AClockThatStandsStillIsNotSaidToMove) {
  const auto merged = MergeGpuPasses({PassAtClocks({1e9, 1e9, 1e9, 1e9})}, Small(), 0.05, true);
  EXPECT_TRUE(merged.rate.IsValidated());
  EXPECT_FALSE(merged.clock_moved);
}

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
    for (const auto& row : gpu_ceilings::GpuRows(capability)) {
      if (gpu_ceilings::IsMemory(row)) continue;
      const auto* peak = FindGpuPeak(capability, row.key.substr(0, row.key.rfind('.')));
      ASSERT_NE(peak, nullptr) << capability << ' ' << row.key;
      EXPECT_FALSE(std::string(peak->source).empty());
    }
}

TEST(GpuPeaks, AnUnknownGpuHasNone) { EXPECT_EQ(FindGpuPeak(130, "fp32.vector"), nullptr); }

}  // namespace
}  // namespace dlroof::gpu_ceilings
