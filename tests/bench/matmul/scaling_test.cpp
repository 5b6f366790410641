// Scales of fp8 and fp4 products: cuBLASLt's layouts against the inverse of its documentation's
// formulas, the check against planted wrong scales.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/matmul/case.h"
#include "bench/matmul/loops.h"
#include "bench/workload/memory.h"
#include "tests/fakes/refusal.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

MatmulCase Case(const std::string& name) {
  return ReadCublasltMatmulCase(workload::ParseBenchmarkName("Matmul/gpu/cublaslt/fwd/" + name));
}

const std::string kFp8 = "e4m3e4m3bf16/", kFp4 = "e2m1e2m1bf16/";

std::string Refusal(const std::string& name) {
  return fakes::RefusalOf([&] { Case(name); });
}

TEST(ScalingName, HasScalesOfItsType) {
  EXPECT_EQ(Case(kFp8 + "m1n2k3").scaling, Scaling::kNone);
  EXPECT_EQ(Case(kFp8 + "m1n2k3_tB/bias/scales-rows").scaling, Scaling::kRows);
  EXPECT_EQ(Case(kFp4 + "m1n2k3_tB/scales-nv").scaling, Scaling::kNv);
  EXPECT_EQ(PipeOf("e4m3e4m3bf16"), "fp8.matrix");
  // Matmul/gpu/cublaslt/fwd/ is 24 characters long.
  EXPECT_THAT(Refusal("bf16/m1n2k3_tB/scales-mx"), HasSubstr("column 40: 'scales-mx' needs the"));
  EXPECT_THAT(Refusal(kFp8 + "m1n2k3_tB/scales-nv"), HasSubstr("needs the type e2m1e2m1bf16"));
  EXPECT_THAT(Refusal(kFp4 + "m1n2k3_tB/scales-mx"), HasSubstr("does not exist for fp4"));
  EXPECT_THAT(Refusal(kFp4 + "m1n2k3_tB"), HasSubstr("column 25: the type e2m1e2m1bf16 needs"));
  EXPECT_THAT(Refusal(kFp8 + "m1n2k3/scales-rows"), HasSubstr("one product with _tB"));
  EXPECT_THAT(Refusal(kFp8 + "b2m1n2k3_tB/scales-rows"), HasSubstr("one product with _tB"));
  EXPECT_THAT(Refusal(kFp8 + "m1n2k3_tB/scales-rows/scales-mx"), HasSubstr("'scales-mx'"));
}

TEST(ScalingRefusal, NamesTheGpusThatHaveIt) {
  const auto refusal = [](const std::string& name, int capability) {
    const auto reason = ScalingRefusal(Case(name), capability);
    return reason ? reason->text : "none";
  };
  EXPECT_EQ(refusal(kFp8 + "m1n2k3_tB/scales-blocks", 90), "none");
  EXPECT_EQ(refusal(kFp8 + "m1n2k3_tB/scales-blocks", 100),
            "scales-blocks needs a GPU of compute capability 9.0 (Hopper); this one has 10.0");
  EXPECT_EQ(
      refusal(kFp8 + "m1n2k3_tB/scales-mx", 90),
      "scales-mx needs a GPU of compute capability 10.0 or higher (Blackwell); this one has 9.0");
  EXPECT_EQ(refusal(kFp8 + "m1n2k3", 80),
            "e4m3e4m3bf16 needs a GPU of compute capability 8.9 or higher (Ada); this one has 8.0");
  EXPECT_EQ(refusal("f16/m1n2k3", 70), "none");
}

// The scale of an element as the documentation finds it in memory.
float ScaleInMemory(Scaling scaling, bool is_weights, int64_t rows, int64_t depth,
                    const std::vector<std::byte>& bytes, int64_t row, int64_t step) {
  const auto f32 = [&](int64_t index) {
    return workload::Decoded(bytes, "f32").at(static_cast<size_t>(index));
  };
  const int64_t l = (depth + 127) / 128, l4 = (l + 3) / 4 * 4;
  if (scaling == Scaling::kTensor) return f32(0);
  if (scaling == Scaling::kRows) return f32(row);
  if (scaling == Scaling::kBlocks)
    return is_weights ? f32(row / 128 * l4 + step / 128) : f32(step / 128 * rows + row);
  const int64_t block = step / (scaling == Scaling::kMx ? 32 : 16);
  const int64_t blocks =
      (depth + (scaling == Scaling::kMx ? 31 : 15)) / (scaling == Scaling::kMx ? 32 : 16);
  const int64_t inner_dim = (blocks + 3) / 4 * 4;
  const int64_t tile = (block / 4 * 4 + row / 128 * inner_dim) * 128;
  for (int64_t offset = 0; offset < 512; ++offset)
    if (offset % 16 / 4 * 32 + offset / 16 == row % 128 && offset % 4 == block % 4) {
      const auto bits = std::to_integer<uint8_t>(bytes.at(static_cast<size_t>(tile + offset)));
      return scaling == Scaling::kMx ? std::ldexp(1.0F, bits - 127) : workload::FromE4m3Bits(bits);
    }
  throw std::logic_error("no offset");
}

