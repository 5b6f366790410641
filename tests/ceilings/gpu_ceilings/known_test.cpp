#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "ceilings/gpu_ceilings/bench.h"
#include "ceilings/gpu_ceilings/rows.h"
#include "counters/base/keys.h"
#include "tests/fakes/fake_gpu_bench.h"
#include "tests/fakes/refusal.h"

namespace dlroof::gpu_ceilings {
namespace {

using fakes::ExpectedGpuResults, fakes::RowOf, fakes::TextOf;
using testing::HasSubstr, testing::IsEmpty;

// Results that kernels must leave, held against the instructions as their manuals describe them:
// operands are read from the bytes that the device gets, by formulas written anew.

GpuBytes Known(const GpuRow& row, const GpuShape& shape) {
  return GpuOperands(row, shape, GpuOperandKind::kKnown);
}

template <class T>
T At(const GpuBytes& bytes, std::size_t index) {
  return Load<T>(bytes.data() + index * sizeof(T));
}

TEST(ChainResults, AreRoundedMultiplyAddsOfEachThreadAndDotProductsWrapAround) {
  const auto row = RowOf(90, "fp32.vector.ffma");
  const GpuShape shape{2, 64, 0, 0};
  const auto operands = Known(row, shape);
  const auto results = ExpectedGpuResults(row, shape, 2);
  for (const int block : {0, 1})
    for (int chain = 0; chain < 8; ++chain)
      for (int thread = 0; thread < 64; ++thread) {
        float v = At<float>(operands, (2 + chain) * 64 + thread);
        for (int step = 0; step < 2 * 64; ++step)
          v = std::fma(v, v, At<float>(operands, 64 + thread));
        ASSERT_EQ(At<float>(results, (block * 8 + chain) * 64 + thread), v);
      }
  const auto dp4a = RowOf(90, "int8.vector.dp4a");
  const GpuShape of_dp4a{1, 32, 0, 0};
  const auto integers = Known(dp4a, of_dp4a);
  const auto wrapped = ExpectedGpuResults(dp4a, of_dp4a, 3);
  for (int thread = 0; thread < 32; ++thread) {
    std::int64_t dot = 0;
    for (int i = 0; i < 4; ++i)
      dot += At<std::int8_t>(integers, thread * 4 + i) *
             At<std::int8_t>(integers, (32 + thread) * 4 + i);
    const std::int64_t sum = At<std::int32_t>(integers, (2 + 5) * 32 + thread) + 3 * 64 * dot;
    EXPECT_EQ(At<std::uint32_t>(wrapped, 5 * 32 + thread), static_cast<std::uint32_t>(sum));
  }
}

TEST(ChainResults, AStepMoreOrLessStillShowsAndOperandsKeepSwitching) {
  // A chain at rest is timed on the same bits over and over: a fixed point of v * v + b that
  // the type can hold catches a few chains of bf16, no more than 1 in 10.
  for (const auto* key : {"fp64.vector.dfma", "fp32.vector.ffma", "fp16.vector.hfma2",
                          "bf16.vector.hfma2", "int8.vector.dp4a"}) {
    const auto row = RowOf(90, key);
    const GpuShape shape{1, 32, 0, 0};
    EXPECT_NE(ExpectedGpuResults(row, shape, 3), ExpectedGpuResults(row, shape, 2)) << key;
    EXPECT_NE(ExpectedGpuResults(row, shape, 1), Known(row, shape)) << key;
    if (row.element == GpuElement::kInt8) continue;
    const auto operands = Known(row, shape), results = ExpectedGpuResults(row, shape, 50);
    const int bytes = ElementBytes(row.element);
    const std::size_t per_slot = 32 * (bytes == 8 ? 1 : 4 / bytes), all = 8 * per_slot;
    std::size_t resting = 0;
    for (std::size_t i = 0; i < all; ++i) {
      const auto* b = operands.data() + (per_slot + i % per_slot) * bytes;
      const double v = ReadElement(row.element, results.data() + i * bytes);
      GpuBytes next(bytes);
      WriteElement(row.element, v * v + ReadElement(row.element, b), next.data());
      if (ReadElement(row.element, next.data()) == v) ++resting;
      EXPECT_LT(std::abs(v), 1.97) << key;
    }
    EXPECT_LE(resting, all / 10) << key;
  }
}

// One warp's mma: fragments as PTX ISA lists them for the type, by element i of each register
// array.
struct Layout {
  int m, k;
  std::function<int(int lane, int i)> row_a, col_a, row_b;
};

const std::function<int(int, int)> kGroup = [](int lane, int) { return lane >> 2; };

void CheckMma(int capability, const std::string& key, const Layout& layout) {
  const auto row = RowOf(capability, key);
  ASSERT_EQ(row.instruction.m, layout.m);
  ASSERT_EQ(row.instruction.k, layout.k);
  const GpuShape shape{1, 64, 0, 0};
  const auto operands = Known(row, shape);
  const int bytes = ElementBytes(row.element), width = row.element == GpuElement::kFp64 ? 8 : 4;
  const int per = width / bytes;
  const int a_elements = layout.m * layout.k / 32, b_elements = 8 * layout.k / 32;
  const int chains = row.instruction.chains, sums = layout.m * 8 / 32;
  const auto element = [&](int reg, int thread, int e) {
    return ReadElement(row.element, operands.data() + (reg * 64 + thread) * width + e * bytes);
  };
  const std::size_t start = operands.size() - static_cast<std::size_t>(chains) * sums * 64 *
                                                  ElementBytes(SumElement(row.element));
  const auto results = ExpectedGpuResults(row, shape, 3);
  for (int warp = 0; warp < 2; ++warp) {
    std::vector<double> a(layout.m * layout.k, -99), b(layout.k * 8, -99);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < a_elements; ++i)
        a[layout.row_a(lane, i) * layout.k + layout.col_a(lane, i)] =
            element(i / per, warp * 32 + lane, i % per);
    const int chain = chains - 1;
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < b_elements; ++i)
        b[layout.row_b(lane, i) * 8 + (lane >> 2)] =
            element((a_elements + chain * b_elements + i) / per, warp * 32 + lane, i % per);
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < sums; ++i) {
        const int r = (lane >> 2) + (i >= 2 ? 8 : 0), c = (lane & 3) * 2 + (i & 1);
        double product = 0;
        for (int k = 0; k < layout.k; ++k) product += a[r * layout.k + k] * b[k * 8 + c];
        const auto at = ((chain * sums + i) * 64 + warp * 32 + lane) *
                        static_cast<std::size_t>(ElementBytes(SumElement(row.element)));
        ASSERT_EQ(
            ReadElement(SumElement(row.element), results.data() + at),
            ReadElement(SumElement(row.element), operands.data() + start + at) + 3 * 4 * product)
            << key << " lane " << lane << " sum " << i;
      }
  }
}

