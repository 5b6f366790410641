#include "bench/conv2d/loops.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "bench/conv2d/case.h"
#include "bench/conv2d/conv3d.h"
#include "bench/workload/memory.h"
#include "tests/bench/random_problems.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/refusal.h"

namespace dlroof::conv2d {
namespace {

using fakes::Between;
using testing::HasSubstr;
using workload::ProductArrays, workload::ProductInputs;

constexpr fakes::ConvLimits kSmallLimits = {
    .groups = 3, .images = 3, .channels = 3, .taps = 3, .places = 5, .steps = 3, .padding = 3};
constexpr ProductDirection kAll[] = {ProductDirection::kForward, ProductDirection::kBackwardData,
                                     ProductDirection::kBackwardWeights};

TEST(Conv2dReference, LoopsAndSingleElementsAgreeWithCrossCorrelationByHand) {
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    const auto p = fakes::RandomConv2d(random, kSmallLimits);
    for (const auto direction : kAll) {
      Conv2dCase conv;
      conv.problem = p;
      conv.direction = direction;
      const auto inputs = workload::SeededInputs(conv, i);
      auto arrays = FilledArrays(conv, inputs);
      RunConv2dReference(p, direction, arrays);
      auto output = direction == ProductDirection::kForward ? arrays.destination : arrays.weights;
      if (direction == ProductDirection::kBackwardData) {
        output.resize(SizesOf(p).source);
        ForEachSource(p, [&](int64_t to, int64_t from) { output.at(to) = arrays.source.at(from); });
      }
      for (size_t j = 0; j < output.size(); ++j) {
        const auto right = ResultOf(conv, inputs).element(static_cast<int64_t>(j));
        ASSERT_NEAR(output[j], right.value, 1e-14 * right.magnitude) << Key(direction) << ToText(p);
      }
    }
  }
  // One channel 3x3 image 1..9, one filter 2x2 (1 2 / 3 4), no padding.
  const auto p = ParseConv2d("n1c1h3w3k1r2s2");
  ProductArrays<double> arrays{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4}, {0, 0, 0, 0}};
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
  // Two groups of one channel each, row vectors of 4; filter taps two apart, stride 2, one zero on
  // the left: padded rows 0 1 2 3 4 and 0 5 6 7 8; outputs at 0 and 2: x0 a + x2 b, x2 a + x4 b.
  const auto q = ParseConv2d("n1c2h1w4k2r1s2_s1x2p0:0x1:0d1x2g2");
  ProductArrays<double> strided{{0, 1, 2, 3, 4, 0, 5, 6, 7, 8}, {1, 10, 100, 1000}, {0, 0, 0, 0}};
  RunConv2dReference(q, ProductDirection::kForward, strided);
  EXPECT_THAT(strided.destination, testing::ElementsAre(20, 42, 6000, 8600));
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

// 2*4*16*30*30*8*9 = 8.3 MFLOP, and one sample of it: every output is compared.
constexpr std::string_view kSmall = "n4c8h32w32k16r3s3", kOneSample = "n1c8h32w32k16r3s3";
// 2*64*28*28*64*9 = 57.8 MFLOP: a sample is.
constexpr std::string_view kLarge = "n1c64h28w28k64r3s3_p1";

Conv2dCase MadeCase(std::string_view problem, std::string_view type, bool full = false) {
  Conv2dCase conv;
  conv.problem = ParseConv2d(problem);
  conv.type = type;
  conv.types = workload::ProductTypesFromKey(type);
  conv.bias = full;
  if (full) conv.eltwise = workload::Eltwise::kRelu;
  conv.scales = full && workload::IsInt8(conv.types);
  return conv;
}

// Returns one forward output by definition, from its single element.
double RightValue(const Conv2dCase& conv, const ProductInputs& inputs, int64_t index) {
  const auto& p = conv.problem;
  const int64_t filter = index / (delta::OutputRows(p) * delta::OutputColumns(p)) % p.k;
  double value = ResultOf(conv, inputs).element(index).value;
  if (conv.scales) value *= 0.5 * (filter % 2 == 0 ? 0.5 : 0.25);
  if (conv.bias) value += inputs.bias.at(filter);
  if (conv.eltwise) value = std::max(value, 0.0);
  return value / workload::ScalesOf(conv).destination;
}

// A right result in the type.
std::vector<float> RightOutput(const Conv2dCase& conv, const ProductInputs& inputs) {
  std::vector<float> output;
  const auto& type = conv.types.destination;
  for (int64_t i = 0; i < SizesOf(conv).destination; ++i) {
    const auto value = static_cast<float>(RightValue(conv, inputs, i));
    output.push_back(type == "u8"   ? std::clamp(value, 0.0F, 255.0F)
                     : type == "s8" ? std::clamp(value, -128.0F, 127.0F)
                                    : value);
  }
  return workload::Decoded(workload::Encoded(output, type), type);
}

struct Fixture {
  Conv2dCase conv;
  ProductInputs inputs;
  std::vector<float> output;

