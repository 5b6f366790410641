#include "bench/conv2d/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/bench/random_problems.h"
#include "tests/fakes/counted.h"

namespace dlroof::conv2d {
namespace {

constexpr fakes::ConvLimits kSmallLimits = {
    .groups = 3, .images = 3, .channels = 3, .taps = 3, .places = 5, .steps = 3, .padding = 3};
constexpr ProductDirection kAll[] = {ProductDirection::kForward, ProductDirection::kBackwardData,
                                     ProductDirection::kBackwardWeights};

template <class Number>
products::ProductArrays<Number> Arrays(const Conv2dProblem& p,
                                       const products::ProductInputs& inputs) {
  auto arrays = ZeroArrays<Number>(p);
  if (!inputs.source.empty())
    ForEachSource(p, [&](int64_t from, int64_t to) {
      arrays.source.at(to) = Number{inputs.source.at(from)};
    });
  for (size_t i = 0; i < inputs.weights.size(); ++i) arrays.weights[i] = Number{inputs.weights[i]};
  for (size_t i = 0; i < inputs.destination.size(); ++i)
    arrays.destination[i] = Number{inputs.destination[i]};
  return arrays;
}

TEST(Conv2dReference, MultipliesThePaddingToo) {
  std::mt19937 random(3);
  for (int i = 0; i < 600; ++i) {
    const auto p = fakes::RandomConv2d(random, kSmallLimits);
    for (const auto direction : kAll) {
      Conv2dCase one;
      one.problem = p;
      one.direction = direction;
      one.bias = direction != ProductDirection::kBackwardData && i % 2 == 0;
      if (direction == ProductDirection::kForward && i % 3 == 0)
        one.eltwise = workload::Eltwise::kRelu;
      auto arrays = ZeroArrays<fakes::CountedNumber>(p);
      arrays.bias.resize(p.k);
      fakes::CountedNumber::operations = 0;
      RunConv2dCase(one, arrays);
      ASSERT_EQ(fakes::CountedNumber::operations,
                2 * DestinationCount(p) * (p.c / p.groups) * p.r * p.s +
                    products::ElementwiseFlops(one, SizesOf(one)))
          << Key(direction) << ' ' << ToText(p) << one.bias << one.eltwise.has_value();
    }
  }
}

TEST(Conv2dReference, LoopsAndSingleElementsAgree) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const auto p = fakes::RandomConv2d(random, kSmallLimits);
    for (const auto direction : kAll) {
      Conv2dCase one;
      one.problem = p;
      one.direction = direction;
      const auto inputs = products::SeededInputs(one, i);
      auto arrays = Arrays<double>(p, inputs);
      RunConv2dReference(p, direction, arrays);
      auto output = direction == ProductDirection::kForward ? arrays.destination : arrays.weights;
      if (direction == ProductDirection::kBackwardData) {
        output.resize(SourceCount(p));
        ForEachSource(p, [&](int64_t to, int64_t from) { output.at(to) = arrays.source.at(from); });
      }
      for (size_t j = 0; j < output.size(); ++j) {
        const auto right = Conv2dElementAt(p, direction, inputs, static_cast<int64_t>(j));
        ASSERT_NEAR(output[j], right.value, 1e-14 * right.magnitude) << Key(direction) << ToText(p);
      }
    }
  }
}

// One channel 3x3 image 1..9, one filter 2x2 (1 2 / 3 4), no padding.
TEST(Conv2dReference, IsCrossCorrelationByHand) {
  const auto p = ParseConv2d("n1c1h3w3k1r2s2");
  products::ProductArrays<double> arrays{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4}, {0, 0, 0, 0}};
  RunConv2dReference(p, ProductDirection::kForward, arrays);
  // Upper left: 1*1 + 2*2 + 3*4 + 4*5 = 37; one step right adds 1+2+3+4 = 10, down 30.
  EXPECT_THAT(arrays.destination, testing::ElementsAre(37, 47, 67, 77));

  arrays.destination = {1, 0, 0, 10};
  RunConv2dReference(p, ProductDirection::kBackwardData, arrays);
  // The filter stamped at (0,0) once and at (1,1) ten times; they meet in the middle: 4 + 10.
  EXPECT_THAT(arrays.source, testing::ElementsAre(1, 2, 0, 3, 14, 20, 0, 30, 40));

  arrays.source = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  RunConv2dReference(p, ProductDirection::kBackwardWeights, arrays);
  // The image's patch at (0,0) (1 2 / 4 5) plus ten times that at (1,1) (5 6 / 8 9).
  EXPECT_THAT(arrays.weights, testing::ElementsAre(51, 62, 84, 95));
}

TEST(Conv2dReference, StridePaddingDilationAndGroupsByHand) {
  // Two groups of one channel each, row vectors of 4; filter taps two apart, stride 2, one zero on
  // the left: padded rows 0 1 2 3 4 and 0 5 6 7 8; outputs at 0 and 2: x0 a + x2 b, x2 a + x4 b.
  const auto p = ParseConv2d("n1c2h1w4k2r1s2_s1x2p0:0x1:0d1x2g2");
  products::ProductArrays<double> arrays{
      {0, 1, 2, 3, 4, 0, 5, 6, 7, 8}, {1, 10, 100, 1000}, {0, 0, 0, 0}};
  RunConv2dReference(p, ProductDirection::kForward, arrays);
  EXPECT_THAT(arrays.destination, testing::ElementsAre(20, 42, 6000, 8600));
}

TEST(Conv2dReferenceCell, VerifiesItselfAndKnowsItsWork) {
  for (const std::string direction :
       {"fwd", "bwd_data", "bwd_weights", "fwd+/bias/relu", "bwd_weights+/bias"}) {
    const auto plus = std::min(direction.find('+'), direction.size());
    const auto options = direction.substr(std::min(plus + 1, direction.size()));
    const auto call = workload::MakeWorkload("Conv2D/cpu/reference/" + direction.substr(0, plus) +
                                             "/f64/n2c4h9w8k6r3s2_s2x1p1:0x0:1d1x2g2" + options)
                          .prepare({});
    const auto found = call.verify();
    EXPECT_TRUE(found.ok) << direction << ' ' << found.max_error << ' ' << found.how;
    EXPECT_THAT(found.how, testing::StartsWith("all "));
    call.run();
    EXPECT_TRUE(call.verify().ok) << "a second call differs";
    EXPECT_EQ(call.modelled.flops.count("fp64.vector"), 1);
  }
}

}  // namespace
}  // namespace dlroof::conv2d
