#include "bench/matmul/loops.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/counted.h"

namespace dlroof::matmul {
namespace {

constexpr ProductDirection kAll[] = {ProductDirection::kForward, ProductDirection::kBackwardData,
                                     ProductDirection::kBackwardWeights};

MatmulCase SmallCase(std::mt19937& random, ProductDirection direction) {
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 7); };
  MatmulCase one;
  one.direction = direction;
  one.problem = {size(), size(), size(), size(), random() % 2 == 0, random() % 2 == 0};
  one.ip = random() % 3 == 0;
  if (one.ip) one.problem = {1, size(), size(), size()};
  const bool forward = direction == ProductDirection::kForward;
  if (forward && random() % 3 == 0) one.eltwise = workload::Eltwise::kRelu;
  one.sum = forward && random() % 3 == 0;
  one.bias =
      (forward || (one.ip && direction == ProductDirection::kBackwardWeights)) && random() % 2 == 0;
  return one;
}

TEST(MatmulReference, CountsWhatTheClosedFormSays) {
  std::mt19937 random(3);
  for (int i = 0; i < 900; ++i) {
    const auto one = SmallCase(random, kAll[i % 3]);
    auto arrays = ZeroMatrices<fakes::CountedNumber>(one.problem);
    if (one.bias) arrays.bias.resize(one.problem.n);
    if (one.sum) arrays.addend.resize(arrays.destination.size());
    fakes::CountedNumber::operations = 0;
    RunMatmulCase(one, arrays);
    ASSERT_EQ(fakes::CountedNumber::operations,
              Flops(one.problem) + products::ElementwiseFlops(one, SizesOf(one)))
        << Key(one.direction) << ' ' << ToText(one.problem);
  }
}

// The definition, by an element's place in its matrix and not in memory.
class Definition {
 public:
  Definition(const MatmulCase& one, const products::ProductInputs& inputs)
      : one_(one), inputs_(inputs) {}

  double A(int64_t pair, int64_t i, int64_t l) const {
    const auto& p = one_.problem;
    return inputs_.source.at(AtA(p, pair, i, l));
  }
  double B(int64_t pair, int64_t l, int64_t j) const {
    return inputs_.weights.at(AtB(one_, pair, l, j));
  }
  double C(int64_t pair, int64_t i, int64_t j) const {
    const auto& p = one_.problem;
    return inputs_.destination.at((pair * p.m + i) * p.n + j);
  }
  static size_t AtA(const MatmulProblem& p, int64_t pair, int64_t i, int64_t l) {
    return pair * p.m * p.k + (p.transposed_a ? l * p.m + i : i * p.k + l);
  }
  static size_t AtB(const MatmulCase& one, int64_t pair, int64_t l, int64_t j) {
    const auto& p = one.problem;
    return pair * p.k * p.n + (p.transposed_b || one.ip ? j * p.k + l : l * p.n + j);
  }

  // The result in its order in memory.
  std::vector<double> Result() const {
    const auto& p = one_.problem;
    auto arrays = ZeroMatrices<double>(p);
    for (int64_t pair = 0; pair < p.b; ++pair)
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j)
          for (int64_t l = 0; l < p.k; ++l) {
            if (one_.direction == ProductDirection::kForward)
              arrays.destination.at((pair * p.m + i) * p.n + j) += A(pair, i, l) * B(pair, l, j);
            else if (one_.direction == ProductDirection::kBackwardData)
              arrays.source.at(AtA(p, pair, i, l)) += C(pair, i, j) * B(pair, l, j);
            else
              arrays.weights.at(AtB(one_, pair, l, j)) += C(pair, i, j) * A(pair, i, l);
          }
    return one_.direction == ProductDirection::kForward        ? arrays.destination
           : one_.direction == ProductDirection::kBackwardData ? arrays.source
                                                               : arrays.weights;
  }

 private:
  const MatmulCase& one_;
  const products::ProductInputs& inputs_;
};

TEST(MatmulReference, LoopsAndSingleElementsAreTheDefinition) {
  std::mt19937 random(4);
  for (int i = 0; i < 900; ++i) {
    auto one = SmallCase(random, kAll[i % 3]);
    one.bias = one.sum = false;
    one.eltwise.reset();
    const auto inputs = products::SeededInputs(one, i);
    auto arrays = ZeroMatrices<double>(one.problem);
    std::ranges::copy(inputs.source, arrays.source.begin());
    std::ranges::copy(inputs.weights, arrays.weights.begin());
    std::ranges::copy(inputs.destination, arrays.destination.begin());
    RunMatmulCase(one, arrays);
    const auto product = ProductOf(one);
    const auto& result = MatrixOf(arrays, product.result);
    const auto expected = Definition(one, inputs).Result();
    ASSERT_EQ(result.size(), expected.size());
    for (size_t at = 0; at < result.size(); ++at) {
      ASSERT_NEAR(result[at], expected[at], 1e-13) << ToText(one.problem) << ' ' << at;
      ASSERT_NEAR(MatmulElementAt(product, inputs, at).value, expected[at], 1e-13);
    }
  }
}

