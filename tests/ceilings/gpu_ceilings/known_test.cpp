// Results that kernels must leave, held against the instructions as their manuals describe them:
// operands are read from the bytes that the device gets, by formulas written anew.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "ceilings/gpu_ceilings/bench.h"
#include "tests/fakes/expected_gpu_results.h"
#include "tests/fakes/reason.h"

namespace dlroof::gpu_ceilings {
namespace {

using testing::HasSubstr, testing::IsEmpty;

GpuBytes Known(const GpuRow& row, const GpuShape& shape) {
  return GpuOperands(row, shape, GpuOperandKind::kKnown);
}

template <class T>
T At(const GpuBytes& bytes, std::size_t index) {
  return Load<T>(bytes.data() + index * sizeof(T));
}

TEST(ChainResults, AreRoundedMultiplyAddsOfEachThread) {
  const auto row = fakes::RowOf(90, "fp32.vector.ffma");
  const GpuShape shape{2, 64, 0, 0};
  const auto operands = Known(row, shape);
  const auto results = fakes::ExpectedGpuResults(row, shape, 2);
  for (const int block : {0, 1})
    for (int chain = 0; chain < 8; ++chain)
      for (int thread = 0; thread < 64; ++thread) {
        float v = At<float>(operands, (2 + chain) * 64 + thread);
        for (int step = 0; step < 2 * 64; ++step)
          v = std::fma(v, v, At<float>(operands, 64 + thread));
        ASSERT_EQ(At<float>(results, (block * 8 + chain) * 64 + thread), v);
      }
}

TEST(ChainResults, DotProductsWrapAround) {
  const auto row = fakes::RowOf(90, "int8.vector.dp4a");
  const GpuShape shape{1, 32, 0, 0};
  const auto operands = Known(row, shape);
  const auto results = fakes::ExpectedGpuResults(row, shape, 3);
  for (int thread = 0; thread < 32; ++thread) {
    std::int64_t dot = 0;
    for (int i = 0; i < 4; ++i)
      dot += At<std::int8_t>(operands, thread * 4 + i) *
             At<std::int8_t>(operands, (32 + thread) * 4 + i);
    const std::int64_t sum = At<std::int32_t>(operands, (2 + 5) * 32 + thread) + 3 * 64 * dot;
    EXPECT_EQ(At<std::uint32_t>(results, 5 * 32 + thread), static_cast<std::uint32_t>(sum));
  }
}

TEST(ChainResults, AStepMoreOrLessStillShowsAfterAllThatAreChecked) {
  for (const auto* key : {"fp64.vector.dfma", "fp32.vector.ffma", "fp16.vector.hfma2",
                          "bf16.vector.hfma2", "int8.vector.dp4a"}) {
    const auto row = fakes::RowOf(90, key);
    const GpuShape shape{1, 32, 0, 0};
    EXPECT_NE(fakes::ExpectedGpuResults(row, shape, 3), fakes::ExpectedGpuResults(row, shape, 2))
        << key;
    EXPECT_NE(fakes::ExpectedGpuResults(row, shape, 1), Known(row, shape)) << key;
  }
}

// A chain at rest is timed on the same bits over and over: a fixed point of v * v + b that
// the type can hold catches a few chains of bf16, no more than 1 in 10.
TEST(ChainResults, OperandsKeepSwitchingAndStayFinite) {
  for (const auto* key :
       {"fp64.vector.dfma", "fp32.vector.ffma", "fp16.vector.hfma2", "bf16.vector.hfma2"}) {
    const auto row = fakes::RowOf(90, key);
    const GpuShape shape{1, 32, 0, 0};
    const auto operands = Known(row, shape), results = fakes::ExpectedGpuResults(row, shape, 50);
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
  const auto row = fakes::RowOf(capability, key);
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
  const std::size_t start =
      operands.size() - static_cast<std::size_t>(chains) * sums * 64 * SumBytes(row.element);
  const auto results = fakes::ExpectedGpuResults(row, shape, 3);
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
                        static_cast<std::size_t>(SumBytes(row.element));
        ASSERT_EQ(ReadSum(row.element, results.data() + at),
                  ReadSum(row.element, operands.data() + start + at) + 3 * 4 * product)
            << key << " lane " << lane << " sum " << i;
      }
  }
}

TEST(MmaResults, AreProductsOfFragmentsAsPtxListsThem) {
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
}

TEST(MmaResults, AreProductsOfFragmentsAsPtxListsThemForTf32AndFp64) {
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
}

TEST(MmaResults, AreProductsOfFragmentsAsPtxListsThemForTuring) {
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
    const auto row = fakes::RowOf(90, key);
    const GpuShape shape{2, 256, 0, 0};
    const auto operands = Known(row, shape);
    ASSERT_EQ(operands.size(), 4U * 320 * 32);
    const auto results = fakes::ExpectedGpuResults(row, shape, 3);
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
        EXPECT_EQ(ReadSum(row.element, results.data() + ((128 + reg) * 256 + thread) * 4), 12 * sum)
            << key;
      }
    }
  }
}

