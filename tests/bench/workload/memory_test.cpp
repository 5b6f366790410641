#include "bench/workload/memory.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "bench/conv2d/conv3d.h"
#include "bench/matmul/grouped.h"
#include "bench/rows/rows.h"
#include "bench/workload/workload.h"
#include "counters/base/numbers.h"

namespace dlroof::workload {
namespace {

using testing::ElementsAre;

TEST(HostMemory, WhatCannotFitIsUnsupportedAndNotTried) {
  EXPECT_NO_THROW(RequireHostMemory(1e6, "a small one"));
  EXPECT_THROW(RequireHostMemory(1e18, "a large one"), Unsupported);
  // 2^31 - 1 images of 64 channels, 2.2e15 byte and more in double; 1e6 steps of 1e6 samples of 64
  // channels and more, 64e12 elements of 8 byte.
  for (const char* name : {"Conv2D/cpu/reference/fwd/f64/n2147483647c64h64w64k64r1s1",
                           "LSTM/cpu/reference/bwd/f64/t1000000n1000000i64h64"})
    EXPECT_THROW(MakeWorkload(name).prepare({}), Unsupported) << name;
}

std::size_t Page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

unsigned char* BytesOf(const FoldedMemory& memory) {
  return static_cast<unsigned char*>(memory.begin());
}

TEST(FoldedMemory, RepeatsItsPagesAndOfAllItsBytesNone) {
  const FoldedMemory memory(7 * Page() + 5, 2 * Page() - 3);
  ASSERT_EQ(memory.distinct(), 2 * Page());
  auto* const bytes = BytesOf(memory);
  bytes[1] = 42;
  bytes[5 * Page() + 7] = 43;
  EXPECT_EQ(bytes[6 * Page() + 1], 42);
  EXPECT_EQ(bytes[7 * Page() + 4], 0) << "the last byte";
  EXPECT_EQ(bytes[Page() + 7], 43);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % (std::size_t{2} << 20), 0U);
  const FoldedMemory whole(3 * Page(), 3 * Page());
  std::memset(whole.begin(), 1, 3 * Page());
  BytesOf(whole)[0] = 2;
  EXPECT_EQ(BytesOf(whole)[Page()], 1);
  EXPECT_EQ(BytesOf(whole)[2 * Page()], 1);
  FoldedMemory least(0, 0);
  EXPECT_EQ(least.distinct(), Page());
  BytesOf(least)[0] = 1;
  const FoldedMemory moved(std::move(least));
  EXPECT_EQ(BytesOf(moved)[0], 1);
  EXPECT_THROW(FoldedMemory(std::size_t{1} << 60, Page()), std::system_error);
}

TEST(DistinctBytes, AreWholeForSmallTensorsAndSharedByTheOthers) {
  EXPECT_THAT(DistinctBytes({1000, 10, 600}, 410), ElementsAre(200, 10, 200));
  EXPECT_THAT(DistinctBytes({1000, 10, 100}, 410), ElementsAre(300, 10, 100));
  EXPECT_THAT(DistinctBytes({5, 6}, std::numeric_limits<double>::infinity()), ElementsAre(5, 6));
  EXPECT_THAT(DistinctBytes({5, 6}, 0), ElementsAre(0, 0));
  EXPECT_THAT(DistinctBytes({}, 10), ElementsAre());
}

TEST(SeededValues, AreTheSameEverywhereAndFillTheirRangeEvenlyInTheirType) {
  // splitmix64's published first output for seed 0 is 0xe220a8397b1dcdaf; its top 24 bits are
  // 0xe220a8, so the first value in [0, 1] is 0xe220a8 / 2^24.
  EXPECT_EQ(SeededValues(1, 0, "f32", 0, 1).at(0), static_cast<float>(0xe220a8) / 16777216.0F);
  EXPECT_EQ(SeededValues(100, 7, "f32", -1, 1), SeededValues(100, 7, "f32", -1, 1));
  EXPECT_NE(SeededValues(100, 7, "f32", -1, 1), SeededValues(100, 8, "f32", -1, 1));
  auto longer = SeededValues(50, 3, "bf16", -2, 2);
  longer.resize(20);
  EXPECT_EQ(SeededValues(20, 3, "bf16", -2, 2), longer);
  const auto values = SeededValues(100000, 1, "f32", -0.5F, 1.5F);
  EXPECT_GE(*std::ranges::min_element(values), -0.5F);
  EXPECT_LE(*std::ranges::max_element(values), 1.5F);
  // Ten bins of 10,000 on average; the standard deviation of one is sqrt(1e5 * 0.1 * 0.9) = 95.
  std::vector<int> bins(10);
  for (const float value : values) ++bins.at(std::min(9, static_cast<int>((value + 0.5F) / 0.2F)));
  for (const int bin : bins) EXPECT_NEAR(bin, 10000, 500);
  const auto integers = SeededValues(1000, 5, "s8", -3, 4);
  const std::set<float> seen(integers.begin(), integers.end());
  EXPECT_EQ(seen, (std::set<float>{-3, -2, -1, 0, 1, 2, 3, 4}));
  for (const float value : SeededValues(1000, 2, "bf16", -1, 1))
    EXPECT_EQ(RoundToBf16(value), value);
  for (const float value : SeededValues(1000, 2, "f16", -1, 1)) EXPECT_EQ(RoundToF16(value), value);
  EXPECT_THROW(SeededValues(1, 1, "f8", 0, 1), std::logic_error);
  EXPECT_THROW(SeededValues(-1, 1, "f32", 0, 1), std::logic_error);
  EXPECT_THROW(SeededValues(1, 1, "f32", 1, 0), std::logic_error);
  EXPECT_TRUE(SeededValues(0, 1, "u8", 0, 1).empty());
  const auto indices = SeededIndices(1000, 4, 7);
  EXPECT_EQ(std::set<int64_t>(indices.begin(), indices.end()),
            (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(indices, SeededIndices(1000, 4, 7));
  EXPECT_THROW(SeededIndices(1, 1, 0), std::logic_error);
}

// The nearest f16 by arithmetic alone: steps of 2^(exponent - 10), below 2^-14 of 2^-24.
uint16_t SlowF16Bits(float value) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  const double size = std::fabs(value);
  if (size >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(size, &exponent);
  const int scale = std::max(exponent - 1, -14);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - scale)));
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(scale + 14) << 10) + steps));
}