TEST(MmaResults, AreProductsOfFragmentsAsPtxListsThemAlsoForTf32Fp64AndTuring) {
  const Layout layout = {
      16, 16, [](int lane, int i) { return (lane >> 2) + ((i & 2) != 0 ? 8 : 0); },
      [](int lane, int i) { return (lane & 3) * 2 + (i & 1) + (i >= 4 ? 8 : 0); },
      [](int lane, int i) { return (lane & 3) * 2 + (i & 1) + (i >= 2 ? 8 : 0); }};
  CheckMma(90, "bf16.matrix.mma", layout);
  CheckMma(80, "fp16.matrix.mma", layout);
  const Layout of_bytes = {
      16, 32, [](int lane, int i) { return (lane >> 2) + (i < 4 || (i >= 8 && i < 12) ? 0 : 8); },
      [](int lane, int i) { return (lane & 3) * 4 + (i & 3) + (i >= 8 ? 16 : 0); },
      [](int lane, int i) { return (lane & 3) * 4 + (i & 3) + (i >= 4 ? 16 : 0); }};
  CheckMma(90, "int8.matrix.mma", of_bytes);
  CheckMma(89, "fp8.matrix.mma", of_bytes);
  CheckMma(90, "tf32.matrix.mma",
           {16, 8, [](int lane, int i) { return (lane >> 2) + (i % 2 == 1 ? 8 : 0); },
            [](int lane, int i) { return (lane & 3) + (i >= 2 ? 4 : 0); },
            [](int lane, int i) { return (lane & 3) + 4 * i; }});
  CheckMma(80, "fp64.matrix.mma",
           {8, 4, kGroup, [](int lane, int) { return lane & 3; },
            [](int lane, int) { return lane & 3; }});
  CheckMma(90, "fp64.matrix.mma",
           {16, 16, [](int lane, int i) { return (lane >> 2) + (i % 2 == 1 ? 8 : 0); },
            [](int lane, int i) { return i / 2 * 4 + (lane & 3); },
            [](int lane, int i) { return i * 4 + (lane & 3); }});
  CheckMma(75, "fp16.matrix.mma",
           {16, 8, [](int lane, int i) { return (lane >> 2) + (i >= 2 ? 8 : 0); },
            [](int lane, int i) { return (lane & 3) * 2 + (i & 1); },
            [](int lane, int i) { return (lane & 3) * 2 + i; }});
  CheckMma(75, "int8.matrix.mma",
           {8, 16, kGroup, [](int lane, int i) { return (lane & 3) * 4 + i; },
            [](int lane, int i) { return (lane & 3) * 4 + i; }});
}