const std::vector<std::string> kProblems = {"m1n1k16_tB", "m5n3k7_tB", "m130n257k300_tB",
                                            "m64n128k1000_tB"};

std::vector<MatmulCase> Cases() {
  std::vector<MatmulCase> cases;
  for (const auto& problem : kProblems)
    for (const auto option : ScalingOptions())
      cases.push_back(
          Case((option == "scales-nv" ? kFp4 : kFp8) + problem + "/" + std::string(option)));
  return cases;
}

TEST(FactorScales, AreStoredAsCublasltReadsThem) {
  for (const auto& matmul : Cases())
    for (const Matrix matrix : {Matrix::kA, Matrix::kB}) {
      const FactorScales scales(matmul, matrix, 7);
      const auto bytes = scales.Stored();
      const bool is_weights = matrix == Matrix::kB;
      const int64_t rows = is_weights ? matmul.problem.n : matmul.problem.m;
      for (int64_t row = 0; row < rows; row += std::max<int64_t>(1, rows / 60))
        for (int64_t step = 0; step < matmul.problem.k; step += 5)
          ASSERT_EQ(
              ScaleInMemory(matmul.scaling, is_weights, rows, matmul.problem.k, bytes, row, step),
              scales.At(row, step))
              << ToText(matmul.problem) << " " << static_cast<int>(matmul.scaling);
    }
}

TEST(ScaleBytes, CountsEachScaleOnce) {
  const auto bytes = [](const std::string& name) { return ScaleBytes(Case(name)); };
  EXPECT_EQ(bytes(kFp8 + "m130n257k300_tB"), 0);
  EXPECT_EQ(bytes(kFp8 + "m130n257k300_tB/scales-tensor"), 4 * 2);
  EXPECT_EQ(bytes(kFp8 + "m130n257k300_tB/scales-rows"), 4 * (130 + 257));
  EXPECT_EQ(bytes(kFp8 + "m130n257k300_tB/scales-blocks"), 4 * (130 * 3 + 3 * 3));
  EXPECT_EQ(bytes(kFp8 + "m130n257k300_tB/scales-mx"), (130 + 257) * 10);
  EXPECT_EQ(bytes(kFp4 + "m130n257k300_tB/scales-nv"), (130 + 257) * 19);
}

TEST(ScaledWork, HasHalfAByteForAnElementOfFp4) {
  const auto matmul = Case(kFp4 + "m6n4k32_tB/scales-nv");
  const auto work = workload::ProductWork(matmul, PipeOf(matmul.type));
  EXPECT_EQ(work.bytes.at(Level::kDram), (6 * 32 + 4 * 32) / 2 + 2 * 6 * 4);
  EXPECT_EQ(work.flops.at("fp4.matrix"), 2 * 6 * 4 * 32);
}

// What a GPU returns: products of the stored elements, times the scales in memory, rounded to bf16.
std::vector<float> Scaled(const MatmulCase& matmul, const workload::ProductInputs& elements,
                          const FactorScales& a, const FactorScales& b) {
  const auto& p = matmul.problem;
  std::vector<float> result;
  for (int64_t row = 0; row < p.m; ++row)
    for (int64_t column = 0; column < p.n; ++column) {
      double sum = 0;
      for (int64_t step = 0; step < p.k; ++step)
        sum += double{elements.source[static_cast<size_t>(row * p.k + step)]} * a.At(row, step) *
               elements.weights[static_cast<size_t>(column * p.k + step)] * b.At(column, step);
      result.push_back(workload::RoundToBf16(static_cast<float>(sum)));
    }
  return result;
}

TEST(ScaledProduct, IsCheckedWithItsScales) {
  for (const auto& matmul : Cases()) {
    if (matmul.problem.k > 300) continue;
    const auto elements = workload::SeededInputs(matmul, 1);
    const FactorScales a(matmul, Matrix::kA, 4), b(matmul, Matrix::kB, 5);
    auto inputs = elements;
    a.Apply(inputs.source);
    b.Apply(inputs.weights);
    const auto error = [&](const FactorScales& of_a) {
      return workload::CheckOutput(
                 matmul, inputs, workload::ProductOutput<float>{Scaled(matmul, elements, of_a, b)},
                 1)
          .max_error;
    };
    EXPECT_LT(error(a), 1) << matmul.type << ToText(matmul.problem);
    if (a.count() <= 5) continue;  // another seed may have the same scales
    EXPECT_GT(error(FactorScales(matmul, Matrix::kA, 99)), 1) << ToText(matmul.problem);
  }
}

}  // namespace
}  // namespace dlroof::matmul