float SlowFromF16Bits(uint16_t bits) {
  const int biased = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  double size = std::ldexp(biased == 0 ? fraction : fraction + 1024, std::max(biased, 1) - 25);
  if (biased == 31)
    size = fraction == 0 ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  return static_cast<float>((bits & 0x8000) != 0 ? -size : size);
}

TEST(F16Bits, AreTheSlowOnesOfAMillionFloatsAndEveryPatternIsTheSlowOnesValueAndComesBack) {
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(RandomBits(i));
    ASSERT_EQ(F16Bits(value), SlowF16Bits(value)) << value;
    // Most patterns are out of an f16's range; these are in it, subnormal ones too.
    const float near =
        std::ldexp(static_cast<float>(RandomBits(i)), -32 - static_cast<int>(i % 28));
    ASSERT_EQ(F16Bits(near), SlowF16Bits(near)) << near;
    ASSERT_EQ(RoundToF16(near), SlowFromF16Bits(SlowF16Bits(near))) << near;
  }
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = FromF16Bits(static_cast<uint16_t>(bits));
    const float slow = SlowFromF16Bits(static_cast<uint16_t>(bits));
    ASSERT_EQ(std::isnan(value), std::isnan(slow));
    if (!std::isnan(slow)) {
      ASSERT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(slow)) << bits;
      ASSERT_EQ(F16Bits(value), bits);
    }
    if (std::isfinite(value)) {
      ASSERT_EQ(RoundToF16(value), value);
    }
  }
}