TEST(GemmResults, AreTheProductsOfRows) {
  const auto row = fakes::RowOf(90, "fp64.matrix.cublaslt");
  const GpuShape shape{0, 0, 48, 0};
  const auto operands = Known(row, shape);
  const auto results = fakes::ExpectedGpuResults(row, shape, 1);
  double sum = 0;
  for (int k = 0; k < 48; ++k)
    sum += At<double>(operands, 47 * 48 + k) * At<double>(operands, 48 * 48 + k);
  EXPECT_EQ(At<double>(results, 47), sum);  // last row, first column, stored by columns
  EXPECT_NE(sum, 0);
}

TEST(MemoryResults, SumEveryWordOncePerPass) {
  const auto row = fakes::RowOf(90, "dram.load.v16");
  const GpuShape shape{2, 32, 0, 4096};
  const auto operands = Known(row, shape);
  std::uint32_t sum = 0;
  for (int i = 0; i < 1024; ++i) sum += At<std::uint32_t>(operands, i);
  GpuBytes results(2 * 32 * 4);
  Store(3 * sum - 5, results.data() + 12);  // spread over threads in any way
  Store(std::uint32_t{5}, results.data() + 40);
  EXPECT_THAT(fakes::TextOf(GpuDifference(row, shape, 3, results)), IsEmpty());
  EXPECT_THAT(fakes::TextOf(GpuDifference(row, shape, 2, results)),
              HasSubstr("some byte was not read"));
}

TEST(MemoryResults, CopyAndTriadAndStoreLeaveTheirArrays) {
  const GpuShape shape{1, 32, 0, 96};
  const auto copy = fakes::RowOf(90, "dram.copy.v16");
  EXPECT_EQ(fakes::ExpectedGpuResults(copy, shape, 1), Known(copy, shape));
  const auto triad = fakes::RowOf(90, "dram.triad.v16");
  const auto operands = Known(triad, shape);
  EXPECT_EQ(At<float>(fakes::ExpectedGpuResults(triad, shape, 1), 7),
            At<float>(operands, 7) + 0.5F * At<float>(operands, 8 + 7));
  const auto store = fakes::RowOf(90, "l2.store.v16");
  EXPECT_EQ(At<std::uint32_t>(fakes::ExpectedGpuResults(store, shape, 2), 23), 2 * 0x9e3779b9U);
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
      auto results = fakes::ExpectedGpuResults(row, shape, 2);
      ASSERT_EQ(static_cast<std::int64_t>(Known(row, shape).size()), GpuOperandBytes(row, shape))
          << row.key;
      ASSERT_THAT(fakes::TextOf(GpuDifference(row, shape, 2, results)), IsEmpty()) << row.key;
      // 256 elements of a GEMM are compared, the last among them.
      results.back() ^= std::byte{4};
      EXPECT_TRUE(GpuDifference(row, shape, 2, results)) << row.key;
    }
  const auto row = fakes::RowOf(90, "fp32.vector.ffma");
  const GpuShape shape{3, 32, 0, 0};
  auto results = fakes::ExpectedGpuResults(row, shape, 1);
  std::memset(results.data() + results.size() / 3, 0, results.size() / 3);
  EXPECT_THAT(fakes::TextOf(GpuDifference(row, shape, 1, results)),
              HasSubstr("differs from a plain loop"));
  const auto other = fakes::RowOf(90, "fp32.vector.ffma");
  EXPECT_THROW(GpuDifference(other, {1, 32, 0, 0}, 1, GpuBytes(5)), std::invalid_argument);
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

}  // namespace
}  // namespace dlroof::gpu_ceilings