  explicit Fixture(const Conv2dCase& which)
      : conv(which), inputs(workload::SeededInputs(conv, 1)), output(RightOutput(conv, inputs)) {}
  Fixture(std::string_view text, std::string_view type) : Fixture(MadeCase(text, type)) {}

  workload::Verification Check() const { return CheckOutput(conv, inputs, {output}, 1); }
};

constexpr std::string_view kTypes[] = {"f32",     "bf16",    "f16",    "int8",        "u8s8s8",
                                       "s8s8f32", "u8s8s32", "s8s8u8", "bf16bf16f32", "fp8"};

TEST(CheckConv2d, FindsOneWrongOutputAmongAllAndAVariantThatWasNotDone) {
  for (const std::string_view type : kTypes)
    for (const bool full : {false, true}) {
      Fixture fixture(MadeCase(kOneSample, type, full));
      const auto found = fixture.Check();
      EXPECT_TRUE(found.ok) << type << ' ' << found.max_error;
      EXPECT_EQ(found.how, "all 14400 outputs");  // 16*30*30
      // One part in 64 of a typical sum (72 products of deviation 1/3), or two units of an integer;
      // of fp8, which rounds by one part in 16 at most, one in three.
      fixture.output.at(7234) += workload::IsInt8(fixture.conv.types) ? 2.0F
                                 : type == "fp8"                      ? 1.0F
                                                                      : 0.05F;
      EXPECT_FALSE(fixture.Check().ok) << type;
    }
  for (const std::string_view type : {"f32", "bf16", "int8", "s8s8f32"}) {
    const Fixture right(MadeCase(kOneSample, type, true));
    for (const auto forget : {&Conv2dCase::bias, &Conv2dCase::scales}) {
      auto wrong = right.conv;
      if (!(wrong.*forget)) continue;
      wrong.*forget = false;
      auto inputs = right.inputs;
      if (forget == &Conv2dCase::bias) inputs.bias.clear();
      EXPECT_FALSE(CheckOutput(right.conv, right.inputs, {RightOutput(wrong, inputs)}, 1).ok)
          << type;
    }
    // A u8 result has no negative values that relu could take away.
    auto wrong = right.conv;
    if (!wrong.eltwise || type == "int8") continue;
    wrong.eltwise.reset();
    EXPECT_FALSE(CheckOutput(right.conv, right.inputs, {RightOutput(wrong, right.inputs)}, 1).ok)
        << type;
  }
}

TEST(CheckConv2d, EveryBiasGradientCountsAndFpmathAllowsNarrowFactorsAndNoMore) {
  auto conv = MadeCase(kLarge, "f32");
  conv.direction = ProductDirection::kBackwardWeights;
  conv.bias = true;
  const auto inputs = workload::SeededInputs(conv, 1);
  workload::ProductOutput<double> output;
  for (int64_t i = 0; i < SizesOf(conv).weights; ++i)
    output.values.push_back(ResultOf(conv, inputs).element(i).value);
  for (int64_t k = 0; k < conv.problem.k; ++k) {
    double sum = 0;  // one image of 28x28 gradients per filter
    for (int64_t i = 0; i < 784; ++i) sum += inputs.destination.at(k * 784 + i);
    output.bias_gradient.push_back(sum);
  }
  const auto found = CheckOutput(conv, inputs, output, 1);
  EXPECT_TRUE(found.ok) << found.max_error;
  EXPECT_THAT(found.how, testing::EndsWith(", 64 bias gradients"));
  output.bias_gradient.at(63) += 0.1;
  EXPECT_FALSE(CheckOutput(conv, inputs, output, 1).ok);
  auto small = MadeCase(kSmall, "f32");
  const auto plain = workload::SeededInputs(small, 1);
  auto narrow = plain;
  for (float& value : narrow.source) value = workload::RoundToBf16(value);
  for (float& value : narrow.weights) value = workload::RoundToBf16(value);
  auto rounded = RightOutput(small, narrow);
  EXPECT_FALSE(CheckOutput(small, plain, {rounded}, 1).ok);
  small.fpmath = "bf16";
  EXPECT_TRUE(CheckOutput(small, plain, {rounded}, 1).ok);
  // 72 products of size 1/4, each off by 2/256: 0.14 at most.
  rounded.at(31234) += 0.3F;
  EXPECT_FALSE(CheckOutput(small, plain, {rounded}, 1).ok);
}

TEST(CheckConv2d, FindsAMissingProductAConstantFactorAndErrorsAtTheBorderInASample) {
  Fixture fixture(kLarge, "f32");
  auto inputs = fixture.inputs;
  inputs.source.at(0) = 0;  // reaches the first corner's output, among others
  fixture.output = RightOutput(fixture.conv, inputs);
  EXPECT_FALSE(fixture.Check().ok);
  for (const std::string_view type : {"f32", "bf16", "int8"}) {
    Fixture large(kLarge, type);
    const auto found = large.Check();
    EXPECT_TRUE(found.ok) << found.max_error;
    EXPECT_THAT(found.how, testing::EndsWith("sampled outputs of 50176"));  // 64*28*28
    for (float& value : large.output) value *= 1.03F;
    EXPECT_FALSE(large.Check().ok) << type;
  }
  Fixture sampled(kLarge, "f32");
  sampled.output.front() += 1;
  EXPECT_FALSE(sampled.Check().ok);
  sampled.output.front() -= 1;
  sampled.output.back() += 1;
  EXPECT_FALSE(sampled.Check().ok);
  sampled.output.back() -= 1;
  // A wrong last column of every image, 1 of 28.
  for (size_t i = 27; i < sampled.output.size(); i += 28) sampled.output[i] += 1;
  EXPECT_FALSE(sampled.Check().ok);
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
      const auto conv = MadeCase(kSmall, type, scaled);
      const auto inputs = workload::SeededInputs(conv, 1);
      const bool is_signed = conv.types.source == "s8";
      EXPECT_GE(Largest(inputs.weights), 1) << type << scaled;
      EXPECT_LE(2 * (Largest(inputs.source) + (is_signed ? 128 : 0)) * Largest(inputs.weights),
                32767)
          << type << scaled;
      const auto odd = std::ranges::count_if(
          inputs.weights, [](float weight) { return std::fmod(weight, 2) != 0; });
      EXPECT_EQ(odd > 0, !is_signed) << type << scaled;
    }
}

