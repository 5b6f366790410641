#include "bench/workload/products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "bench/workload/operator_parts.h"
#include "counters/base/error.h"

namespace dlroof::workload {
namespace {

TEST(ProductTypes, HaveOneSpellingEach) {
  EXPECT_EQ(ProductTypesFromKey("int8"), (ProductTypes{"u8", "s8", "u8"}));
  EXPECT_EQ(ProductTypesFromKey("bf16bf16f32"), (ProductTypes{"bf16", "bf16", "f32"}));
  EXPECT_EQ(ProductTypesFromKey("fp8"), (ProductTypes{"e4m3", "e4m3", "e4m3"}));
  EXPECT_EQ(ProductTypesFromKey("s8s8s32"), (ProductTypes{"s8", "s8", "s32"}));
  for (const std::string_view bad :
       {"u8s8u8", "f32f32f32", "bf16bf16bf16", "u8u8u8", "s32s8u8", "f32f32", "f32f32f32f32",
        "f64f32f32", "", "int4", "e4m3e4m3f32"})
    EXPECT_THROW(ProductTypesFromKey(bad), BadInput) << bad;
}

TEST(ProductTypes, AreSpelledAsTheyAreRead) {
  for (const std::string_view key : {"f32", "f64", "int8", "fp8", "bf16bf16f32", "s8s8s32"})
    EXPECT_EQ(KeyOf(ProductTypesFromKey(key)), key);
  EXPECT_FALSE(KeyOf({"s32", "s32", "s32"}));
  EXPECT_FALSE(KeyOf({"u8", "u8", "u8"}));
}

TEST(ProductTypes, DetermineTheResultsTypeAndTheComputeType) {
  ProductCase product{.types = {"f32", "bf16", "f16"}};
  EXPECT_EQ(ResultType(product), "f16");
  product.direction = ProductDirection::kBackwardData;
  EXPECT_EQ(ResultType(product), "f32");
  product.direction = ProductDirection::kBackwardWeights;
  EXPECT_EQ(ResultType(product), "bf16");
  EXPECT_EQ(ComputeType({"f32", "bf16", "bf16"}), "bf16");
  EXPECT_EQ(ComputeType({"f16", "f16", "f32"}), "f16");
  EXPECT_EQ(ComputeType({"u8", "s8", "f32"}), "int8");
  EXPECT_EQ(ComputeType({"f32", "f32", "s8"}), "f32");
  EXPECT_EQ(ComputeType({"e4m3", "e4m3", "e4m3"}), "fp8");
  EXPECT_EQ(BiasType({"u8", "s8", "u8"}), "f32");
  EXPECT_EQ(BiasType({"bf16", "bf16", "f32"}), "bf16");
}

TEST(ProductDirection, HasOneKeyEach) {
  for (const auto direction : {ProductDirection::kForward, ProductDirection::kBackwardData,
                               ProductDirection::kBackwardWeights})
    EXPECT_EQ(ProductDirectionFromKey(Key(direction)), direction);
  EXPECT_FALSE(ProductDirectionFromKey("bwd"));
}

using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = std::numeric_limits<double>::max();

// Rows of `size` ones with an allowed error of 0.1.
OutputReference Ones(int64_t units, int64_t size, double flops) {
  return {.units = units,
          .size = size,
          .flops = flops,
          .error = [](int64_t, std::span<const double> output) {
            double worst = 0;
            for (const double value : output) worst = std::max(worst, ErrorInUnits(value, 1, 0.1));
            return worst;
          }};
}

TEST(CheckOutput, ComparesEveryElementOfASmallOutput) {
  const auto reference = Ones(30, 4, 50e6);
  std::vector<float> output(120, 1);
  const auto right = CheckOutput(reference, output, 1);
  EXPECT_TRUE(right.ok);
  EXPECT_EQ(right.how, "all 120 outputs");
  for (const size_t at : {0, 59, 119}) {
    auto wrong = output;
    wrong[at] = 1.3F;
    const auto found = CheckOutput(reference, wrong, 1);
    EXPECT_FALSE(found.ok) << at;
    EXPECT_NEAR(found.max_error, 3, 1e-5) << at;
  }
  output[7] = 1.0625F;
  EXPECT_NEAR(CheckOutput(reference, output, 1).max_error, 0.625, 1e-6);
  EXPECT_TRUE(CheckOutput(reference, output, 1).ok);
}

// 5 kFLOP a row: 120e6 / 5e3 is above the most rows of a sample, 512.
TEST(CheckOutput, SamplesALargeOutputWithBothEnds) {
  const auto reference = Ones(20000, 4, 1e8);
  const std::vector<double> output(80000, 1);
  const auto right = CheckOutput(reference, output, 1);
  EXPECT_TRUE(right.ok);
  EXPECT_THAT(right.how, HasSubstr(" sampled outputs of 80000"));
  EXPECT_LE(std::stoi(right.how), 4 * 512);
  EXPECT_GE(std::stoi(right.how), 4 * 480) << "few rows are drawn twice";
  for (const size_t at : {size_t{0}, output.size() - 1}) {
    auto wrong = output;
    wrong[at] = 2;
    EXPECT_FALSE(CheckOutput(reference, wrong, 1).ok) << at;
  }
}

TEST(CheckOutput, SamplesFewerExpensiveUnits) {
  auto reference = Ones(1000, 1, 1e9);  // 1 MFLOP a unit: 120 of them
  const std::vector<double> output(1000, 1);
  EXPECT_LE(std::stoi(CheckOutput(reference, output, 1).how), 120);
  reference.unit_flops = 1e9;
  EXPECT_LE(std::stoi(CheckOutput(reference, output, 1).how), 64);
  reference.sample = [](int64_t count, uint64_t) { return std::vector<int64_t>{count}; };
  EXPECT_EQ(CheckOutput(reference, output, 1).how, "1 sampled outputs of 1000");
}

TEST(CheckOutput, FindsWhatIsNotFiniteOutsideOfASampleToo) {
  auto reference = Ones(1000, 1, 1e9);
  reference.sample = [](int64_t, uint64_t) { return std::vector<int64_t>{0}; };
  std::vector<double> output(1000, 1);
  output[500] = kNaN;
  const auto found = CheckOutput(reference, output, 1);
  EXPECT_FALSE(found.ok);
  EXPECT_EQ(found.max_error, 0);
  EXPECT_THAT(found.how, HasSubstr("1 of 1000 are not finite"));
}

TEST(CheckOutput, RefusesAnotherNumberOfElements) {
  EXPECT_THROW(CheckOutput(Ones(3, 4, 1), std::vector<float>(11), 1), std::logic_error);
}

TEST(ErrorInUnits, IsLargestForWhatIsNoNumber) {
  EXPECT_EQ(ErrorInUnits(3, 1, 4), 0.5);
  EXPECT_EQ(ErrorInUnits(1, 1, 0), 0);
  EXPECT_EQ(ErrorInUnits(2, 1, 0), kMax);
  EXPECT_EQ(ErrorInUnits(kNaN, 1, 4), kMax);
  EXPECT_EQ(ErrorInUnits(std::numeric_limits<double>::infinity(), 1, 4), kMax);
}

TEST(RoundingOf, KnowsTheFloatingPointTypes) {
  EXPECT_EQ(RoundingOf("bf16").value().result, 0x1p-8);
  EXPECT_EQ(RoundingOf("f16").value().least, 0x1p-25);
  EXPECT_FALSE(RoundingOf("s8"));
}

}  // namespace
}  // namespace dlroof::workload