// Core matrices of 8 rows x 16 byte: 128 byte apart along k, 256 byte to the next 8 rows.
double InCore(const GpuRow& row, const std::byte* tile, int line, int k) {
  const int byte = k * ElementBytes(row.element);
  return ReadElement(row.element,
                     tile + line / 8 * 256 + byte / 16 * 128 + line % 8 * 16 + byte % 16);
}

TEST(WgmmaResults, AreTheSumOverTilesInTheLayoutOfAccumulators) {
  for (const auto* key :
       {"bf16.matrix.wgmma", "tf32.matrix.wgmma", "int8.matrix.wgmma", "fp8.matrix.wgmma"}) {
    const auto row = RowOf(90, key);
    const GpuShape shape{2, 256, 0, 0};
    const auto operands = Known(row, shape);
    ASSERT_EQ(operands.size(), 4U * 320 * 32);
    const auto results = ExpectedGpuResults(row, shape, 3);
    for (const int thread : {0, 37, 127, 128 + 66}) {
      for (const int reg : {0, 1, 2, 7, 126}) {
        const int lane = thread % 32, warp = thread % 128 / 32;
        const int i = warp * 16 + lane / 4 + (reg % 4 >= 2 ? 8 : 0),
                  j = reg / 4 * 8 + lane % 4 * 2 + reg % 2;
        double sum = 0;
        for (int tile = 0; tile < 4; ++tile)
          for (int k = 0; k < row.instruction.k; ++k)
            sum += InCore(row, operands.data() + tile * 10240, i, k) *
                   InCore(row, operands.data() + tile * 10240 + 2048, j, k);
        // 3 iterations of 16 products: 12 of each tile; block 1 as block 0
        EXPECT_EQ(
            ReadElement(SumElement(row.element), results.data() + ((128 + reg) * 256 + thread) * 4),
            12 * sum)
            << key;
      }
    }
  }
}

TEST(GemmResults, AreTheProductsOfRows) {
  const auto row = RowOf(90, "fp64.matrix.cublaslt");
  const GpuShape shape{0, 0, 48, 0};
  const auto operands = Known(row, shape);
  const auto results = ExpectedGpuResults(row, shape, 1);
  double sum = 0;
  for (int k = 0; k < 48; ++k)
    sum += At<double>(operands, 47 * 48 + k) * At<double>(operands, 48 * 48 + k);
  EXPECT_EQ(At<double>(results, 47), sum);  // last row, first column, stored by columns
  EXPECT_NE(sum, 0);
}

