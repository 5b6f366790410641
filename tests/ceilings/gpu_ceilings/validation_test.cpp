#include "ceilings/gpu_ceilings/bench.h"

#include <gmock/gmock.h>

#include <set>

#include "ceilings/gpu_ceilings/rows.h"
#include "tests/fakes/expected_gpu_results.h"
#include "tests/fakes/reason.h"

namespace dlroof::gpu_ceilings {
namespace {

using testing::Contains, testing::HasSubstr, testing::IsEmpty, testing::Not;

GpuTime TimeAt(double clock_hz, std::uint64_t throttle = 0) {
  GpuTime time{.seconds = 1e-3, .clock_hz = clock_hz};
  time.health.throttle = throttle;
  return time;
}

std::string Noise(const GpuTime& time, std::optional<double> default_hz = 2e9) {
  return fakes::TextOf(GpuInterference(time, default_hz));
}

TEST(GpuInterference, IsAClockBelow75PercentOfTheDefaultHeatAndPowerSupplyButNotThePowerLimit) {
  EXPECT_EQ(Noise(TimeAt(1.51e9)), "");
  EXPECT_THAT(Noise(TimeAt(1.49e9)), HasSubstr("1490 MHz, below 75 % of their default 2000 MHz"));
  EXPECT_EQ(Noise(TimeAt(1.49e9), std::nullopt), "");
  GpuTime uncounted = TimeAt(0);  // by the SMs: the driver's word counts
  uncounted.clock_hz.reset();
  EXPECT_EQ(Noise(uncounted), "");
  uncounted.health.sm_clock_hz = 1e9;
  EXPECT_THAT(Noise(uncounted), HasSubstr("1000 MHz"));
  EXPECT_EQ(Noise(TimeAt(1e9, 0x4)), "") << "a power limit, however low it makes the clock";
  EXPECT_THAT(Noise(TimeAt(1e9, 0x24)), HasSubstr("thermal"));
  EXPECT_EQ(Noise(TimeAt(2e9, 0x4)), "") << "software power cap";
  EXPECT_EQ(Noise(TimeAt(2e9, 0x1)), "") << "idle";
  EXPECT_THAT(Noise(TimeAt(2e9, 0x20)), HasSubstr("thermal"));
  EXPECT_THAT(Noise(TimeAt(2e9, 0x84)), HasSubstr("power supply"));
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
  // Products of one capability may differ: 86. mma on Hopper and cublasLt need not reach it, but
  // must not exceed it.
  const std::tuple<int, const char*, double, std::optional<double>> cases[] = {
      {90, "fp32.vector.ffma", 250, 256},    {90, "fp32.vector.ffma", 240, {}},
      {90, "fp32.vector.ffma", 262, {}},     {90, "bf16.matrix.wgmma", 3700, 4096},
      {90, "bf16.matrix.wgmma", 3600, {}},   {86, "bf16.matrix.mma", 500, 512},
      {86, "bf16.matrix.mma", 1000, 1024},   {86, "bf16.matrix.mma", 700, {}},
      {90, "bf16.matrix.mma", 2500, 4096},   {90, "bf16.matrix.cublaslt", 3000, 4096},
      {90, "bf16.matrix.cublaslt", 4300, {}}};
  for (const auto& [capability, key, per_cycle, met] : cases)
    EXPECT_EQ(Met(capability, key, per_cycle), met) << capability << key << per_cycle;
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

TEST(ChooseGpuRoofs, AValidatedRowIsTheRoofUnlessAnotherIsFarAbove) {
  std::map<std::string, machine::Ceiling> flops = {{"bf16.matrix.cublaslt", CeilingOf(100e12)},
                                                   {"bf16.matrix.mma", CeilingOf(60e12)},
                                                   {"bf16.matrix.wgmma", CeilingOf(102e12)}};
  flops["bf16.matrix.wgmma"].status = machine::CeilingStatus::kNotValidated;
  ChooseGpuRoofs(flops);
  EXPECT_THAT(flops.at("bf16.matrix").how,
              testing::StartsWith("bf16.matrix.cublaslt, the best of 3 rows"));
  EXPECT_TRUE(flops.at("bf16.matrix").IsValidated());
  std::map<std::string, machine::Ceiling> far = {{"bf16.matrix.mma", CeilingOf(60e12)},
                                                 {"bf16.matrix.wgmma", CeilingOf(102e12)}};
  far["bf16.matrix.wgmma"].status = machine::CeilingStatus::kNotValidated;
  ChooseGpuRoofs(far);
  EXPECT_FALSE(far.at("bf16.matrix").IsValidated());
  EXPECT_EQ(far.at("bf16.matrix").per_second, 102e12);
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

TEST(MergeGpuPasses, SaysWhatNoisyRepetitionsAndAPowerLimitHolds) {
  const auto merged = MergeGpuPasses({MeasuredAtHalfTheClock(0)}, Small(), 0.05, true);
  EXPECT_FALSE(merged.rate.IsValidated());
  EXPECT_THAT(fakes::TextOf(merged.rate.reason), HasSubstr("the SMs ran at 1000 MHz, below 75 %"));
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
  auto pass = PassAtClocks({1.3e9, 1.2e9, 1.1e9, 1.0e9});
  EXPECT_FALSE(pass.rate.IsValidated());  // twice the work took 2.6 times the time
  EXPECT_FALSE(MergeGpuPasses({pass}, Small(), 0.05, false).rate.IsValidated());
  const auto merged = MergeGpuPasses({pass}, Small(), 0.05, true);
  EXPECT_TRUE(merged.rate.IsValidated()) << fakes::TextOf(merged.rate.reason);
  EXPECT_TRUE(merged.clock_moved);
  EXPECT_NEAR(*merged.rate.doubling, 2, 1e-9);
  EXPECT_NEAR(merged.rate.per_second, 1.3e6, 1);  // the best in seconds
  pass.rate.evidence.doubled.front().time.seconds *= 1.2;
  EXPECT_FALSE(MergeGpuPasses({pass}, Small(), 0.05, true).rate.IsValidated());
  const auto still = MergeGpuPasses({PassAtClocks({1e9, 1e9, 1e9, 1e9})}, Small(), 0.05, true);
  EXPECT_TRUE(still.rate.IsValidated());
  EXPECT_FALSE(still.clock_moved);
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
  EXPECT_EQ(FindGpuPeak(130, "fp32.vector"), nullptr);
}

std::vector<std::string> Keys(int capability) {
  std::vector<std::string> keys;
  for (const auto& row : GpuRows(capability)) keys.push_back(row.key);
  return keys;
}

// 64 KiB on 7.5, 228 on 9.0; of each block 1 KiB is the system's. wgmma and the shared-memory row
// have up to 40 KiB of their own.
TEST(ExclusiveSharedBytes, LetsOneBlockFitAndNoSecond) {
  for (const int kib : {64, 100, 164, 228})
    for (const auto* key :
         {"fp32.vector.ffma", "fp16.matrix.mma", "l1.load.ca16", "l1.shared.v16"}) {
      const int bytes = ExclusiveSharedBytes(fakes::RowOf(80, key), kib << 10);
      EXPECT_GT(2 * (bytes + 1024), kib << 10) << key;
      EXPECT_LE(bytes + (16 << 10), (kib - 1) << 10) << key;
    }
  EXPECT_LE(ExclusiveSharedBytes(fakes::RowOf(90, "bf16.matrix.wgmma"), 228 << 10) + (40 << 10),
            227 << 10);
  EXPECT_EQ(ExclusiveSharedBytes(fakes::RowOf(90, "dram.load.v16"), 228 << 10), 0);
  EXPECT_EQ(ExclusiveSharedBytes(fakes::RowOf(90, "bf16.matrix.cublaslt"), 228 << 10), 0);
}

TEST(GpuRows, AGpuHasTheInstructionsOfItsCapabilityAndKeysAreUniqueAndWhatFilesAllow) {
  const std::tuple<int, const char*, bool> rows[] = {
      {75, "bf16.vector.hfma2", false},  {75, "fp16.matrix.mma", true},
      {80, "fp64.matrix.mma", true},     {80, "bf16.matrix.wgmma", false},
      {86, "fp64.matrix.mma", false},    {89, "fp8.matrix.mma", true},
      {90, "fp8.matrix.wgmma", true},    {90, "fp8.matrix.mma", false},
      {100, "bf16.matrix.wgmma", false}, {100, "bf16.matrix.cublaslt", true},
      {120, "fp8.matrix.mma", true}};
  for (const auto& [capability, key, has] : rows)
    EXPECT_EQ(std::ranges::count(Keys(capability), key), has ? 1 : 0) << capability << ' ' << key;
  for (const int capability : {75, 80, 86, 87, 89, 90, 100, 120}) {
    const auto keys = Keys(capability);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size()) << capability;
    for (const auto& row : GpuRows(capability)) {
      if (IsMemory(row))
        EXPECT_TRUE(LevelFromKey(row.key.substr(0, row.key.find('.')))) << row.key;
      else
        EXPECT_TRUE(IsPipeKey(row.key)) << row.key;
    }
  }
}

TEST(GpuRows, WorkIsWhatTheInstructionsDo) {
  // 132 blocks x 1024 threads x 8 chains x 64 multiply-adds x 2
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "fp32.vector.ffma"), {132, 1024, 0, 0}),
            132.0 * 1024 * 8 * 64 * 2);
  // two lanes; four products of a dot product
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "fp16.vector.hfma2"), {1, 32, 0, 0}),
            32.0 * 8 * 64 * 4);
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "int8.vector.dp4a"), {1, 32, 0, 0}),
            32.0 * 8 * 64 * 8);
  // 4 warps x 8 chains x 4 x 2 * 16 * 8 * 16
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "bf16.matrix.mma"), {1, 128, 0, 0}),
            4.0 * 8 * 4 * 4096);
  // 2 warpgroups x 16 x 2 * 64 * 256 * 16
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "bf16.matrix.wgmma"), {1, 256, 0, 0}),
            2.0 * 16 * 524288);
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "bf16.matrix.cublaslt"), {0, 0, 1024, 0}),
            2147483648.0);
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "dram.copy.v16"), {1, 256, 0, 3000}), 3000);
  // each of 2 blocks reads its 16 KiB eight times
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "l1.load.ca16"), {2, 1024, 0, 32768}), 8.0 * 32768);
}