TEST(Bf16Bits, AreTheNearestOfAMillionFloatsAndAreTheUpperHalfOfF32) {
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(RandomBits(i));
    const float near = FromBf16Bits(Bf16Bits(value));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(near));
    } else if (std::isfinite(near)) {
      // Exact in double: neither neighbour is nearer, and of two at the same distance it is even.
      const double error = std::fabs(static_cast<double>(near) - static_cast<double>(value));
      for (const int step : {-1, 1}) {
        const auto bits = static_cast<uint16_t>(Bf16Bits(value) + step);
        const double other =
            std::fabs(static_cast<double>(FromBf16Bits(bits)) - static_cast<double>(value));
        ASSERT_TRUE(error < other || (error == other && Bf16Bits(value) % 2 == 0) ||
                    std::isnan(other))
            << value;
      }
    } else {
      ASSERT_GE(std::fabs(static_cast<double>(value)), 0x1.ffp127);
    }
  }
  EXPECT_EQ(Bf16Bits(1.0F), 0x3f80);
  EXPECT_EQ(Bf16Bits(-2.5F), 0xc020);
  EXPECT_EQ(Bf16Bits(1 + 0x1p-8F), 0x3f80);  // a tie goes to the even one
  EXPECT_EQ(FromBf16Bits(0xbf80), -1.0F);
}

// OCP 8-bit floating point: sign, 4 bits of exponent with bias 7, 3 of fraction, no infinity.
TEST(E4m3Bits, AreThoseOfOcp) {
  EXPECT_EQ(E4m3Bits(0.0F), 0x00);
  EXPECT_EQ(E4m3Bits(1.0F), 0x38);
  EXPECT_EQ(E4m3Bits(-1.125F), 0xb9);
  EXPECT_EQ(E4m3Bits(1.0625F), 0x38);  // a tie goes to the even one
  EXPECT_EQ(E4m3Bits(448.0F), 0x7e);   // the largest
  EXPECT_EQ(E4m3Bits(1000.0F), 0x7e);
  EXPECT_EQ(E4m3Bits(0x1p-9F), 0x01);  // the smallest
  EXPECT_EQ(E4m3Bits(0x1p-6F), 0x08);  // the smallest normal one
  EXPECT_TRUE(std::isnan(FromE4m3Bits(0x7f)));
  EXPECT_TRUE(std::isnan(FromE4m3Bits(0xff)));
  for (uint32_t bits = 0; bits <= 0xff; ++bits) {
    const float value = FromE4m3Bits(static_cast<uint8_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(E4m3Bits(value), bits);
  }
}

TEST(Encoded, ComesBackInEveryType) {
  for (const char* type : {"f32", "f16", "bf16", "e4m3"}) {
    const auto values = SeededValues(1000, 3, type, -4, 4);
    EXPECT_EQ(Decoded(Encoded(values, type), type), values) << type;
  }
  EXPECT_EQ(Decoded(Encoded({-128, -1, 0, 127}, "s8"), "s8"),
            (std::vector<float>{-128, -1, 0, 127}));
  EXPECT_EQ(Decoded(Encoded({0, 255}, "u8"), "u8"), (std::vector<float>{0, 255}));
  EXPECT_EQ(Encoded({-1}, "s8"), std::vector<std::byte>{std::byte{0xff}});
  EXPECT_EQ(Encoded({1, -2}, "f16").size(), 4U);
  EXPECT_EQ(Decoded(Encoded({-70000}, "s32"), "s32"), std::vector<float>{-70000});
  EXPECT_EQ(EncodedDoubles({16777217}, "s32"),
            (std::vector{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{1}}));
  EXPECT_EQ(EncodedDoubles({1, -2}, "f16"), Encoded({1, -2}, "f16"));
  EXPECT_THROW(Encoded({1}, "f8"), std::logic_error);
  EXPECT_THROW(Decoded({std::byte{0}}, "f16"), std::logic_error);
}

// n1 c2 h2 w3: position (c, h, w) of NHWC memory is (h x 3 + w) x 2 + c.
TEST(ToStrides, PutsChannelsLast) {
  const std::array<int64_t, 4> dimensions = {1, 2, 2, 3}, nhwc = {12, 1, 6, 2};
  const std::vector<float> plain = {0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 104, 105};
  const std::vector<float> memory = {0, 100, 1, 101, 2, 102, 3, 103, 4, 104, 5, 105};
  EXPECT_EQ(ToStrides(plain, dimensions, nhwc), memory);
  EXPECT_EQ(FromStrides(memory, dimensions, nhwc), plain);
  EXPECT_EQ(ToStrides(plain, dimensions, {12, 6, 3, 1}), plain);
  EXPECT_THROW(ToStrides({1}, dimensions, nhwc), std::logic_error);
}

// OCP Microscaling Formats 1.0, 5.3.3: all values of e2m1; the first of two has the low bits.
TEST(E2m1, HasSixteenValuesInPairs) {
  const std::vector<float> values = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6};
  EXPECT_EQ(Decoded(Encoded(values, "e2m1"), "e2m1").size(), 16U);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(Decoded(Encoded(values, "e2m1"), "e2m1")[i], values[i]);
  EXPECT_EQ(Encoded({1, -6}, "e2m1"), std::vector<std::byte>{std::byte{0xf2}});
  // Rounds ties to even and saturates.
  EXPECT_THAT(Decoded(Encoded({2.5F, 5, -100, 100}, "e2m1"), "e2m1"), ElementsAre(2, 4, -6, 6));
}