// Tensor cores ignore the low 13 bits of an f32 factor.
float CutToTf32(float value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffffe000U);
}

TEST(CheckConv2d, AllowsFactorsCutToTf32WhereTheyMayBe) {
  auto conv = MadeCase("n1c1h16w16k4r1s1", "tf32");  // one product per output: nothing averages out
  const auto inputs = workload::SeededInputs(conv, 3);
  auto cut = inputs;
  for (auto* tensor : {&cut.source, &cut.weights})
    for (float& value : *tensor) value = CutToTf32(value);
  const auto output = RightOutput(conv, cut);
  EXPECT_FALSE(CheckOutput(conv, inputs, {output}, 1).ok);
  conv.fpmath = "tf32";
  EXPECT_FALSE(CheckOutput(conv, inputs, {output}, 1).ok);  // rounding would have done better
  conv.fpmath = "tf32-truncated";
  EXPECT_TRUE(CheckOutput(conv, inputs, {output}, 1).ok);
  for (auto* tensor : {&cut.source, &cut.weights})
    for (float& value : *tensor) value = workload::RoundToBf16(value);
  EXPECT_FALSE(CheckOutput(conv, inputs, {RightOutput(conv, cut)}, 1).ok);
}

Conv3dProblem RandomProblem(std::mt19937& random, int64_t most) {
  Conv3dProblem p;
  p.groups = Between(random, 1, 3);
  p.n = Between(random, 1, 2);
  p.c = p.groups * Between(random, 1, 2);
  p.k = p.groups * Between(random, 1, 3);
  for (auto& axis : p.axes) {
    axis = {.size = Between(random, 1, most),
            .filter = Between(random, 1, 3),
            .stride = Between(random, 1, 3),
            .dilation = Between(random, 1, 2),
            .pad_before = Between(random, 0, 3),
            .pad_after = Between(random, 0, 2)};
    const int64_t extent = (axis.filter - 1) * axis.dilation + 1;
    axis.size = std::max(axis.size, extent - axis.pad_before - axis.pad_after);
  }
  return p;
}