constexpr GpuSize kH200 = {132, 50LL << 20, 140LL << 30};

TEST(GpuShapes, SetsInDramAreLargeThoseInL2StayBelowHalfOfItAndAGemmTakesAboutTenMilliseconds) {
  const auto row = fakes::RowOf(90, "dram.triad.v16");
  for (const auto& shape : GpuShapes(row, kH200, std::nullopt)) {
    EXPECT_GE(shape.set_bytes, 2LL << 30);
    EXPECT_GE(shape.set_bytes, 63LL * kH200.l2_bytes);
    EXPECT_EQ(shape.set_bytes % (2 * 3 * 16), 0);
  }
  // A card with little memory: half of what is free.
  for (const auto& shape : GpuShapes(row, {20, 4LL << 20, 3LL << 30}, std::nullopt))
    EXPECT_LE(shape.set_bytes, 3LL << 29);
  for (const auto& shape : GpuShapes(fakes::RowOf(90, "l2.load.cg16"), kH200, std::nullopt)) {
    EXPECT_LE(shape.set_bytes, kH200.l2_bytes / 2);
    EXPECT_GE(shape.set_bytes, kH200.l2_bytes / 16);
    EXPECT_EQ(shape.set_bytes % 16, 0);
  }
  const auto gemm = fakes::RowOf(90, "bf16.matrix.cublaslt");
  // 989 Tflop/s: n^3 * 2 = 9.89e12 -> n = 17040, at most 8192
  EXPECT_EQ(GpuShapes(gemm, kH200, 989e12).front().n, 8192);
  // 0.5 Tflop/s: n = 1357 -> 1024
  EXPECT_EQ(GpuShapes(gemm, kH200, 0.5e12).front().n, 1024);
  EXPECT_EQ(GpuShapes(gemm, kH200, std::nullopt).front().n, 4096);
}

