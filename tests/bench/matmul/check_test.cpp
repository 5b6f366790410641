#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/matmul/loops.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

MatmulCase CheckedCase(const std::string& name) {
  return ReadMatmulCase(workload::ParseBenchmarkName("Matmul/cpu/onednn/" + name),
                        {{"f32", "bf16", "f16", "int8"}, true, MatmulOptions()});
}

// Returns the result of the loops, as f32.
products::ProductOutput<float> RightOutput(const MatmulCase& one,
                                           const products::ProductInputs& inputs) {
  auto arrays = ZeroMatrices<double>(one.problem);
  for (const auto matrix : {Matrix::kA, Matrix::kB, Matrix::kC})
    std::copy(MatrixOf(inputs, matrix).begin(), MatrixOf(inputs, matrix).end(),
              MatrixOf(arrays, matrix).begin());
  arrays.bias.assign(inputs.bias.begin(), inputs.bias.end());
  RunMatmulCase(one, arrays);
  const auto& result = MatrixOf(arrays, ProductOf(one).result);
  products::ProductOutput<float> output{{result.begin(), result.end()}};
  if (one.bias && one.direction != ProductDirection::kForward)
    output.bias_gradient.assign(arrays.bias.begin(), arrays.bias.end());
  return output;
}

constexpr const char* kCases[] = {"fwd/f32/m17n9k33/bias/relu", "bwd_data/f32/b3m5n7k9_tAtB",
                                  "bwd_weights/f32/m33n8k5/ip/bias", "fwd/u8s8s32/m9n10k20"};

TEST(MatmulCheck, TakesTheRightResult) {
  for (const char* name : kCases) {
    const auto one = CheckedCase(name);
    const auto inputs = products::SeededInputs(one, 5);
    const auto found = products::CheckOutput(one, inputs, RightOutput(one, inputs), 5);
    EXPECT_TRUE(found.ok) << name << ' ' << found.max_error;
    EXPECT_THAT(found.how, HasSubstr("all ")) << name;
  }
}

TEST(MatmulCheck, FindsOneWrongElement) {
  for (const char* name : kCases) {
    const auto one = CheckedCase(name);
    const auto inputs = products::SeededInputs(one, 5);
    const auto right = RightOutput(one, inputs);
    for (const size_t at : {size_t{0}, right.values.size() / 2, right.values.size() - 1}) {
      auto wrong = right;
      wrong.values[at] += 2;
      EXPECT_FALSE(products::CheckOutput(one, inputs, wrong, 5).ok) << name << ' ' << at;
      wrong.values[at] = std::numeric_limits<float>::quiet_NaN();
      const auto found = products::CheckOutput(one, inputs, wrong, 5);
      EXPECT_FALSE(found.ok);
      EXPECT_THAT(found.how, HasSubstr("1 of "));
    }
  }
}

TEST(MatmulCheck, FindsAWrongBiasGradient) {
  const auto one = CheckedCase("bwd_weights/f32/m33n8k5/ip/bias");
  const auto inputs = products::SeededInputs(one, 5);
  auto output = RightOutput(one, inputs);
  EXPECT_THAT(products::CheckOutput(one, inputs, output, 5).how, HasSubstr("8 bias gradients"));
  output.bias_gradient[7] += 0.01F;
  EXPECT_FALSE(products::CheckOutput(one, inputs, output, 5).ok);
}

// 2 * 600 * 300 * 200 = 72 MFLOP.
TEST(MatmulCheck, SamplesLargeProblemsWithTheirCorners) {
  const auto one = CheckedCase("fwd/f32/m600n300k200");
  const auto inputs = products::SeededInputs(one, 5);
  auto output = RightOutput(one, inputs);
  const auto found = products::CheckOutput(one, inputs, output, 5);
  EXPECT_TRUE(found.ok);
  EXPECT_THAT(found.how, HasSubstr("sampled outputs of 180000"));
  for (const size_t corner : {0, 299, 599 * 300, 600 * 300 - 1}) {
    auto wrong = output;
    wrong.values[corner] += 1;
    EXPECT_FALSE(products::CheckOutput(one, inputs, wrong, 5).ok) << corner;
  }
}

TEST(MatmulInputs, ExactSumsOfIntegersFitTheirTypes) {
  for (const char* name : {"fwd/int8/m20n20k300", "fwd/s8s8s8/m20n20k300", "fwd/int8/m20n20k4"}) {
    const auto one = CheckedCase(name);
    const auto inputs = products::SeededInputs(one, 9);
    const auto output = RightOutput(one, inputs);
    const double most = one.types.destination == "u8" ? 255 : 127;
    const auto inside = std::ranges::count_if(
        output.values, [&](float value) { return std::fabs(value) <= most && value != 0; });
    EXPECT_GT(inside, 100) << name;
    if (one.types.source != "s8") continue;
    for (const float value : inputs.weights)
      EXPECT_EQ(std::fmod(value, 2), 0) << "weights beside s8 are even";
  }
}

// Below 2^-14 the numbers of f16 are 2^-24 apart: the nearest one may be off by 2^-25, however
// small the result is. A product of one term has no other error to hide that in.
TEST(MatmulCheck, ASubnormalF16ResultMayBeOffByHalfItsSpacing) {
  const auto one = CheckedCase("fwd/f16/m1n1k1");
  auto inputs = products::SeededInputs(one, 5);
  MatrixOf(inputs, Matrix::kA) = {0x1p-8F};
  MatrixOf(inputs, Matrix::kB) = {0x1.4b8p-9F};
  const double exact = 0x1.4b8p-17;  // 9.88e-6, 165.75 times 2^-24
  for (const auto& [steps, right] : {std::pair{166, true}, {165, false}, {167, false}}) {
    const auto found = products::CheckOutput(
        one, inputs, products::ProductOutput<float>{{static_cast<float>(steps * 0x1p-24)}, {}}, 5);
    EXPECT_EQ(found.ok, right) << steps << " x 2^-24 for " << exact << ": " << found.max_error;
  }
}

}  // namespace
}  // namespace dlroof::matmul