// A product of the convolution: row-major indices into source, weights and destination.
struct Term {
  int64_t source, weight, destination;
};

// Every multiply-add inside the volume, by the definition in seven nested loops.
std::vector<Term> AllTerms(const Conv3dProblem& p) {
  std::vector<Term> terms;
  const auto [d, h, w] = p.axes;
  const int64_t depth = p.c / p.groups, filters = p.k / p.groups;
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t c = 0; c < depth; ++c)
        for (int64_t out = 0; out < Outputs(d) * Outputs(h) * Outputs(w); ++out)
          for (int64_t tap = 0; tap < d.filter * h.filter * w.filter; ++tap) {
            const int64_t z = out / (Outputs(h) * Outputs(w)) * d.stride +
                              tap / (h.filter * w.filter) * d.dilation - d.pad_before;
            const int64_t y = out / Outputs(w) % Outputs(h) * h.stride +
                              tap / w.filter % h.filter * h.dilation - h.pad_before;
            const int64_t x =
                out % Outputs(w) * w.stride + tap % w.filter * w.dilation - w.pad_before;
            if (z < 0 || y < 0 || x < 0 || z >= d.size || y >= h.size || x >= w.size) continue;
            const int64_t channel = k / filters * depth + c;
            terms.push_back({(((n * p.c + channel) * d.size + z) * h.size + y) * w.size + x,
                             (k * depth + c) * d.filter * h.filter * w.filter + tap,
                             (n * p.k + k) * Outputs(d) * Outputs(h) * Outputs(w) + out});
          }
  return terms;
}

TEST(Conv3d, ProblemAndTextAreInverse) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto problem = RandomProblem(random, 90);
    ASSERT_EQ(ParseConv3d(ToText(problem)), problem) << ToText(problem);
  }
  EXPECT_EQ(ParseConv3d("n1c2d3h4w5k6t1r2s3_s1x2x2p2:0x1:1x0:1d1x1x2g2").axes[2],
            (VolumeAxis{5, 3, 2, 2, 0, 1}));
}