TEST(GpuShapes, HalfOfTheBlocksIsHalfOfTheSms) {
  const auto half = HalfShape({132, 1024, 0, 132 * 16384});
  EXPECT_EQ(half.blocks, 66);
  EXPECT_EQ(half.set_bytes, 66 * 16384);
  EXPECT_TRUE(ScalesWithSms(fakes::RowOf(90, "l1.shared.v16")));
  EXPECT_FALSE(ScalesWithSms(fakes::RowOf(90, "dram.load.v16")));
  EXPECT_FALSE(ScalesWithSms(fakes::RowOf(90, "bf16.matrix.cublaslt")));
  for (const auto& row : GpuRows(90)) {
    if (!ScalesWithSms(row)) continue;
    for (const auto& shape : GpuShapes(row, kH200, std::nullopt))
      EXPECT_EQ(shape.blocks, 132) << row.key;
  }
}

TEST(GpuShapes, WhatIsCheckedEndsNeitherWithTheGridNorWithTheUnrolledLoop) {
  for (const auto* key : {"dram.load.v16", "dram.copy.v16", "dram.triad.v16", "l2.store.v16"}) {
    const auto row = fakes::RowOf(90, key);
    const auto arrays = row.unit == GpuUnit::kTriad ? 3 : row.unit == GpuUnit::kCopy ? 2 : 1;
    for (const auto& shape : CheckShapes(row, GpuShapes(row, kH200, std::nullopt).front())) {
      ASSERT_EQ(shape.set_bytes % (arrays * 16), 0) << key;
      EXPECT_NE(shape.set_bytes / arrays / 16 % (shape.blocks * shape.threads), 0) << key;
      EXPECT_NE(shape.set_bytes % UnrolledBytes(row, shape), 0) << key;
    }
  }
}