TEST(MemoryResults, SumEveryWordOncePerPassAndCopyTriadAndStoreLeaveTheirArrays) {
  const auto row = RowOf(90, "dram.load.v16");
  const GpuShape shape{2, 32, 0, 4096};
  const auto operands = Known(row, shape);
  std::uint32_t sum = 0;
  for (int i = 0; i < 1024; ++i) sum += At<std::uint32_t>(operands, i);
  GpuBytes results(2 * 32 * 4);
  Store(3 * sum - 5, results.data() + 12);  // spread over threads in any way
  Store(std::uint32_t{5}, results.data() + 40);
  EXPECT_THAT(TextOf(GpuDifference(row, shape, 3, results)), IsEmpty());
  EXPECT_THAT(TextOf(GpuDifference(row, shape, 2, results)), HasSubstr("some byte was not read"));
  const GpuShape of_arrays{1, 32, 0, 96};
  const auto copy = RowOf(90, "dram.copy.v16");
  EXPECT_EQ(ExpectedGpuResults(copy, of_arrays, 1), Known(copy, of_arrays));
  const auto triad = RowOf(90, "dram.triad.v16");
  const auto arrays = Known(triad, of_arrays);
  EXPECT_EQ(At<float>(ExpectedGpuResults(triad, of_arrays, 1), 7),
            At<float>(arrays, 7) + 0.5F * At<float>(arrays, 8 + 7));
  const auto store = RowOf(90, "l2.store.v16");
  EXPECT_EQ(At<std::uint32_t>(ExpectedGpuResults(store, of_arrays, 2), 23), 2 * 0x9e3779b9U);
}

// A shape so small that every byte can be changed.
GpuShape Small(const GpuRow& row) {
  if (row.unit == GpuUnit::kGemm) return {0, 0, 16, 0};
  if (row.unit == GpuUnit::kWgmma) return {1, 128, 0, 0};
  return {2, 32, 0, IsMemory(row) && row.level == Level::kL1 ? 2 * 16384 : 960};
}

TEST(GpuDifference, FindsOneWrongByteInEveryRowABlockThatDidNothingAndResultsOfAnotherSize) {
  for (const int capability : {75, 80, 89, 90})
    for (const auto& row : GpuRows(capability)) {
      const auto shape = Small(row);
      auto results = ExpectedGpuResults(row, shape, 2);
      ASSERT_EQ(static_cast<std::int64_t>(Known(row, shape).size()), GpuOperandBytes(row, shape))
          << row.key;
      ASSERT_THAT(TextOf(GpuDifference(row, shape, 2, results)), IsEmpty()) << row.key;
      // 256 elements of a GEMM are compared, the last among them.
      results.back() ^= std::byte{4};
      EXPECT_TRUE(GpuDifference(row, shape, 2, results)) << row.key;
    }
  const auto row = RowOf(90, "fp32.vector.ffma");
  const GpuShape shape{3, 32, 0, 0};
  auto results = ExpectedGpuResults(row, shape, 1);
  std::memset(results.data() + results.size() / 3, 0, results.size() / 3);
  EXPECT_THAT(TextOf(GpuDifference(row, shape, 1, results)),
              HasSubstr("differs from a plain loop"));
  EXPECT_THROW(GpuDifference(row, {1, 32, 0, 0}, 1, GpuBytes(5)), std::invalid_argument);
}

TEST(GpuOperands, OfTimedRowsAreRandomNotZeroAndKnownSumsAreExactInFp32) {
  for (const auto& row : GpuRows(90)) {
    if (IsMemory(row)) continue;
    const auto operands = GpuOperands(row, Small(row), GpuOperandKind::kRandom);
    const auto zeros = std::ranges::count(operands, std::byte{0});
    EXPECT_LT(zeros, static_cast<std::ptrdiff_t>(operands.size()) / 4) << row.key;
  }
  // 8192 products of at most 2 x 2: below 2^24 in every order of additions.
  for (std::uint64_t i = 0; i < 10000; ++i)
    ASSERT_LE(std::abs(OperandValue(GpuElement::kFp8, GpuOperandKind::kKnown, i)), 2);
}

GpuTime TimeAt(double clock_hz, std::uint64_t throttle = 0) {
  GpuTime time{.seconds = 1e-3, .clock_hz = clock_hz};
  time.health.throttle = throttle;
  return time;
}

std::string Noise(const GpuTime& time, std::optional<double> default_hz = 2e9) {
  return TextOf(GpuInterference(time, default_hz));
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
  JudgeGpuPerCycle(RowOf(capability, key), capability, ceiling);
  if (!ceiling.IsValidated()) return std::nullopt;
  return ceiling.validation.per_cycle_expected;
}

