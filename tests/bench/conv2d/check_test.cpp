#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "bench/conv2d/loops.h"
#include "bench/workload/memory.h"

namespace dlroof::conv2d {
namespace {

// 2*4*16*30*30*8*9 = 8.3 MFLOP, and one sample of it: every output is compared.
constexpr std::string_view kSmall = "n4c8h32w32k16r3s3", kOneSample = "n1c8h32w32k16r3s3";
// 2*64*28*28*64*9 = 57.8 MFLOP: a sample is.
constexpr std::string_view kLarge = "n1c64h28w28k64r3s3_p1";

Conv2dCase MadeCase(std::string_view problem, std::string_view type, bool full = false) {
  Conv2dCase one;
  one.problem = ParseConv2d(problem);
  one.type = type;
  one.types = products::ProductTypesFromKey(type);
  one.bias = full;
  if (full) one.eltwise = workload::Eltwise::kRelu;
  one.scales = full && products::IsInt8(one.types);
  return one;
}

// Returns one forward output by definition, from its single element.
double RightValue(const Conv2dCase& one, const products::ProductInputs& inputs, int64_t index) {
  const auto& p = one.problem;
  const int64_t filter = index / (delta::OutputRows(p) * delta::OutputColumns(p)) % p.k;
  double value = Conv2dElementAt(p, one.direction, inputs, index).value;
  if (one.scales) value *= 0.5 * (filter % 2 == 0 ? 0.5 : 0.25);
  if (one.bias) value += inputs.bias.at(filter);
  if (one.eltwise) value = std::max(value, 0.0);
  return value / products::ScalesOf(one).destination;
}

// A right result in the type.
std::vector<float> RightOutput(const Conv2dCase& one, const products::ProductInputs& inputs) {
  std::vector<float> output(static_cast<size_t>(DestinationCount(one.problem)));
  const auto& type = one.types.destination;
  for (size_t i = 0; i < output.size(); ++i) {
    const double exact = RightValue(one, inputs, static_cast<int64_t>(i));
    const auto value = static_cast<float>(exact);
    const auto whole = [&](double low, double high) {
      return static_cast<float>(std::clamp(std::nearbyint(exact), low, high));
    };
    output[i] = type == "u8"     ? whole(0, 255)
                : type == "s8"   ? whole(-128, 127)
                : type == "bf16" ? workload::RoundToBf16(value)
                : type == "f16"  ? workload::RoundToF16(value)
                : type == "e4m3" ? workload::RoundToE4m3(value)
                                 : value;
  }
  return output;
}

struct Fixture {
  Conv2dCase one;
  products::ProductInputs inputs;
  std::vector<float> output;

  explicit Fixture(const Conv2dCase& which)
      : one(which), inputs(products::SeededInputs(one, 1)), output(RightOutput(one, inputs)) {}
  Fixture(std::string_view text, std::string_view type) : Fixture(MadeCase(text, type)) {}