TEST(GpuShapes, TheUnrolledLoopOfEveryMemoryRowIsCheckedAndTimedAndASmallL2HasSetsToo) {
  int rows = 0;
  for (const auto& row : GpuRows(90)) {
    if (!IsMemory(row) || row.level == Level::kL1) continue;
    ++rows;
    for (const auto& shape : GpuShapes(row, kH200, std::nullopt)) {
      const auto checked = CheckShapes(row, shape);
      EXPECT_GT(checked.back().set_bytes, 3 * UnrolledBytes(row, checked.back())) << row.key;
      EXPECT_EQ(checked.front().blocks, shape.blocks) << row.key;
      const auto unrolled = shape.set_bytes / UnrolledBytes(row, shape);
      if (row.level == Level::kL2)
        EXPECT_EQ(shape.set_bytes % UnrolledBytes(row, shape), 0) << row.key;
      else
        EXPECT_GE(unrolled, 7) << row.key;  // the rest is below an iteration
    }
  }
  EXPECT_EQ(rows, 6);
  // A T4: 40 SMs and 4 MiB of L2.
  for (const auto* key : {"l2.load.cg16", "l2.store.v16"}) {
    const auto shapes = GpuShapes(fakes::RowOf(75, key), {40, 4LL << 20, 14LL << 30}, std::nullopt);
    EXPECT_GE(shapes.size(), 3) << key;
    for (const auto& shape : shapes) EXPECT_LE(shape.set_bytes, 2LL << 20);
  }
}

}  // namespace
}  // namespace dlroof::gpu_ceilings
