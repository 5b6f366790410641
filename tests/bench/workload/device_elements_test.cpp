#include "bench/workload/device_elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "bench/workload/seeded_values.h"

namespace dlroof {
namespace {

// IEEE 754 binary16: sign, 5 bits of exponent with bias 15, 10 of fraction.
TEST(F16Bits, AreThoseOfIeee754) {
  EXPECT_EQ(F16Bits(0.0F), 0x0000);
  EXPECT_EQ(F16Bits(-0.0F), 0x8000);
  EXPECT_EQ(F16Bits(1.0F), 0x3c00);
  EXPECT_EQ(F16Bits(-2.0F), 0xc000);
  EXPECT_EQ(F16Bits(1.5F), 0x3e00);
  EXPECT_EQ(F16Bits(65504.0F), 0x7bff);             // the largest
  EXPECT_EQ(F16Bits(65520.0F), 0x7c00);             // half-way to the next: infinity
  EXPECT_EQ(F16Bits(0x1p-14F), 0x0400);             // the smallest normal one
  EXPECT_EQ(F16Bits(0x1p-14F - 0x1p-24F), 0x03ff);  // the largest subnormal one
  EXPECT_EQ(F16Bits(0x1p-24F), 0x0001);             // the smallest
  EXPECT_EQ(F16Bits(0x1p-26F), 0x0000);             // below half of it
  EXPECT_EQ(F16Bits(1.0F / 3), 0x3555);             // 0.25 x (1 + 341/1024)
  EXPECT_EQ(F16Bits(1 + 0x1p-11F), 0x3c00);         // a tie goes to the even one
  EXPECT_EQ(F16Bits(1 + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(F16Bits(std::numeric_limits<float>::quiet_NaN()) & 0x7e00, 0x7e00);
}

TEST(F16Bits, EveryPatternComesBack) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = FromF16Bits(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(F16Bits(value), bits);
    if (std::isfinite(value)) {
      EXPECT_EQ(RoundToF16(value), value);
    }
  }
}

TEST(Bf16Bits, AreTheUpperHalfOfF32) {
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

TEST(ElementBytes, IsTheSizeOfWhatIsStored) {
  for (const char* type : {"f32", "f16", "bf16", "e4m3", "s32", "s8", "u8"})
    EXPECT_EQ(Encoded({1, 2, 3}, type).size(), 3U * static_cast<size_t>(ElementBytes(type)))
        << type;
  EXPECT_EQ(ElementBytes("f64"), 8);
  EXPECT_THROW(Encoded({1}, "f64"), std::logic_error);
  EXPECT_THROW(ElementBytes("f8"), std::logic_error);
}

}  // namespace
}  // namespace dlroof
