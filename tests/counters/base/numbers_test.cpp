#include "counters/base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace dlroof {
namespace {

TEST(EncodeFloat, HasTheBitsOfTheStandard) {
  EXPECT_EQ(EncodeFloat(1, kFp16Format), 0x3c00U);
  EXPECT_EQ(EncodeFloat(-2, kFp16Format), 0xc000U);
  EXPECT_EQ(EncodeFloat(65504, kFp16Format), 0x7bffU);               // the largest
  EXPECT_EQ(EncodeFloat(std::ldexp(1, -24), kFp16Format), 0x0001U);  // the smallest
  EXPECT_EQ(EncodeFloat(0, kFp16Format), 0U);
  EXPECT_EQ(EncodeFloat(1, kBf16Format), 0x3f80U);
  EXPECT_EQ(EncodeFloat(1, kE4m3Format), 0x38U);    // bias 7: 0111.000
  EXPECT_EQ(EncodeFloat(448, kE4m3Format), 0x7eU);  // the largest of e4m3
}

TEST(EncodeFloat, RoundsToNearestTiesToEven) {
  // fp16 around 1: steps of 2^-10.
  EXPECT_EQ(RoundTo(1 + std::ldexp(1, -11), kFp16Format), 1);
  EXPECT_EQ(RoundTo(1 + 3 * std::ldexp(1, -11), kFp16Format), 1 + std::ldexp(1, -9));
  EXPECT_EQ(RoundTo(1 + 1.01 * std::ldexp(1, -11), kFp16Format), 1 + std::ldexp(1, -10));
  // A carry into the exponent: the value below 2 that is nearest to it.
  EXPECT_EQ(RoundTo(1.9999, kBf16Format), 2);
}

TEST(EncodeFloat, EveryPatternComesBack) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits)
    ASSERT_EQ(EncodeFloat(DecodeFloat(bits, kFp16Format), kFp16Format), bits);
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits)
    ASSERT_EQ(EncodeFloat(DecodeFloat(bits, kBf16Format), kBf16Format), bits);
  for (std::uint32_t bits = 0x80; bits < 0xff; ++bits)
    ASSERT_EQ(EncodeFloat(DecodeFloat(bits, kE4m3Format), kE4m3Format), bits);
}

TEST(EncodeFloat, AgreesWithTheHardwaresFp32) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double value = (RandomBits(i) / 4294967296.0 - 0.5) * 1e3 + RandomBits(i + 7) * 1e-12;
    EXPECT_EQ(RoundTo(value, {8, 23}), static_cast<double>(static_cast<float>(value)));
  }
}

TEST(EncodeFloat, OfNumbersTooSmallIsZeroWithTheirSign) {
  EXPECT_EQ(EncodeFloat(std::ldexp(1, -25), kFp16Format), 0U);  // half of the smallest: even
  EXPECT_EQ(EncodeFloat(std::ldexp(1.001, -25), kFp16Format), 0x0001U);  // more than half
  for (const double value : {1e-30, 1e-300, 5e-324}) {
    EXPECT_EQ(EncodeFloat(value, kFp16Format), 0U);
    EXPECT_EQ(EncodeFloat(-value, kFp16Format), 0x8000U);
  }
}

TEST(RandomBits, DoesNotRepeat) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(RandomBits(i));
  EXPECT_EQ(seen.size(), 1000U);
}

}  // namespace
}  // namespace dlroof
