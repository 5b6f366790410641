#include "bench/matmul/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/fakes/counted.h"

namespace dlroof::matmul {
namespace {

constexpr ProductDirection kAll[] = {ProductDirection::kForward, ProductDirection::kBackwardData,
                                     ProductDirection::kBackwardWeights};

MatmulCase SmallCase(std::mt19937& random, ProductDirection direction) {
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 7); };
  MatmulCase matmul;
  matmul.direction = direction;
  matmul.problem = {size(), size(), size(), size(), random() % 2 == 0, random() % 2 == 0};
  matmul.ip = random() % 3 == 0;
  if (matmul.ip) matmul.problem = {1, size(), size(), size()};
  const bool forward = direction == ProductDirection::kForward;
  if (forward && random() % 3 == 0) matmul.eltwise = workload::Eltwise::kRelu;
  matmul.sum = forward && random() % 3 == 0;
  matmul.bias = (forward || (matmul.ip && direction == ProductDirection::kBackwardWeights)) &&
                random() % 2 == 0;
  return matmul;
}

TEST(MatmulReference, CountsWhatTheClosedFormSays) {
  std::mt19937 random(3);
  for (int i = 0; i < 900; ++i) {
    const auto matmul = SmallCase(random, kAll[i % 3]);
    auto arrays = ZeroMatrices<fakes::CountedNumber>(matmul.problem);
    if (matmul.bias) arrays.bias.resize(matmul.problem.n);
    if (matmul.sum) arrays.addend.resize(arrays.destination.size());
    fakes::CountedNumber::operations = 0;
    RunMatmulCase(matmul, arrays);
    ASSERT_EQ(fakes::CountedNumber::operations,
              Flops(matmul.problem) +
                  static_cast<int64_t>(workload::ProductWork(matmul, "").parts["elementwise"]))
        << Key(matmul.direction) << ' ' << ToText(matmul.problem);
  }
}

// The definition, by an element's place in its matrix and not in memory.
class Definition {
 public:
  Definition(const MatmulCase& matmul, const workload::ProductInputs& inputs)
      : matmul_(matmul), inputs_(inputs) {}

  double A(int64_t pair, int64_t i, int64_t l) const {
    const auto& p = matmul_.problem;
    return inputs_.source.at(AtA(p, pair, i, l));
  }
  double B(int64_t pair, int64_t l, int64_t j) const {
    return inputs_.weights.at(AtB(matmul_, pair, l, j));
  }
  double C(int64_t pair, int64_t i, int64_t j) const {
    const auto& p = matmul_.problem;
    return inputs_.destination.at((pair * p.m + i) * p.n + j);
  }
  static size_t AtA(const MatmulProblem& p, int64_t pair, int64_t i, int64_t l) {
    return pair * p.m * p.k + (p.transposed_a ? l * p.m + i : i * p.k + l);
  }
  static size_t AtB(const MatmulCase& matmul, int64_t pair, int64_t l, int64_t j) {
    const auto& p = matmul.problem;
    return pair * p.k * p.n + (p.transposed_b || matmul.ip ? j * p.k + l : l * p.n + j);
  }

  // The result in its order in memory.
  std::vector<double> Result() const {
    const auto& p = matmul_.problem;
    auto arrays = ZeroMatrices<double>(p);
    for (int64_t pair = 0; pair < p.b; ++pair)
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j)
          for (int64_t l = 0; l < p.k; ++l) {
            if (matmul_.direction == ProductDirection::kForward)
              arrays.destination.at((pair * p.m + i) * p.n + j) += A(pair, i, l) * B(pair, l, j);
            else if (matmul_.direction == ProductDirection::kBackwardData)
              arrays.source.at(AtA(p, pair, i, l)) += C(pair, i, j) * B(pair, l, j);
            else
              arrays.weights.at(AtB(matmul_, pair, l, j)) += C(pair, i, j) * A(pair, i, l);
          }
    return matmul_.direction == ProductDirection::kForward        ? arrays.destination
           : matmul_.direction == ProductDirection::kBackwardData ? arrays.source
                                                                  : arrays.weights;
  }

 private:
  const MatmulCase& matmul_;
  const workload::ProductInputs& inputs_;
};

