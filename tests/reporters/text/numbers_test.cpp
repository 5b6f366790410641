#include "reporters/text/numbers.h"

#include <gtest/gtest.h>

#include "counters/base/error.h"

namespace dlroof::text {
namespace {

constexpr auto kPoint = DecimalMark::kPoint, kComma = DecimalMark::kComma;

TEST(Numbers, PlainNumberIsOneOfTheCLocale) {
  EXPECT_EQ(PlainNumber("-1.5e3"), -1500);
  EXPECT_EQ(PlainNumber("42"), 42);
  for (const auto* text :
       {"", "1,5", "1 ", " 1", "1e19", "-1e30", "nan", "inf", "0x10", "1.2.3", "ms"})
    EXPECT_FALSE(PlainNumber(text)) << text;
}

TEST(Numbers, TextsForNoValueAreKnown) {
  for (const auto* text :
       {"", "-", "n/a", "N/A", "nan", "-nan", "NaN", "inf", "-inf", "Infinity", "-nan(ind)", "nil"})
    EXPECT_TRUE(IsNoValue(text)) << text;
  for (const auto* text : {"0", "-1", "n", "info", "1e5"}) EXPECT_FALSE(IsNoValue(text)) << text;
}

TEST(Numbers, GroupsHaveThreeDigitsAndOneSeparator) {
  EXPECT_EQ(NumberIn("53,261,312", kPoint), 53261312);
  EXPECT_EQ(NumberIn("1,234.5", kPoint), 1234.5);
  EXPECT_EQ(NumberIn("-1.234,5", kComma), -1234.5);
  EXPECT_EQ(NumberIn("1'234'567.25", kPoint), 1234567.25);
  EXPECT_EQ(NumberIn("1\xE2\x80\x99"
                     "234",
                     kComma),
            1234);
  EXPECT_EQ(NumberIn("1\xC2\xA0"
                     "234,5",
                     kComma),
            1234.5);
  EXPECT_EQ(NumberIn("1\xE2\x80\xAF"
                     "234,5",
                     kComma),
            1234.5);
  EXPECT_EQ(NumberIn("1 234 567", kPoint), 1234567);
  EXPECT_EQ(NumberIn("1234567.891", kPoint), 1234567.891);
  EXPECT_EQ(NumberIn(",5", kComma), 0.5);
  EXPECT_EQ(NumberIn("+1,5e-3", kComma), 1.5e-3);
  for (const auto* text : {"10,20", "1,2345", "1234,567", "0,625", "1,234,56", "1,234'567", ",123",
                           "1,234e2", "1.2.3", "1..2", "-", "", "e5", "1,", "12,34,567", "5.x"})
    EXPECT_FALSE(NumberIn(text, kPoint)) << text;
}

NumberConvention Of(std::initializer_list<std::string_view> texts) {
  NumberConvention convention;
  int line = 0;
  for (const auto text : texts) convention.Add(text, ++line);
  return convention;
}

TEST(Numbers, OneNumberDecidesForTheFile) {
  EXPECT_EQ(Of({"7", "1,234", "10.20"}).Decide("f"), kPoint);
  EXPECT_EQ(Of({"1.234", "10,20"}).Decide("f"), kComma);
  EXPECT_EQ(Of({"1.234", "1.234.567"}).Decide("f"), kComma);
  EXPECT_EQ(Of({"1,234,567"}).Decide("f"), kPoint);
  EXPECT_EQ(Of({"0,625"}).Decide("f"), kComma);
  EXPECT_EQ(Of({"1234.567"}).Decide("f"), kPoint);
  EXPECT_EQ(Of({"1'234,5"}).Decide("f"), kComma);
  EXPECT_EQ(Of({"1'234", "nan", "-", "text, with. marks"}).Decide("f"), kPoint);
}

// "53.312" instructions are 53312 with a decimal comma: 53.312 instructions do not exist.
TEST(Numbers, CountHasNoFraction) {
  NumberConvention comma, point, open;
  comma.Add("53.312", 1, true);
  EXPECT_EQ(comma.Decide("f"), kComma);
  point.Add("53,312", 1, true);
  EXPECT_EQ(point.Decide("f"), kPoint);
  open.Add("53.000", 1, true);  // 53 or 53000
  EXPECT_THROW(open.Decide("f"), BadInput);
}

std::string MessageOf(const NumberConvention& convention) {
  try {
    convention.Decide("a.csv");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

TEST(Numbers, TwoReadingsAreRefusedWithBoth) {
  EXPECT_EQ(MessageOf(Of({"5", "1,234"})),
            "a.csv:2: '1,234' may be 1234 (decimal point) or 1.234 (decimal comma), and no number "
            "of the file tells which: run the tool with LC_ALL=C");
  EXPECT_EQ(MessageOf(Of({"10.20", "10,20"})),
            "a.csv:2: '10,20' has a decimal comma, but '10.20' in line 1 has a decimal point; "
            "expected one of them in the whole file");
}

TEST(Numbers, DocumentedMarkNeedsEvidenceForTheOther) {
  NumberConvention plain(kPoint), grouped(kPoint), comma(kPoint);
  plain.Add("1.234", 1);
  EXPECT_EQ(plain.Decide("f"), kPoint);
  grouped.Add("1,234", 1);
  EXPECT_THROW(grouped.Decide("f"), BadInput);
  comma.Add("1.234", 1);
  comma.Add("0,5", 2);
  EXPECT_EQ(comma.Decide("f"), kComma);
}

struct UnitCase {
  const char* text;
  double factor;
  Dimension of, per = Dimension::kNone;
};

TEST(Numbers, UnitsHaveFactorAndDimension) {
  using enum Dimension;
  for (const UnitCase& one :
       std::initializer_list<UnitCase>{{"", 1, kNone},
                                       {"%", 0.01, kNone},
                                       {"byte", 1, kBytes},
                                       {"Kbyte", 1e3, kBytes},
                                       {"Gbyte", 1e9, kBytes},
                                       {"GBytes", 1e9, kBytes},
                                       {"KiB", 1024, kBytes},
                                       {"MB", 1e6, kBytes},
                                       {"Gbyte/second", 1e9, kBytes, kSeconds},
                                       {"MBytes/s", 1e6, kBytes, kSeconds},
                                       {"nsecond", 1e-9, kSeconds},
                                       {"usecond", 1e-6, kSeconds},
                                       {"us", 1e-6, kSeconds},
                                       {"\xC2\xB5s", 1e-6, kSeconds},
                                       {"ms", 1e-3, kSeconds},
                                       {"s", 1, kSeconds},
                                       {"cycle/nsecond", 1e9, kCycles, kSeconds},
                                       {"Ghz", 1e9, kCycles, kSeconds},
                                       {"MHz", 1e6, kCycles, kSeconds},
                                       {"hz", 1, kCycles, kSeconds},
                                       {"inst", 1, kCount},
                                       {"Kinst", 1e3, kCount},
                                       {"inst/cycle", 1, kCount, kCycles},
                                       {"byte/cycle", 1, kBytes, kCycles},
                                       {"MFLOP/s", 1e6, kCount, kSeconds},
                                       {"register/thread", 1, kCount, kCount}}) {
    const auto unit = ReadUnit(one.text);
    ASSERT_TRUE(unit) << one.text;
    EXPECT_DOUBLE_EQ(unit->factor, one.factor) << one.text;
    EXPECT_EQ(unit->of, one.of) << one.text;
    EXPECT_EQ(unit->per, one.per) << one.text;
  }
  for (const auto* text :
       {"furlong", "Ks", "mbyte", "nbyte", "byte/", "/s", "Xbyte", "hhz", "byte/s/s"})
    EXPECT_FALSE(ReadUnit(text)) << text;
}

TEST(Numbers, Utf16AndByteOrderMarksBecomeUtf8) {
  using std::string_literals::operator""s;
  EXPECT_EQ(WithoutByteOrder("\xEF\xBB\xBFname,1"), "name,1");
  EXPECT_EQ(WithoutByteOrder("\xFF\xFEn\0\xE4\0\n\0"s), "n\xC3\xA4\n");
  EXPECT_EQ(WithoutByteOrder("\xFE\xFF\0n\x20\xAC"s), "n\xE2\x82\xAC");
  EXPECT_EQ(WithoutByteOrder("\xFF\xFE\x3D\xD8\x00\xDE"s), "\xF0\x9F\x98\x80");
  EXPECT_EQ(WithoutByteOrder("\xFF\xFE\x3D\xD8x\0"s), "\xEF\xBF\xBDx");  // a lone surrogate
  EXPECT_EQ(WithoutByteOrder("o\0n\0e\0"s), "one");
  EXPECT_EQ(WithoutByteOrder("\0o\0n\0e"s), "one");
  EXPECT_EQ(WithoutByteOrder("\xFF\xFEn\0o"s), "n");  // cut within a character
  for (const auto* text : {"", "a", "plain\n", "\xE4\xF6"}) EXPECT_EQ(WithoutByteOrder(text), text);
}

}  // namespace
}  // namespace dlroof::text
