// What a training step adds: statistics, gradients, and the checks of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/attention/attention.h"
#include "bench/workload/memory.h"

namespace dlroof::attention {
namespace {

std::vector<double> Result(const AttentionProblem& p, const Tensors& in) {
  std::vector<double> o(in.q.size());
  RunLoops(p, in, o);
  return o;
}

// The logarithm of the sum of exponentials, read out of the loops: with v = 1 / (number of
// exponentials) it would cancel, so the sum is made of its definition here.
std::vector<double> Statistics(const AttentionProblem& p, const Tensors& in) {
  std::vector<double> statistics;
  for (int64_t row = 0; row < p.b * p.h * p.q; ++row) {
    const int64_t sequence = row / (p.h * p.q), head = row / p.q % p.h / (p.h / p.kv);
    const auto keys = KeysOf(p, sequence, row % p.q);
    double sum = 0;
    for (int64_t key = keys.begin; key < keys.end; ++key) {
      double score = 0;
      for (int64_t i = 0; i < p.d; ++i)
        score += in.q[static_cast<size_t>(row * p.d + i)] *
                 in.k[static_cast<size_t>(((sequence * p.kv + head) * p.k + key) * p.d + i)];
      sum += std::exp(score / std::sqrt(static_cast<double>(p.d)));
    }
    statistics.push_back(std::log(sum));
  }
  return statistics;
}

struct Step {
  AttentionProblem problem;
  Tensors in, gradients;
  BackwardInputs backward;
};

// The gradients are differences of the loops' results for inputs beside each other.
Step StepOf(const std::string& text, const std::string& type) {
  Step step{.problem = ParseAttention(text)};
  const auto& p = step.problem;
  step.in = SeededInputs(p, type, 5);
  step.backward = {Result(p, step.in), SeededGradient(p, type, 5), Statistics(p, step.in)};
  const auto gradient = [&](std::vector<double> Tensors::*member) {
    std::vector<double> slopes;
    for (size_t i = 0; i < (step.in.*member).size(); ++i) {
      constexpr double kStep = 1e-4;
      double slope = 0;
      for (const double sign : {1.0, -1.0}) {
        auto moved = step.in;
        (moved.*member)[i] += sign * kStep;
        const auto o = Result(p, moved);
        for (size_t j = 0; j < o.size(); ++j)
          slope += sign * step.backward.d_o[j] * o[j] / (2 * kStep);
      }
      slopes.push_back(slope);
    }
    return slopes;
  };
  step.gradients = {gradient(&Tensors::q), gradient(&Tensors::k), gradient(&Tensors::v)};
  return step;
}

bool IsRight(const Step& step, const std::string& type) {
  return CheckGradients(step.problem, type, step.in, step.backward, step.gradients, 5).ok;
}

constexpr const char* kProblems[] = {"b2h4q7k7d8_kv2tl",  "b1h2q5k9d3_kv1br", "b1h3q6k6d5_w2tl",
                                     "b2h2q3k8d4_l5:8br", "b1h1q1k12d8",      "b2h4q4k6d4_kv1l3:6"};

TEST(AttentionGradients, AreTheSlopesOfTheResult) {
  for (const auto* problem : kProblems)
    EXPECT_TRUE(IsRight(StepOf(problem, "f32"), "f32")) << problem;
}

TEST(AttentionGradients, MayBeRoundedToTheirType) {
  for (const auto* problem : kProblems) {
    auto step = StepOf(problem, "bf16");
    for (auto* const gradient : {&step.gradients.q, &step.gradients.k, &step.gradients.v})
      for (double& value : *gradient) value = workload::RoundToBf16(static_cast<float>(value));
    EXPECT_TRUE(IsRight(step, "bf16")) << problem;
    EXPECT_FALSE(IsRight(step, "f32")) << problem;
  }
}

TEST(AttentionGradients, OfPaddingAreNotDefined) {
  auto step = StepOf("b2h2q3k8d4_l5:8", "f16");
  const size_t first_of_padding = 5 * 4;
  step.gradients.k[first_of_padding] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(IsRight(step, "f16"));
  step.gradients.v[first_of_padding - 1] += 0.1;
  EXPECT_FALSE(IsRight(step, "f16"));
}

// Faults of kernels: a wrong element, another mask, a missing scale, a head that is not added, and
// no subtraction of the sum of do o.
TEST(AttentionGradients, FaultsAreFound) {
  for (const std::string type : {"f32", "bf16", "f16"}) {
    const auto right = StepOf("b1h4q9k9d8_kv2tl", type);
    ASSERT_TRUE(IsRight(right, type));
    for (const auto member : {&Tensors::q, &Tensors::k, &Tensors::v})
      for (const double wrong : {0.3, std::numeric_limits<double>::quiet_NaN()}) {
        auto step = right;
        (step.gradients.*member).back() += wrong;
        EXPECT_FALSE(IsRight(step, type)) << type;
      }
    auto other = right;
    other.gradients = StepOf("b1h4q9k9d8_kv2", type).gradients;
    EXPECT_FALSE(IsRight(other, type)) << type;
    auto unscaled = right;
    for (double& value : unscaled.gradients.q) value *= std::sqrt(8.0);
    EXPECT_FALSE(IsRight(unscaled, type)) << type;
    auto halved = right;
    for (double& value : halved.gradients.v) value /= 2;
    EXPECT_FALSE(IsRight(halved, type)) << type;
    auto forgotten = right;  // then ds is p dp
    std::ranges::fill(forgotten.backward.o, 0.0);
    EXPECT_FALSE(IsRight(forgotten, type)) << type;
  }
}

TEST(AttentionStatistics, AreCheckedWithTheInputs) {
  for (const auto* problem : kProblems) {
    const auto p = ParseAttention(problem);
    const auto in = SeededInputs(p, "f16", 3);
    auto statistics = Statistics(p, in);
    for (double& value : statistics) value = static_cast<float>(value);
    EXPECT_TRUE(CheckStatistics(p, in, statistics, 3).ok) << problem;
    statistics.back() += 1e-3;
    EXPECT_FALSE(CheckStatistics(p, in, statistics, 3).ok) << problem;
  }
}

// A kernel of fp8: the weights of a row, less than 1, and the result are 256 times as large in
// e4m3. With v of one key alone the loops return that key's share of the result.
TEST(AttentionCheck, TakesTheRoundingsOfFp8AndFindsAnotherMask) {
  const auto e4m3 = [](double value) {
    return workload::FromE4m3Bits(workload::E4m3Bits(static_cast<float>(value * kFp8Scale))) /
           kFp8Scale;
  };
  const auto result = [&](const std::string& text, const Tensors& in) {
    const auto p = ParseAttention(text);
    std::vector<double> o(in.q.size());
    for (int64_t key = 0; key < p.k; ++key) {
      auto alone = in;
      std::ranges::fill(alone.v, 0.0);
      std::fill_n(alone.v.begin() + key * p.d, p.d, 1.0);
      const auto weights = Result(p, alone);
      for (size_t i = 0; i < o.size(); ++i)
        o[i] += e4m3(weights[i]) * in.v[static_cast<size_t>(key * p.d) + i % p.d];
    }
    for (double& value : o) value = e4m3(value);
    return o;
  };
  const std::string text = "b1h2q9k64d16_kv1br";
  const auto p = ParseAttention(text);
  const auto in = SeededInputs(p, "e4m3", 5);
  EXPECT_TRUE(Check(p, "e4m3", in, result(text, in), 5).ok);
  EXPECT_FALSE(Check(p, "f16", in, result(text, in), 5).ok);
  EXPECT_FALSE(Check(p, "e4m3", in, result("b1h2q9k64d16_kv1tl", in), 5).ok);
  EXPECT_FALSE(Check(p, "e4m3", in, result("b1h2q9k64d16_kv1w32br", in), 5).ok);
}

TEST(AttentionPages, HaveTheKeysOfTheirTable) {
  // Two heads of three keys of one element, in pages of 16: one page per sequence, exchanged.
  const CudnnAttentionCase request{.problem = ParseAttention("b2h2q1k3d1"), .page = 16};
  std::vector<double> keys = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto paged = InPages(request, keys, {1, 0});
  ASSERT_EQ(paged.size(), 64U);
  EXPECT_THAT(std::vector<double>(paged.begin(), paged.begin() + 4),
              testing::ElementsAre(7, 8, 9, 0));
  EXPECT_THAT(std::vector<double>(paged.begin() + 48, paged.begin() + 52),
              testing::ElementsAre(4, 5, 6, 0));
  // Seventeen keys: the last one is the first of the second page.
  keys.assign(17, 1);
  keys.back() = 2;
  const CudnnAttentionCase longer{.problem = ParseAttention("b1h1q1k17d1"), .page = 16};
  EXPECT_EQ(InPages(longer, keys, {0, 1})[16], 2);
  EXPECT_EQ(InPages(longer, keys, {1, 0})[0], 2);
}

}  // namespace
}  // namespace dlroof::attention
