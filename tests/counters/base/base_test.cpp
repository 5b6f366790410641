// Numbers, keys, hashes, loops and texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>

#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "counters/base/program.h"

namespace dlroof {
namespace {

std::vector<double> OneTo(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.rbegin(), values.rend(), 1.0);  // descending, as the order must not matter
  return values;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({7}), 7);
  EXPECT_THROW(Median({}), std::invalid_argument);
}

TEST(MedianInterval95, NeedsSixValues) {
  EXPECT_EQ(MedianInterval95(OneTo(5)), std::nullopt);
  EXPECT_EQ(MedianInterval95({}), std::nullopt);
}

// The textbook table of ranks: n = 6: 1, 6; 9: 2, 8; 10: 2, 9; 20: 6, 15; 25: 8, 18.
TEST(MedianInterval95, TakesTheRanksOfTheTable) {
  const std::pair<int, std::pair<double, double>> table[] = {
      {6, {1, 6}}, {8, {1, 8}}, {9, {2, 8}}, {10, {2, 9}}, {20, {6, 15}}, {25, {8, 18}}};
  for (const auto& [n, ranks] : table) EXPECT_EQ(MedianInterval95(OneTo(n)), ranks) << n;
}

TEST(MedianInterval95, WorksForManyValues) {
  const auto interval = MedianInterval95(OneTo(5000)).value();
  // Normal approximation: 2500 -+ 1.96 * sqrt(5000) / 2 = 2500 -+ 69.3.
  EXPECT_NEAR(interval.first, 2500 - 69, 2);
  EXPECT_NEAR(interval.second, 2500 + 70, 2);
}

TEST(ShuffledOrder, HasEachOnceAndIsThatOfItsSeed) {
  auto order = ShuffledOrder(50, 3);
  EXPECT_EQ(order, ShuffledOrder(50, 3));
  EXPECT_NE(order, ShuffledOrder(50, 4));
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  EXPECT_TRUE(ShuffledOrder(0, 1).empty());
}

enum class Size { kSmall, kLarge, kNamed };
constexpr KeyRow<Size> kSizes[] = {{Size::kLarge, "large"}, {Size::kSmall, "small"}};

TEST(Keys, EachValueHasItsKeyWhateverTheOrderOfTheTable) {
  EXPECT_EQ(KeyIn(kSizes, Size::kSmall), "small");
  EXPECT_EQ(ValueIn(kSizes, "large"), Size::kLarge);
  EXPECT_EQ(ValuesOf(kSizes), (std::vector{Size::kLarge, Size::kSmall}));
}

TEST(Keys, NoKeyIsGuessed) {
  EXPECT_EQ(ValueIn(kSizes, "Large"), std::nullopt);
  EXPECT_THROW(KeyIn(kSizes, Size::kNamed), std::out_of_range);
}

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const std::size_t count : {0, 1, 1023, 1024, 5001}) {
    std::vector<int> calls(count);
    ParallelFor(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(ParallelFor, ThrowsWhatACallThrows) {
  for (const std::size_t bad : {0, 4999})
    EXPECT_THROW(ParallelFor(5000,
                             [&](std::size_t i) {
                               if (i == bad) throw std::runtime_error("bad");
                             }),
                 std::runtime_error);
}

// Test vectors of the reference implementation of 64-bit FNV-1a.
TEST(HashOf, IsFnv1a) {
  EXPECT_EQ(HashOf(""), 0xcbf29ce484222325U);
  EXPECT_EQ(HashOf("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(HashOf("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(HashOf("bar", HashOf("foo")), HashOf("foobar"));
}

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

TEST(EscapedUtf8, EscapesOnlyInvalidBytes) {
  EXPECT_EQ(EscapedUtf8("Größe µ 漢 😀"), "Größe µ 漢 😀");
  EXPECT_EQ(EscapedUtf8("Messung_\xE4.csv"), "Messung_\\xE4.csv");
  EXPECT_EQ(EscapedUtf8("\xC0\xAF"), "\\xC0\\xAF") << "an overlong form";
  EXPECT_EQ(EscapedUtf8("\xED\xA0\x80"), "\\xED\\xA0\\x80") << "a surrogate";
  EXPECT_EQ(EscapedUtf8("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(EscapedUtf8("\xE2\x82"), "\\xE2\\x82") << "cut off";
}

TEST(JsonText, WritesNamesThatAreNotUtf8) {
  const nlohmann::json json = {{"comm\xE4nd", {"a", "b\xFF", 1}}, {"x", 0.5}};
  EXPECT_EQ(JsonText(json), R"({"comm\\xE4nd":["a","b\\xFF",1],"x":0.5})");
  EXPECT_EQ(JsonText({{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

TEST(NearestName, IsTheFirstOfTheMostSimilarNames) {
  EXPECT_EQ(NearestName("reprot", {"compare", "report", "run"}), "report");
  EXPECT_EQ(NearestName("tine", {"time", "tune"}), "time");
  for (const char* name : {"rn", "ruun", "ran", "rnu"})  // insert, delete, replace, swap
    EXPECT_EQ(NearestName(name, {"run"}), "run") << name;
  EXPECT_EQ(NearestName("run", {"runs", "run"}), "run");
}

TEST(NearestName, IsAbsentIfNoNameIsSimilar) {
  EXPECT_EQ(NearestName("xyzzy", {"report", "run"}), std::nullopt);  // both differ in all letters
  EXPECT_EQ(NearestName("run", {}), std::nullopt);
  // One edit of three letters is allowed, two are not.
  EXPECT_EQ(NearestName("ran", {"run"}), "run");
  EXPECT_EQ(NearestName("rat", {"run"}), std::nullopt);
}

TEST(UnknownName, NamesTheNearestOneIfThereIsOne) {
  EXPECT_EQ(UnknownName("command", "reprot", "report", "dlroof"),
            "unknown command 'reprot'; did you mean 'report'? dlroof --help lists all");
  EXPECT_EQ(UnknownName("command", "xyzzy", std::nullopt, "dlroof"),
            "unknown command 'xyzzy'; dlroof --help lists all");
}

}  // namespace
}  // namespace dlroof