  workload::Verification Check() const { return products::CheckOutput(one, inputs, {output}, 1); }
};

constexpr std::string_view kTypes[] = {"f32",     "bf16",    "f16",    "int8",        "u8s8s8",
                                       "s8s8f32", "u8s8s32", "s8s8u8", "bf16bf16f32", "fp8"};

TEST(CheckConv2d, AcceptsRightResultsOfEveryTypeAndFindsOneWrongOutputAmongAll) {
  for (const std::string_view type : kTypes)
    for (const bool full : {false, true}) {
      Fixture fixture(MadeCase(kOneSample, type, full));
      const auto found = fixture.Check();
      EXPECT_TRUE(found.ok) << type << ' ' << found.max_error;
      EXPECT_EQ(found.how, "all 14400 outputs");  // 16*30*30
      // One part in 64 of a typical sum (72 products of deviation 1/3), or two units of an integer;
      // of fp8, which rounds by one part in 16 at most, one in three.
      fixture.output.at(7234) += products::IsInt8(fixture.one.types) ? 2.0F
                                 : type == "fp8"                     ? 1.0F
                                                                     : 0.05F;
      EXPECT_FALSE(fixture.Check().ok) << type;
    }
}

TEST(CheckConv2d, FindsAVariantThatWasNotDone) {
  for (const std::string_view type : {"f32", "bf16", "int8", "s8s8f32"}) {
    const Fixture right(MadeCase(kOneSample, type, true));
    for (const auto forget : {&Conv2dCase::bias, &Conv2dCase::scales}) {
      auto wrong = right.one;
      if (!(wrong.*forget)) continue;
      wrong.*forget = false;
      auto inputs = right.inputs;
      if (forget == &Conv2dCase::bias) inputs.bias.clear();
      EXPECT_FALSE(
          products::CheckOutput(right.one, right.inputs, {RightOutput(wrong, inputs)}, 1).ok)
          << type;
    }
    // A u8 result has no negative values that relu could take away.
    auto wrong = right.one;
    if (!wrong.eltwise || type == "int8") continue;
    wrong.eltwise.reset();
    EXPECT_FALSE(
        products::CheckOutput(right.one, right.inputs, {RightOutput(wrong, right.inputs)}, 1).ok)
        << type;
  }
}

TEST(CheckConv2d, EveryBiasGradientCounts) {
  auto one = MadeCase(kLarge, "f32");
  one.direction = ProductDirection::kBackwardWeights;
  one.bias = true;
  const auto inputs = products::SeededInputs(one, 1);
  products::ProductOutput<double> output;
  for (int64_t i = 0; i < WeightsCount(one.problem); ++i)
    output.values.push_back(Conv2dElementAt(one.problem, one.direction, inputs, i).value);
  for (int64_t k = 0; k < one.problem.k; ++k) {
    double sum = 0;  // one image of 28x28 gradients per filter
    for (int64_t i = 0; i < 784; ++i) sum += inputs.destination.at(k * 784 + i);
    output.bias_gradient.push_back(sum);
  }
  const auto found = products::CheckOutput(one, inputs, output, 1);
  EXPECT_TRUE(found.ok) << found.max_error;
  EXPECT_THAT(found.how, testing::EndsWith(", 64 bias gradients"));
  output.bias_gradient.at(63) += 0.1;
  EXPECT_FALSE(products::CheckOutput(one, inputs, output, 1).ok);
}

TEST(CheckConv2d, FpmathAllowsNarrowFactorsAndNoMore) {
  auto one = MadeCase(kSmall, "f32");
  const auto inputs = products::SeededInputs(one, 1);
  auto narrow = inputs;
  for (float& value : narrow.source) value = workload::RoundToBf16(value);
  for (float& value : narrow.weights) value = workload::RoundToBf16(value);
  auto rounded = RightOutput(one, narrow);
  EXPECT_FALSE(products::CheckOutput(one, inputs, {rounded}, 1).ok);
  one.fpmath = "bf16";
  EXPECT_TRUE(products::CheckOutput(one, inputs, {rounded}, 1).ok);
  // 72 products of size 1/4, each off by 2/256: 0.14 at most.
  rounded.at(31234) += 0.3F;
  EXPECT_FALSE(products::CheckOutput(one, inputs, {rounded}, 1).ok);
}

TEST(CheckConv2d, FindsAMissingProduct) {
  Fixture fixture(kLarge, "f32");
  auto inputs = fixture.inputs;
  inputs.source.at(0) = 0;  // reaches the first corner's output, among others
  fixture.output = RightOutput(fixture.one, inputs);
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
  auto one = MadeCase("n64c64h112w112k64r3s3_s2p0:1x0:1", "f32");
  one.direction = ProductDirection::kBackwardWeights;
  const auto& p = one.problem;
  const products::ProductInputs zeros{
      std::vector<float>(SourceCount(p)), {}, std::vector<float>(DestinationCount(p))};
  const auto found = products::CheckOutput(one, zeros, {std::vector<float>(WeightsCount(p))}, 1);
  EXPECT_TRUE(found.ok);
  const int samples = std::stoi(found.how);
  EXPECT_GT(samples, 256);
  EXPECT_LE(samples, 298);
}

TEST(SeededConv2dInputs, Int8OutputsSpreadOverTheirRange) {
  for (const std::string_view text : {"n4c8h32w32k16r3s3", "n4c8h32w32k16r1s1",
                                      "n1c64h9w9k64r9s9_p4", "n2c16h16w16k16r3s3_p1g16"})
    for (const bool scaled : {false, true}) {
      const Fixture fixture(MadeCase(text, "int8", scaled));
      double zeros = 0, full = 0, sum = 0;
      for (const float value : fixture.output) {
        sum += value;
        zeros += value == 0 ? 1 : 0;
        full += value == 255 ? 1 : 0;
      }
      const auto count = static_cast<double>(fixture.output.size());
      EXPECT_LT(zeros / count, 0.6) << text << scaled;
      EXPECT_LT(full / count, 0.05) << text << scaled;
      EXPECT_GT(sum / count, 12) << text << scaled;
    }
}

float Largest(const std::vector<float>& values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

// Without VNNI oneDNN adds 128 to an s8 source, halves the weights beside it, and adds two products
// in 16 bits: no half may be rounded, no sum may exceed 32767.
TEST(SeededConv2dInputs, Int8IsExactWithoutVnni) {
  for (const std::string_view type : {"int8", "u8s8s32", "s8s8s8", "s8s8u8", "s8s8s32", "s8s8f32"})
    for (const bool scaled : {false, true}) {
      const auto one = MadeCase(kSmall, type, scaled);
      const auto inputs = products::SeededInputs(one, 1);
      const bool is_signed = one.types.source == "s8";
      EXPECT_GE(Largest(inputs.weights), 1) << type << scaled;
      EXPECT_LE(2 * (Largest(inputs.source) + (is_signed ? 128 : 0)) * Largest(inputs.weights),
                32767)
          << type << scaled;
      const auto odd = std::ranges::count_if(
          inputs.weights, [](float weight) { return std::fmod(weight, 2) != 0; });
      EXPECT_EQ(odd > 0, !is_signed) << type << scaled;
    }
}

TEST(SeededConv2dInputs, AreThoseThatTheDirectionReads) {
  auto one = MadeCase(kSmall, "f32");
  const auto inputs = products::SeededInputs(one, 1);
  EXPECT_TRUE(inputs.destination.empty());
  EXPECT_TRUE(inputs.bias.empty());
  EXPECT_NE(inputs.source.front(), inputs.weights.front()) << "tensors share their values";
  one.bias = true;
  EXPECT_EQ(products::SeededInputs(one, 1).bias.size(), 16);
  one.direction = ProductDirection::kBackwardData;
  EXPECT_TRUE(products::SeededInputs(one, 1).source.empty());
  one.direction = ProductDirection::kBackwardWeights;
  EXPECT_TRUE(products::SeededInputs(one, 1).weights.empty());
}

// Tensor cores ignore the low 13 bits of an f32 factor.
float CutToTf32(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffffe000U);
}

TEST(CheckConv2d, AllowsFactorsCutToTf32WhereTheyMayBe) {
  auto one = MadeCase("n1c1h16w16k4r1s1", "tf32");  // one product per output: nothing averages out
  const auto inputs = products::SeededInputs(one, 3);
  auto cut = inputs;
  for (auto* tensor : {&cut.source, &cut.weights})
    for (float& value : *tensor) value = CutToTf32(value);
  const auto output = RightOutput(one, cut);
  EXPECT_FALSE(products::CheckOutput(one, inputs, {output}, 1).ok);
  one.fpmath = "tf32";
  EXPECT_FALSE(
      products::CheckOutput(one, inputs, {output}, 1).ok);  // rounding would have done better
  one.fpmath = "tf32-truncated";
  EXPECT_TRUE(products::CheckOutput(one, inputs, {output}, 1).ok);
  for (auto* tensor : {&cut.source, &cut.weights})
    for (float& value : *tensor) value = workload::RoundToBf16(value);
  EXPECT_FALSE(products::CheckOutput(one, inputs, {RightOutput(one, cut)}, 1).ok);
}

}  // namespace
}  // namespace dlroof::conv2d