TEST(Conv3d, FlopsElementsAndSizesAreThoseOfTheDefinition) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    Conv3dCase conv;
    conv.problem = RandomProblem(random, 5);
    const auto terms = AllTerms(conv.problem);
    const auto text = ToText(conv.problem);
    ASSERT_EQ(Flops(conv.problem), 2 * std::ssize(terms)) << text;
    int64_t dense = 2 * conv.problem.n * conv.problem.k * (conv.problem.c / conv.problem.groups);
    for (const auto& axis : conv.problem.axes) dense *= Outputs(axis) * axis.filter;
    ASSERT_EQ(DenseFlops(conv.problem), dense) << text;
    const auto& p = conv.problem;
    int64_t sources = p.n * p.c, weights = p.k * p.c / p.groups, outputs = p.n * p.k;
    for (const auto& axis : p.axes)
      sources *= axis.size, weights *= axis.filter, outputs *= Outputs(axis);
    ASSERT_EQ(workload::ProductWork(conv, "").bytes.at(Level::kDram),
              static_cast<double>(4 * (sources + weights + outputs)));
    for (const auto direction : kAll) {
      conv.direction = direction;
      const auto in = workload::SeededInputs(conv, 3);
      const auto right = ResultOf(conv, in);
      std::vector<double> sums(static_cast<size_t>(right.count));
      std::vector<int64_t> counts(sums.size());
      for (const auto& [source, weight, destination] : terms) {
        const auto [at, first, second] =
            direction == ProductDirection::kForward
                ? std::tuple(destination, in.source.at(source), in.weights.at(weight))
            : direction == ProductDirection::kBackwardData
                ? std::tuple(source, in.destination.at(destination), in.weights.at(weight))
                : std::tuple(weight, in.source.at(source), in.destination.at(destination));
        sums.at(at) += double{first} * double{second};
        ++counts.at(at);
      }
      for (int64_t j = 0; j < right.count; ++j) {
        ASSERT_NEAR(right.element(j).value, sums.at(j), 1e-12) << text << ' ' << j;
        ASSERT_LE(counts.at(j), right.terms) << text;
      }
      for (const auto index : right.sample(100, 7)) ASSERT_LT(index, right.count) << text;
    }
  }
  Conv3dCase conv;
  conv.problem = ParseConv3d("n2c4d5h6w7k6t3r1s2_p2:0x0:0x0:0g2");
  const auto sizes = SizesOf(conv);
  EXPECT_EQ(sizes.source, 2 * 4 * 5 * 6 * 7);
  EXPECT_EQ(sizes.weights, 6 * 2 * 3 * 1 * 2);
  EXPECT_EQ(sizes.destination, 2 * 6 * 5 * 6 * 6);  // 5 + 2 - 2 frames
  EXPECT_EQ(sizes.terms, 2 * 3 * 2);
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf(ParseConv3d, text, 10);
  };
  EXPECT_THAT(refusal("n1c1d2h4w4k1t3r1s1"),
              HasSubstr("column 11: the filter spans 3 frames but the padded volume has 2"));
  EXPECT_THAT(refusal("n1c1d4h4w4k1t1r1s1_s1x1x1"), HasSubstr("column 29: write this problem as"));
  EXPECT_THAT(refusal("n1c1d4h4w4k1t1r1s1_p1:1x0:0x0:0d2"), HasSubstr("p1x0x0d2"));
  EXPECT_THAT(refusal("n1c3d4h4w4k2t1r1s1_g2"), HasSubstr("3 channels do not divide"));
  EXPECT_THAT(refusal("n1c1h4w4k1r1s1"), HasSubstr("column 15: expected 'd'"));
  EXPECT_THAT(refusal("n1c2000000000d2000000000h2000000000w1k1t1r1s1"), HasSubstr("overflow"));
}

constexpr fakes::ForeignLine kVolumes[] = {
    {"--conv --dir=FWD_I g2mb3ic4id5ih6iw7oc6kd3kh3kw1pd1ph1pw0sd2",
     "fwd/f32/n3c4d5h6w7k6t3r3s1_s2x1x1p1x1x0g2"},
    // Two frames of padding in front, none behind: 5 + 2 - 2 outputs.
    {"--conv --dir=BWD_D mb1ic4id5ih6iw6oc6od5oh6ow6kd3kh3kw3pd2ph1pw1",
     "bwd_data/f32/n1c4d5h6w6k6t3r3s3_p2:0x1:1x1:1"},
    {"--conv --stag=axb --dtag=axb id4ic4oc4kd1", "!layout or algorithm of a 3-D convolution"}};

TEST(Conv3d, BenchdnnsLinesAreItsNamesAndBack) {
  fakes::ExpectBenchmarks(kVolumes, "Conv3D/cpu/onednn/");
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    auto problem = RandomProblem(random, 9);
    for (auto& axis : problem.axes) {
      axis.pad_after = axis.pad_before;
      axis.size += 2;  // the filter fits
    }
    const auto name = "Conv3D/cpu/onednn/fwd/bf16/" + ToText(problem);
    const auto line = [&](const std::string& options) {
      return ConvBenchdnn(ReadOnednnConv3dCase(workload::ParseBenchmarkName(name + options)));
    };
    ASSERT_FALSE(line("/bias")) << "benchdnn has no inference with bias";
    ASSERT_EQ(fakes::BenchmarkOf(line("/training/bias").value()), name + "/training/bias");
  }
}

}  // namespace
}  // namespace dlroof::conv2d