TEST(MatmulReference, LoopsAndSingleElementsAreTheDefinition) {
  std::mt19937 random(4);
  for (int i = 0; i < 900; ++i) {
    auto matmul = SmallCase(random, kAll[i % 3]);
    matmul.bias = matmul.sum = false;
    matmul.eltwise.reset();
    const auto inputs = workload::SeededInputs(matmul, i);
    auto arrays = ZeroMatrices<double>(matmul.problem);
    std::ranges::copy(inputs.source, arrays.source.begin());
    std::ranges::copy(inputs.weights, arrays.weights.begin());
    std::ranges::copy(inputs.destination, arrays.destination.begin());
    RunMatmulCase(matmul, arrays);
    const auto product = ProductOf(matmul);
    const auto& result = MatrixOf(arrays, product.result);
    const auto expected = Definition(matmul, inputs).Result();
    ASSERT_EQ(result.size(), expected.size());
    for (size_t at = 0; at < result.size(); ++at) {
      ASSERT_NEAR(result[at], expected[at], 1e-13) << ToText(matmul.problem) << ' ' << at;
      ASSERT_NEAR(MatmulElementAt(product, inputs, at).value, expected[at], 1e-13);
    }
  }
}

TEST(MatmulReference, AddsBiasAndReluAndMakesTheBiasGradient) {
  MatmulCase matmul;
  matmul.problem = ParseMatmul("m2n2k1");
  matmul.bias = true;
  matmul.eltwise = workload::Eltwise::kRelu;
  workload::ProductArrays<double> arrays{{1, 2}, {3, -4}, {0, 0, 0, 0}, {-5, 6}};
  RunMatmulCase(matmul, arrays);
  // {1, 2} x {3, -4} = {3, -4; 6, -8}; plus {-5, 6}: {-2, 2; 1, -2}.
  EXPECT_EQ(arrays.destination, (std::vector<double>{0, 2, 1, 0}));
  matmul.ip = true;
  matmul.eltwise.reset();
  matmul.direction = ProductDirection::kBackwardWeights;
  arrays.destination = {1, 2, 3, 4};
  RunMatmulCase(matmul, arrays);
  EXPECT_EQ(arrays.bias, (std::vector<double>{1 + 3, 2 + 4}));
  EXPECT_EQ(arrays.weights, (std::vector<double>{1 * 1 + 2 * 3, 1 * 2 + 2 * 4}));
}

// 3 x 2 plus a bias of 1 plus what was there, -9 and -6: -2 and 1; gelu(-2) = -2 x 0.0227501319,
// gelu(1) = 0.8413447461, from tables of the normal distribution.
TEST(MatmulReference, AddsToTheDestinationBeforeTheFunction) {
  MatmulCase matmul;
  matmul.problem = ParseMatmul("m1n2k1");
  matmul.bias = matmul.sum = true;
  workload::ProductArrays<double> arrays{{3}, {2, 2}, {5, 5}, {1, 0}, {-9, -5}};
  RunMatmulCase(matmul, arrays);
  EXPECT_EQ(arrays.destination, (std::vector<double>{-2, 1}));
  matmul.eltwise = workload::Eltwise::kGeluErf;
  RunMatmulCase(matmul, arrays);
  EXPECT_NEAR(arrays.destination[0], -2 * 0.0227501319, 1e-9);
  EXPECT_NEAR(arrays.destination[1], 0.8413447461, 1e-9);
}

// The check finds an addend that is left out, and the other GELU (they differ by up to 5e-4).
TEST(MatmulCheck, FindsAMissingAddendAndTheOtherFunction) {
  MatmulCase matmul;
  matmul.problem = ParseMatmul("m8n9k10");
  matmul.sum = true;
  matmul.eltwise = workload::Eltwise::kGeluErf;
  const auto inputs = workload::SeededInputs(matmul, 3);
  const auto result = [&](const MatmulCase& other) {
    auto arrays = ZeroMatrices<double>(matmul.problem);
    arrays.source.assign(inputs.source.begin(), inputs.source.end());
    arrays.weights.assign(inputs.weights.begin(), inputs.weights.end());
    arrays.addend.assign(inputs.addend.begin(), inputs.addend.end());
    RunMatmulCase(other, arrays);
    return workload::ProductOutput<float>{{arrays.destination.begin(), arrays.destination.end()}};
  };
  EXPECT_TRUE(workload::CheckOutput(matmul, inputs, result(matmul), 3).ok);
  auto other = matmul;
  other.sum = false;
  EXPECT_FALSE(workload::CheckOutput(matmul, inputs, result(other), 3).ok);
  other = matmul;
  other.eltwise = workload::Eltwise::kGeluTanh;
  EXPECT_FALSE(workload::CheckOutput(matmul, inputs, result(other), 3).ok);
}