// Two's complement; the first of two has the low bits, and the last of an odd number is padded.
TEST(IntegersOf4Bits, AreStoredInPairs) {
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> of;
    for (const int value : values) of.push_back(static_cast<std::byte>(value));
    return of;
  };
  EXPECT_EQ(Encoded({-8, 7, -1}, "s4"), bytes({0x78, 0x0f}));
  EXPECT_EQ(Encoded({15, 0, 9, 10}, "u4"), bytes({0x0f, 0xa9}));
  for (const auto& [type, low] : {std::pair("s4", -8.0F), {"u4", 0.0F}}) {
    const auto values = SeededValues(1000, 1, type, low, low + 15);
    EXPECT_EQ(std::set<float>(values.begin(), values.end()).size(), 16U) << type;
    EXPECT_EQ(Decoded(Encoded(values, type), type), values) << type;
    EXPECT_EQ(StoredBytes(5, type), 3);
  }
}

// Faults that libraries shipped, planted into right results: each check finds its own. Sources:
// pytorch issues 163539 (3-D convolutions in bf16) and 187095 (grouped products),
// TransformerEngine issue 2765 (experts without rows). Those of attention are in its own tests.

constexpr uint64_t kSeed = 5;

// The largest errors [1, of the allowed error] of the right result and of the planted one.
struct Errors {
  double right = 0, planted = 0;
};

// `spoil` changes the right result, in row-major order.
template <class Case>
Errors OfProduct(const Case& product,
                 const std::function<void(std::vector<float>&, const ProductInputs&)>& spoil) {
  const auto in = SeededInputs(product, kSeed);
  const auto right = ResultOf(product, in);
  std::vector<float> output;
  for (int64_t i = 0; i < right.count; ++i)
    output.push_back(RoundToBf16(static_cast<float>(right.element(i).value)));
  const auto error = [&] {
    return CheckOutput(product, in, ProductOutput<float>{output}, kSeed).max_error;
  };
  const double before = error();
  spoil(output, in);
  return {before, error()};
}

conv2d::Conv3dCase Convolution(const std::string& problem) {
  return conv2d::ReadOnednnConv3dCase(ParseBenchmarkName("Conv3D/cpu/onednn/fwd/bf16/" + problem));
}
matmul::GroupedCase Experts(const std::string& problem) {
  return matmul::ReadOnednnGroupedCase(
      ParseBenchmarkName("GroupedMatmul/cpu/onednn/fwd/bf16/" + problem));
}

// Returns the result of a convolution with other padding or taps on the same inputs.
Errors OfOtherConvolution(const std::string& problem, const std::string& computed) {
  return OfProduct(Convolution(problem), [&](auto& output, const auto& in) {
    const auto wrong = Convolution(computed);
    const auto result = ResultOf(wrong, in);
    for (size_t i = 0; i < output.size(); ++i)
      output[i] = static_cast<float>(result.element(static_cast<int64_t>(i)).value);
  });
}

