#include "bench/conv2d_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/seeded_values.h"

namespace dlroof {
namespace {

// 2*4*16*30*30*8*9 = 8.3 MFLOP: every output is compared.
constexpr std::string_view kSmall = "n4c8h32w32k16r3s3";
// 2*64*28*28*64*9 = 57.8 MFLOP: a sample is.
constexpr std::string_view kLarge = "n1c64h28w28k64r3s3_p1";

// A right result in the type, from single elements.
std::vector<float> RightOutput(const Conv2dProblem& p, Conv2dDirection direction,
                               std::string_view type, const Conv2dInputs& inputs, int64_t count) {
  std::vector<float> output(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double sum = Conv2dElementAt(p, direction, inputs, i).value;
    const auto value = static_cast<float>(sum);
    const double unit = std::nearbyint(sum / Int8DestinationScale(p));
    output.at(i) = type == "int8"   ? static_cast<float>(std::clamp(unit, 0.0, 255.0))
                   : type == "bf16" ? RoundToBf16(value)
                   : type == "f16"  ? RoundToF16(value)
                                    : value;
  }
  return output;
}

struct Fixture {
  Conv2dProblem problem;
  std::string_view type;
  Conv2dInputs inputs;
  std::vector<float> output;

  Fixture(std::string_view text, std::string_view element)
      : problem(ParseConv2d(text)),
        type(element),
        inputs(SeededConv2dInputs(problem, Conv2dDirection::kForward, type, 1)),
        output(RightOutput(problem, Conv2dDirection::kForward, type, inputs,
                           DestinationCount(problem))) {}

  Verification Check() const {
    return CheckConv2d(problem, Conv2dDirection::kForward, type, inputs, output, 1);
  }
};

TEST(CheckConv2d, AcceptsRightResultsOfEveryType) {
  for (const std::string_view type : {"f32", "bf16", "f16", "int8"}) {
    const auto found = Fixture(kSmall, type).Check();
    EXPECT_TRUE(found.ok) << type << ' ' << found.max_error;
    EXPECT_EQ(found.how, "all 57600 outputs");  // 4*16*30*30
  }
}

TEST(CheckConv2d, FindsOneWrongOutputAmongAll) {
  for (const std::string_view type : {"f32", "bf16", "f16", "int8"}) {
    Fixture fixture(kSmall, type);
    // One part in 64 of a typical sum (72 products of deviation 1/3), or two units of int8.
    fixture.output.at(31234) += type == "int8" ? 2.0F : 0.05F;
    EXPECT_FALSE(fixture.Check().ok) << type;
  }
}

TEST(CheckConv2d, FindsAMissingProduct) {
  Fixture fixture(kLarge, "f32");
  auto inputs = fixture.inputs;
  inputs.source.at(0) = 0;  // reaches the first corner's output, among others
  fixture.output = RightOutput(fixture.problem, Conv2dDirection::kForward, "f32", inputs,
                               DestinationCount(fixture.problem));
  EXPECT_FALSE(fixture.Check().ok);
}

TEST(CheckConv2d, FindsAConstantFactorInASample) {
  for (const std::string_view type : {"f32", "bf16", "int8"}) {
    Fixture fixture(kLarge, type);
    const auto found = fixture.Check();
    EXPECT_TRUE(found.ok) << found.max_error;
    EXPECT_THAT(found.how, testing::EndsWith("sampled outputs of 50176"));  // 64*28*28
    for (float& value : fixture.output) value *= 1.03F;
    EXPECT_FALSE(fixture.Check().ok) << type;
  }
}

TEST(CheckConv2d, ASampleSeesTheBorderAndTheCorners) {
  Fixture fixture(kLarge, "f32");
  fixture.output.front() += 1;
  EXPECT_FALSE(fixture.Check().ok);
  fixture.output.front() -= 1;
  fixture.output.back() += 1;
  EXPECT_FALSE(fixture.Check().ok);
  fixture.output.back() -= 1;
  // A wrong last column of every image, 1 of 28.
  for (size_t i = 27; i < fixture.output.size(); i += 28) fixture.output[i] += 1;
  EXPECT_FALSE(fixture.Check().ok);
}

TEST(CheckConv2d, EveryOutputMustBeFinite) {
  Fixture fixture(kLarge, "f32");
  fixture.output.at(23457) = std::numeric_limits<float>::quiet_NaN();
  const auto found = fixture.Check();
  EXPECT_FALSE(found.ok);
  EXPECT_THAT(found.how, testing::HasSubstr("1 of 50176 are not finite"));
  EXPECT_TRUE(std::isfinite(found.max_error));
}

TEST(CheckConv2d, LongSumsAreSampledLess) {
  // 64*56*56 = 200,704 products each: 60e6 / 200,704 = 298 samples, of 64*64*9 weights.
  const auto p = ParseConv2d("n64c64h112w112k64r3s3_s2p0:1x0:1");
  const Conv2dInputs zeros{
      std::vector<float>(SourceCount(p)), {}, std::vector<float>(DestinationCount(p))};
  const auto found = CheckConv2d(p, Conv2dDirection::kBackwardWeights, "f32", zeros,
                                 std::vector<float>(WeightsCount(p)), 1);
  EXPECT_TRUE(found.ok);
  const int samples = std::stoi(found.how);
  EXPECT_GT(samples, 256);
  EXPECT_LE(samples, 298);
}

TEST(SeededConv2dInputs, Int8OutputsSpreadOverTheirRange) {
  for (const std::string_view text : {"n4c8h32w32k16r3s3", "n4c8h32w32k16r1s1",
                                      "n1c64h9w9k64r9s9_p4", "n2c16h16w16k16r3s3_p1g16"}) {
    const Fixture fixture(text, "int8");
    int64_t saturated = 0;
    double sum = 0;
    for (const float value : fixture.output) {
      sum += value;
      saturated += value == 0 || value == 255 ? 1 : 0;
    }
    const auto count = static_cast<double>(fixture.output.size());
    EXPECT_LT(static_cast<double>(saturated) / count, 0.5) << text;
    EXPECT_GT(sum / count, 20) << text;
  }
}

TEST(SeededConv2dInputs, AreThoseThatTheDirectionReads) {
  const auto p = ParseConv2d(kSmall);
  EXPECT_TRUE(SeededConv2dInputs(p, Conv2dDirection::kForward, "f32", 1).destination.empty());
  EXPECT_TRUE(SeededConv2dInputs(p, Conv2dDirection::kBackwardData, "f32", 1).source.empty());
  EXPECT_TRUE(SeededConv2dInputs(p, Conv2dDirection::kBackwardWeights, "f32", 1).weights.empty());
  const auto inputs = SeededConv2dInputs(p, Conv2dDirection::kForward, "f32", 1);
  EXPECT_NE(inputs.source.front(), inputs.weights.front()) << "tensors share their values";
}

}  // namespace
}  // namespace dlroof