using testing::HasSubstr;

MatmulCase CheckedCase(const std::string& name) {
  return ReadOnednnMatmulCase(workload::ParseBenchmarkName("Matmul/cpu/onednn/" + name));
}

// Returns the result of the loops, as f32.
workload::ProductOutput<float> RightOutput(const MatmulCase& matmul,
                                           const workload::ProductInputs& inputs) {
  auto arrays = ZeroMatrices<double>(matmul.problem);
  for (const auto matrix : {Matrix::kA, Matrix::kB, Matrix::kC})
    std::copy(MatrixOf(inputs, matrix).begin(), MatrixOf(inputs, matrix).end(),
              MatrixOf(arrays, matrix).begin());
  arrays.bias.assign(inputs.bias.begin(), inputs.bias.end());
  RunMatmulCase(matmul, arrays);
  const auto& result = MatrixOf(arrays, ProductOf(matmul).result);
  workload::ProductOutput<float> output{{result.begin(), result.end()}};
  if (matmul.bias && matmul.direction != ProductDirection::kForward)
    output.bias_gradient.assign(arrays.bias.begin(), arrays.bias.end());
  return output;
}

constexpr const char* kCases[] = {"fwd/f32/m17n9k33/bias/relu", "bwd_data/f32/b3m5n7k9_tAtB",
                                  "bwd_weights/f32/m33n8k5/ip/bias", "fwd/u8s8s32/m9n10k20"};

TEST(MatmulCheck, TakesTheRightResultAndFindsOneWrongElement) {
  for (const char* name : kCases) {
    const auto matmul = CheckedCase(name);
    const auto inputs = workload::SeededInputs(matmul, 5);
    const auto right = RightOutput(matmul, inputs);
    const auto found = workload::CheckOutput(matmul, inputs, right, 5);
    EXPECT_TRUE(found.ok) << name << ' ' << found.max_error;
    EXPECT_THAT(found.how, HasSubstr("all ")) << name;
    for (const size_t at : {size_t{0}, right.values.size() / 2, right.values.size() - 1}) {
      auto wrong = right;
      wrong.values[at] += 2;
      EXPECT_FALSE(workload::CheckOutput(matmul, inputs, wrong, 5).ok) << name << ' ' << at;
      wrong.values[at] = std::numeric_limits<float>::quiet_NaN();
      const auto lost = workload::CheckOutput(matmul, inputs, wrong, 5);
      EXPECT_FALSE(lost.ok);
      EXPECT_THAT(lost.how, HasSubstr("1 of "));
    }
  }
}

// 2 * 600 * 300 * 200 = 72 MFLOP.
TEST(MatmulCheck, SamplesLargeProblemsWithTheirCorners) {
  const auto matmul = CheckedCase("fwd/f32/m600n300k200");
  const auto inputs = workload::SeededInputs(matmul, 5);
  auto output = RightOutput(matmul, inputs);
  const auto found = workload::CheckOutput(matmul, inputs, output, 5);
  EXPECT_TRUE(found.ok);
  EXPECT_THAT(found.how, HasSubstr("sampled outputs of 180000"));
  for (const size_t corner : {0, 299, 599 * 300, 600 * 300 - 1}) {
    auto wrong = output;
    wrong.values[corner] += 1;
    EXPECT_FALSE(workload::CheckOutput(matmul, inputs, wrong, 5).ok) << corner;
  }
}

// Below 2^-14 the numbers of f16 are 2^-24 apart: the nearest one may be off by 2^-25, however
// small the result is. A product of one term has no other error to hide that in.
TEST(MatmulCheck, ASubnormalF16ResultMayBeOffByHalfItsSpacing) {
  const auto matmul = CheckedCase("fwd/f16/m1n1k1");
  auto inputs = workload::SeededInputs(matmul, 5);
  MatrixOf(inputs, Matrix::kA) = {0x1p-8F};
  MatrixOf(inputs, Matrix::kB) = {0x1.4b8p-9F};
  const double exact = 0x1.4b8p-17;  // 9.88e-6, 165.75 times 2^-24
  for (const auto& [steps, right] : {std::pair{166, true}, {165, false}, {167, false}}) {
    const auto found = workload::CheckOutput(
        matmul, inputs, workload::ProductOutput<float>{{static_cast<float>(steps * 0x1p-24)}, {}},
        5);
    EXPECT_EQ(found.ok, right) << steps << " x 2^-24 for " << exact << ": " << found.max_error;
  }
}

}  // namespace
}  // namespace dlroof::matmul