TEST(MatmulProduct, GradientsOfTransposedMatricesAreTransposedEquations) {
  using enum Matrix;
  const auto b_transposed = ParseMatmul("m2n3k4_tB");
  EXPECT_EQ(ProductOf(b_transposed, ProductDirection::kBackwardData),
            (MatmulProduct{1, 2, 4, 3, {kC, false}, {kB, false}, kA}));  // dA = dC B^T
  EXPECT_EQ(ProductOf(b_transposed, ProductDirection::kBackwardWeights),
            (MatmulProduct{1, 3, 4, 2, {kC, true}, {kA, false}, kB}));  // dB^T = dC^T A
  const auto a_transposed = ParseMatmul("m2n3k4_tA");
  EXPECT_EQ(ProductOf(a_transposed, ProductDirection::kBackwardData),
            (MatmulProduct{1, 4, 2, 3, {kB, false}, {kC, true}, kA}));  // dA^T = B dC^T
}

TEST(MatmulReference, AddsBiasAndReluAndMakesTheBiasGradient) {
  MatmulCase one;
  one.problem = ParseMatmul("m2n2k1");
  one.bias = true;
  one.eltwise = workload::Eltwise::kRelu;
  products::ProductArrays<double> arrays{{1, 2}, {3, -4}, {0, 0, 0, 0}, {-5, 6}};
  RunMatmulCase(one, arrays);
  // {1, 2} x {3, -4} = {3, -4; 6, -8}; plus {-5, 6}: {-2, 2; 1, -2}.
  EXPECT_EQ(arrays.destination, (std::vector<double>{0, 2, 1, 0}));
  one.ip = true;
  one.eltwise.reset();
  one.direction = ProductDirection::kBackwardWeights;
  arrays.destination = {1, 2, 3, 4};
  RunMatmulCase(one, arrays);
  EXPECT_EQ(arrays.bias, (std::vector<double>{1 + 3, 2 + 4}));
  EXPECT_EQ(arrays.weights, (std::vector<double>{1 * 1 + 2 * 3, 1 * 2 + 2 * 4}));
}

// 3 x 2 plus a bias of 1 plus what was there, -9 and -6: -2 and 1; gelu(-2) = -2 x 0.0227501319,
// gelu(1) = 0.8413447461, from tables of the normal distribution.
TEST(MatmulReference, AddsToTheDestinationBeforeTheFunction) {
  MatmulCase one;
  one.problem = ParseMatmul("m1n2k1");
  one.bias = one.sum = true;
  products::ProductArrays<double> arrays{{3}, {2, 2}, {5, 5}, {1, 0}, {-9, -5}};
  RunMatmulCase(one, arrays);
  EXPECT_EQ(arrays.destination, (std::vector<double>{-2, 1}));
  one.eltwise = workload::Eltwise::kGeluErf;
  RunMatmulCase(one, arrays);
  EXPECT_NEAR(arrays.destination[0], -2 * 0.0227501319, 1e-9);
  EXPECT_NEAR(arrays.destination[1], 0.8413447461, 1e-9);
}

// The check finds an addend that is left out, and the other GELU (they differ by up to 5e-4).
TEST(MatmulCheck, FindsAMissingAddendAndTheOtherFunction) {
  MatmulCase one;
  one.problem = ParseMatmul("m8n9k10");
  one.sum = true;
  one.eltwise = workload::Eltwise::kGeluErf;
  const auto inputs = products::SeededInputs(one, 3);
  const auto result = [&](const MatmulCase& other) {
    auto arrays = ZeroMatrices<double>(one.problem);
    arrays.source.assign(inputs.source.begin(), inputs.source.end());
    arrays.weights.assign(inputs.weights.begin(), inputs.weights.end());
    arrays.addend.assign(inputs.addend.begin(), inputs.addend.end());
    RunMatmulCase(other, arrays);
    return products::ProductOutput<float>{{arrays.destination.begin(), arrays.destination.end()}};
  };
  EXPECT_TRUE(products::CheckOutput(one, inputs, result(one), 3).ok);
  auto other = one;
  other.sum = false;
  EXPECT_FALSE(products::CheckOutput(one, inputs, result(other), 3).ok);
  other = one;
  other.eltwise = workload::Eltwise::kGeluTanh;
  EXPECT_FALSE(products::CheckOutput(one, inputs, result(other), 3).ok);
}

}  // namespace
}  // namespace dlroof::matmul