// The frames of a filter, one after another, in a sum that is rounded to bf16 after each.
Errors OfNarrowSums() {
  constexpr int64_t kFrames = 5, kChannels = 32;
  return OfProduct(Convolution("n1c32d9h3w3k4t5r1s1"), [](auto& output, const ProductInputs& in) {
    constexpr int64_t kPixels = 9, kDepth = 9, kOut = kDepth - kFrames + 1;
    for (int64_t i = 0; i < std::ssize(output); ++i) {
      const int64_t k = i / (kOut * kPixels), d = i / kPixels % kOut, pixel = i % kPixels;
      float sum = 0;
      for (int64_t t = 0; t < kFrames; ++t) {
        for (int64_t c = 0; c < kChannels; ++c)
          sum += in.source.at(static_cast<size_t>((c * kDepth + d + t) * kPixels + pixel)) *
                 in.weights.at(static_cast<size_t>((k * kChannels + c) * kFrames + t));
        sum = RoundToBf16(sum);
      }
      output[static_cast<size_t>(i)] = sum;
    }
  });
}

// Rows of softmax whose maximum is not subtracted, in f16's range: large ones become infinite.
Errors OfSoftmaxWithoutMaximum() {
  const auto request =
      rows::ReadCudnnCase(rows::kSoftmax, ParseBenchmarkName("Softmax/gpu/cudnn/fwd/f16/m3n40"));
  auto in = rows::kSoftmax.inputs(request, kSeed);
  in.source[7] = 12;
  std::vector<double> right(in.source.size()), wrong;
  rows::kSoftmax.run(request, {{in.source.begin(), in.source.end()}}, right);
  constexpr double kMax = 65504;  // of f16
  for (size_t row = 0; row < 3; ++row) {
    double sum = 0;
    const auto exponential = [&](size_t column) {
      const double value = std::exp(in.source[row * 40 + column]);
      return value > kMax ? std::numeric_limits<double>::infinity() : value;
    };
    for (size_t column = 0; column < 40; ++column) sum += exponential(column);
    for (size_t column = 0; column < 40; ++column) wrong.push_back(exponential(column) / sum);
  }
  for (auto& value : right) value = RoundToF16(static_cast<float>(value));
  return {rows::Check(request, in, right, kSeed).max_error,
          rows::Check(request, in, wrong, kSeed).max_error};
}

TEST(PublishedFaults, SixOfSixAreFound) {
  const std::vector<std::pair<std::string, Errors>> planted = {
      {"sums of a 3-D convolution in bf16", OfNarrowSums()},
      {"the last frame of a filter left out",
       OfOtherConvolution("n1c8d6h4w4k4t3r1s1_p2:0x0:0x0:0", "n1c8d6h4w4k4t3r1s1_p0:2x0:0x0:0")},
      {"a dilation that is ignored",
       OfOtherConvolution("n1c8d8h4w4k4t3r1s1_p2x0x0d2x1x1", "n1c8d8h4w4k4t3r1s1_p1x0x0")},
      {"an expert's rows with the weights of the one before, which has none",
       OfProduct(Experts("g4m9n16k16_zipf2"),
                 [](auto& output, const auto& in) {
                   auto shifted = in;  // rows 7 and 8 are the last expert's, the third has none
                   std::copy_n(in.weights.begin() + 2 * 256, 256,
                               shifted.weights.begin() + 3 * 256);
                   const auto experts = Experts("g4m9n16k16_zipf2");
                   const auto wrong = ResultOf(experts, shifted);
                   for (size_t i = 7 * 16; i < output.size(); ++i)
                     output[i] = static_cast<float>(wrong.element(static_cast<int64_t>(i)).value);
                 })},
      {"rows beyond an expert's capacity that are not written",
       OfProduct(Experts("g2m40n16k16_zipf1"),
                 [](auto& output, const auto&) { std::fill_n(output.end() - 16, 16, 0.0F); })},
      {"a softmax that overflows", OfSoftmaxWithoutMaximum()}};
  EXPECT_EQ(planted.size(), 6U);
  for (const auto& [fault, errors] : planted) {
    EXPECT_LE(errors.right, 1) << fault;
    EXPECT_GT(errors.planted, 1) << fault;
  }
}

}  // namespace
}  // namespace dlroof::workload