TEST(JudgeGpuPerCycle, HoldsARowAgainstTheValuesOfItsArchitectureIfThereAreAny) {
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
  auto ceiling = CeilingOf(1e12);
  ceiling.validation.per_cycle.reset();
  JudgeGpuPerCycle(RowOf(90, "fp32.vector.ffma"), 90, ceiling);
  EXPECT_TRUE(ceiling.IsValidated());
  auto unknown = CeilingOf(1e12, 12345);
  JudgeGpuPerCycle(RowOf(100, "fp16.vector.hfma2"), 100, unknown);
  EXPECT_TRUE(unknown.IsValidated());
  EXPECT_FALSE(unknown.validation.per_cycle_expected);
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

// Three repetitions and one of twice the work are enough here.
machine::RatePolicy ThreeRepetitions() {
  return machine::RatePolicy{.repetitions = 3, .doubled = 1, .max_seconds = 1};
}

// A measurement at 1 of 2 GHz. The driver reports `throttle` of the first repetition alone.
GpuPass MeasuredAtHalfTheClock(std::uint64_t throttle) {
  double now = 0;
  int runs = 0;
  auto policy = ThreeRepetitions();
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
  const auto merged = MergeGpuPasses({MeasuredAtHalfTheClock(0)}, ThreeRepetitions(), 0.05, true);
  EXPECT_FALSE(merged.rate.IsValidated());
  EXPECT_THAT(TextOf(merged.rate.reason), HasSubstr("the SMs ran at 1000 MHz, below 75 %"));
  const auto pass = MeasuredAtHalfTheClock(0x4);
  EXPECT_TRUE(pass.rate.IsValidated()) << TextOf(pass.rate.reason);
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
  pass.rate = machine::JudgeRate(pass.rate.evidence, ThreeRepetitions());
  return pass;
}

TEST(MergeGpuPasses, JudgesInCyclesOnlyWhatRunsByTheSmClock) {
  auto pass = PassAtClocks({1.3e9, 1.2e9, 1.1e9, 1.0e9});
  EXPECT_FALSE(pass.rate.IsValidated());  // twice the work took 2.6 times the time
  EXPECT_FALSE(MergeGpuPasses({pass}, ThreeRepetitions(), 0.05, false).rate.IsValidated());
  const auto merged = MergeGpuPasses({pass}, ThreeRepetitions(), 0.05, true);
  EXPECT_TRUE(merged.rate.IsValidated()) << TextOf(merged.rate.reason);
  EXPECT_TRUE(merged.clock_moved);
  EXPECT_NEAR(*merged.rate.doubling, 2, 1e-9);
  EXPECT_NEAR(merged.rate.per_second, 1.3e6, 1);  // the best in seconds
  pass.rate.evidence.doubled.front().time.seconds *= 1.2;
  EXPECT_FALSE(MergeGpuPasses({pass}, ThreeRepetitions(), 0.05, true).rate.IsValidated());
  const auto still =
      MergeGpuPasses({PassAtClocks({1e9, 1e9, 1e9, 1e9})}, ThreeRepetitions(), 0.05, true);
  EXPECT_TRUE(still.rate.IsValidated());
  EXPECT_FALSE(still.clock_moved);
}

// Published figures of whole products, in another unit than the table's: [Tflop/s] at the boost
// clock. Consumer cards run 16-bit products with fp32 sums at the lower of their two rates.
TEST(GpuPeaks, GiveTheVendorsFiguresAndEveryArithmeticRowHasOneWithASource) {
  struct Figure {
    int capability;
    const char* pipe;
    double sms, clock_hz, teraflops, within;
    bool highest = true;
  };
  const Figure figures[] = {{80, "fp64.vector", 108, 1.41e9, 9.7, 0.1},  // A100
                            {80, "fp32.vector", 108, 1.41e9, 19.5, 0.1},
                            {80, "fp16.vector", 108, 1.41e9, 78, 0.5},
                            {80, "bf16.vector", 108, 1.41e9, 39, 0.5},
                            {80, "fp64.matrix", 108, 1.41e9, 19.5, 0.1},
                            {80, "tf32.matrix", 108, 1.41e9, 156, 1},
                            {80, "bf16.matrix", 108, 1.41e9, 312, 1},
                            {80, "int8.matrix", 108, 1.41e9, 624, 1},
                            {90, "fp64.vector", 132, 1.98e9, 33.5, 0.1},  // H100
                            {90, "fp32.vector", 132, 1.98e9, 66.9, 0.1},
                            {90, "fp64.matrix", 132, 1.98e9, 66.9, 0.1},
                            {90, "tf32.matrix", 132, 1.83e9, 494.7, 1},
                            {90, "bf16.matrix", 132, 1.83e9, 989.4, 1},
                            {90, "fp8.matrix", 132, 1.83e9, 1978.9, 1},
                            {75, "fp16.matrix", 40, 1.59e9, 65, 0.5},  // T4
                            {75, "int8.matrix", 40, 1.59e9, 130, 1},
                            {86, "fp32.vector", 82, 1.695e9, 35.6, 0.1},  // RTX 3090
                            {86, "int8.matrix", 82, 1.695e9, 284, 1},
                            {86, "bf16.matrix", 82, 1.695e9, 71, 0.5, false},
                            {89, "fp8.matrix", 128, 2.52e9, 330.3, 0.5, false}};  // RTX 4090
  for (const auto& each : figures) {
    const auto* peak = FindGpuPeak(each.capability, each.pipe);
    ASSERT_NE(peak, nullptr) << each.capability << each.pipe;
    const double per_cycle = each.highest ? peak->per_cycle.back() : peak->per_cycle.front();
    EXPECT_NEAR(per_cycle * each.sms * each.clock_hz / 1e12, each.teraflops, each.within)
        << each.capability << each.pipe;
  }
  for (const int capability : {75, 80, 86, 89, 90, 120})
    for (const auto& row : GpuRows(capability)) {
      if (IsMemory(row)) continue;
      const auto* peak = FindGpuPeak(capability, row.key.substr(0, row.key.rfind('.')));
      ASSERT_NE(peak, nullptr) << capability << ' ' << row.key;
      EXPECT_FALSE(std::string(peak->source).empty());
    }
  EXPECT_EQ(FindGpuPeak(130, "fp32.vector"), nullptr);
}

std::vector<std::string> Keys(int capability) {
  return VectorOf<std::string>(GpuRows(capability), &GpuRow::key);
}

// 64 KiB on 7.5, 228 on 9.0; of each block 1 KiB is the system's. wgmma and the shared-memory row
// have up to 40 KiB of their own.
TEST(ExclusiveSharedBytes, LetsOneBlockFitAndNoSecond) {
  for (const int kib : {64, 100, 164, 228})
    for (const auto* key :
         {"fp32.vector.ffma", "fp16.matrix.mma", "l1.load.ca16", "l1.shared.v16"}) {
      const int bytes = ExclusiveSharedBytes(RowOf(80, key), kib << 10);
      EXPECT_GT(2 * (bytes + 1024), kib << 10) << key;
      EXPECT_LE(bytes + (16 << 10), (kib - 1) << 10) << key;
    }
  EXPECT_LE(ExclusiveSharedBytes(RowOf(90, "bf16.matrix.wgmma"), 228 << 10) + (40 << 10),
            227 << 10);
  EXPECT_EQ(ExclusiveSharedBytes(RowOf(90, "dram.load.v16"), 228 << 10), 0);
  EXPECT_EQ(ExclusiveSharedBytes(RowOf(90, "bf16.matrix.cublaslt"), 228 << 10), 0);
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
  const std::tuple<const char*, GpuShape, double> rows[] = {
      // 132 blocks x 1024 threads x 8 chains x 64 multiply-adds x 2
      {"fp32.vector.ffma", {132, 1024, 0, 0}, 132.0 * 1024 * 8 * 64 * 2},
      // two lanes; four products of a dot product
      {"fp16.vector.hfma2", {1, 32, 0, 0}, 32.0 * 8 * 64 * 4},
      {"int8.vector.dp4a", {1, 32, 0, 0}, 32.0 * 8 * 64 * 8},
      {"bf16.matrix.mma", {1, 128, 0, 0}, 4.0 * 8 * 4 * 2 * 16 * 8 * 16},  // 4 warps x 8 chains x 4
      {"bf16.matrix.wgmma", {1, 256, 0, 0}, 2.0 * 16 * 2 * 64 * 256 * 16},  // 2 warpgroups x 16
      {"bf16.matrix.cublaslt", {0, 0, 1024, 0}, 2147483648.0},
      {"dram.copy.v16", {1, 256, 0, 3000}, 3000},
      {"l1.load.ca16",
       {2, 1024, 0, 32768},
       8.0 * 32768}};  // each block reads its 16 KiB eight times
  for (const auto& [key, shape, work] : rows)
    EXPECT_EQ(WorkPerIteration(RowOf(90, key), shape), work) << key;
}

constexpr GpuSize kH200 = {132, 50LL << 20, 140LL << 30};

TEST(GpuShapes, SetsInDramAreLargeThoseInL2StayBelowHalfOfItAndAGemmTakesAboutTenMilliseconds) {
  const auto row = RowOf(90, "dram.triad.v16");
  for (const auto& shape : GpuShapes(row, kH200, std::nullopt)) {
    EXPECT_GE(shape.set_bytes, 2LL << 30);
    EXPECT_GE(shape.set_bytes, 63LL * kH200.l2_bytes);
    EXPECT_EQ(shape.set_bytes % (2 * 3 * 16), 0);
  }
  // A card with little memory: half of what is free.
  for (const auto& shape : GpuShapes(row, {20, 4LL << 20, 3LL << 30}, std::nullopt))
    EXPECT_LE(shape.set_bytes, 3LL << 29);
  for (const auto& shape : GpuShapes(RowOf(90, "l2.load.cg16"), kH200, std::nullopt)) {
    EXPECT_LE(shape.set_bytes, kH200.l2_bytes / 2);
    EXPECT_GE(shape.set_bytes, kH200.l2_bytes / 16);
    EXPECT_EQ(shape.set_bytes % 16, 0);
  }
  const auto gemm = RowOf(90, "bf16.matrix.cublaslt");
  // 989 Tflop/s: n^3 * 2 = 9.89e12 -> n = 17040, at most 8192
  EXPECT_EQ(GpuShapes(gemm, kH200, 989e12).front().n, 8192);
  // 0.5 Tflop/s: n = 1357 -> 1024
  EXPECT_EQ(GpuShapes(gemm, kH200, 0.5e12).front().n, 1024);
  EXPECT_EQ(GpuShapes(gemm, kH200, std::nullopt).front().n, 4096);
}

TEST(GpuShapes, HalfOfTheBlocksIsHalfOfTheSmsAndChecksEndNotWithGridOrLoop) {
  const auto half = HalfShape({132, 1024, 0, 132 * 16384});
  EXPECT_EQ(half.blocks, 66);
  EXPECT_EQ(half.set_bytes, 66 * 16384);
  EXPECT_TRUE(ScalesWithSms(RowOf(90, "l1.shared.v16")));
  EXPECT_FALSE(ScalesWithSms(RowOf(90, "dram.load.v16")));
  EXPECT_FALSE(ScalesWithSms(RowOf(90, "bf16.matrix.cublaslt")));
  for (const auto& row : GpuRows(90)) {
    if (!ScalesWithSms(row)) continue;
    for (const auto& shape : GpuShapes(row, kH200, std::nullopt))
      EXPECT_EQ(shape.blocks, 132) << row.key;
  }
  for (const auto* key : {"dram.load.v16", "dram.copy.v16", "dram.triad.v16", "l2.store.v16"}) {
    const auto row = RowOf(90, key);
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
    const auto shapes = GpuShapes(RowOf(75, key), {40, 4LL << 20, 14LL << 30}, std::nullopt);
    EXPECT_GE(shapes.size(), 3) << key;
    for (const auto& shape : shapes) EXPECT_LE(shape.set_bytes, 2LL << 20);
  }
}

}  // namespace
}  // namespace dlroof::gpu_ceilings
