#include "reporters/text/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cmath>
#include <limits>
#include <random>
#include <regex>

#include "counters/base/error.h"
#include "reporters/text/numbers.h"
#include "tests/fakes/refusal.h"

namespace dlroof::text {
namespace {

using nlohmann::json;

TEST(WithPrefix, KeepsThreeDigits) {
  EXPECT_EQ(WithPrefix(1.6e11, "FLOP/s"), "160 GFLOP/s");
  EXPECT_EQ(WithPrefix(4.2e-6, "s"), "4.20 µs");
  EXPECT_EQ(WithPrefix(1, "s"), "1.00 s");
  EXPECT_EQ(WithPrefix(57.468, "s"), "57.5 s");
  EXPECT_EQ(WithPrefix(-2e-3, "s"), "-2.00 ms");
}

TEST(WithPrefix, RoundingMayReachTheNextPrefix) {
  EXPECT_EQ(WithPrefix(999.4e-6, "s"), "999 µs");
  EXPECT_EQ(WithPrefix(999.6e-6, "s"), "1.00 ms");
}

TEST(WithPrefix, WritesAnExponentOutsideThePrefixes) {
  EXPECT_EQ(WithPrefix(0, "s"), "0 s");
  EXPECT_EQ(WithPrefix(1e-15, "s"), "1.00e-15 s");
  EXPECT_EQ(WithPrefix(2.5e22, "B"), "2.50e+22 B");
}

TEST(ThreeDigits, HasNoExponentBetween1EMinus4And1E6) {
  EXPECT_EQ(ThreeDigits(57.468), "57.5");
  EXPECT_EQ(ThreeDigits(0.424), "0.424");
  EXPECT_EQ(ThreeDigits(7719), "7719");
  EXPECT_EQ(ThreeDigits(0), "0");
  EXPECT_EQ(ThreeDigits(1e-7), "1.00e-07");
}

TEST(PercentText, HasThreeSignificantDigits) {
  EXPECT_EQ(PercentText(0.6642), "66.4 %");
  EXPECT_EQ(PercentText(0.07306), "7.31 %");
  EXPECT_EQ(PercentText(0.00812), "0.812 %");
  EXPECT_EQ(PercentText(0.09996), "10.0 %");
  EXPECT_EQ(PercentText(0.9996), "100 %");
  EXPECT_EQ(PercentText(1), "100 %");
  EXPECT_EQ(PercentText(12.34), "1234 %");
  EXPECT_EQ(PercentText(0), "0 %");
}

TEST(Rounded, HasTheGivenDigitsAndIsShortInAFile) {
  EXPECT_EQ(json(Rounded(1.0 / 3, 3)).dump(), "0.333");
  EXPECT_EQ(json(Rounded(303936149453.18274)).dump(), "303936150000.0");
  EXPECT_EQ(Rounded(-2.6e-300, 1), -3e-300);
  EXPECT_EQ(Rounded(0), 0);
  EXPECT_TRUE(std::isinf(Rounded(std::numeric_limits<double>::infinity())));
}

TEST(RoundAll, LeavesTextsAndCountsAndWritesWholeNumbersWhole) {
  json value = {{"a", {1.0 / 3, 2.0, -4.0, 1e300, 7}}, {"b", "0.3333333333333"}, {"c", true}};
  RoundAll(value, 2);
  EXPECT_EQ(value.dump(), R"({"a":[0.33,2,-4,1e+300,7],"b":"0.3333333333333","c":true})");
}

TEST(RoundedToClock, KeepsTheNanosecondOfTheSum) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double iterations =
        std::floor(std::pow(10, 7 * std::generate_canonical<double, 53>(random)));
    const double nanoseconds =
        std::floor(std::pow(10, 11 * std::generate_canonical<double, 53>(random)));
    const double exact = nanoseconds * 1e-9 / iterations;
    const double written = RoundedToClock(exact, iterations);
    EXPECT_EQ(std::round(written * iterations * 1e9), nanoseconds) << iterations;
    EXPECT_EQ(RoundedToClock(written, iterations), written);
  }
}

TEST(RoundedToClock, HasOnlyTheDigitsOfTheClockAndThoseRequested) {
  // The resolution is 1 ns / 2 = 5e-10: ten decimals.
  EXPECT_EQ(json(RoundedToClock(0.035090472500000025, 2)).dump(), "0.0350904725");
  // Eight digits of 20 ns are requested; the clock resolves two.
  EXPECT_EQ(json(RoundedToClock(2.123456789e-8, 1, 8)).dump(), "2.1234568e-08");
  EXPECT_EQ(json(RoundedToClock(2.123456789e-8, 1)).dump(), "2.12e-08");
  EXPECT_EQ(RoundedToClock(1.0 / 3, 0), 1.0 / 3) << "the number of calls is unknown";
  EXPECT_EQ(RoundedToClock(0, 5), 0);
}

TEST(ShortenMiddle, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(ShortenMiddle("abcdef", 6), "abcdef");
  EXPECT_EQ(ShortenMiddle("abcdefg", 6), "ab…efg");
  EXPECT_EQ(ShortenMiddle("ääääää", 3), "ä…ä");
  EXPECT_EQ(ShortenMiddle("ääääää", 1), "…");
  EXPECT_EQ(TextWidth("漢字e\u0301"), 5) << "two wide characters, a letter and its accent";
  EXPECT_EQ(ShortenMiddle("漢字漢字", 8), "漢字漢字");
  EXPECT_EQ(ShortenMiddle("漢字漢字", 7), "漢…字") << "half a wide character is none";
}

TEST(ShortenNames, LeavesOutWhatTheNamesShareAndKeepsThemDifferent) {
  const auto shown = [](const std::vector<std::string>& names, int width) {
    return ShortenNames(names, width).value_or(std::vector<std::string>{});
  };
  const std::vector<std::string> layers = {"LSTM/cpu/onednn/bwd/f32/t16n16i32h16",
                                           "LSTM/cpu/onednn/bwd/f32/t16n32i32h16", "short"};
  EXPECT_THAT(shown(layers, 36), testing::ElementsAreArray(layers));
  EXPECT_THAT(shown({layers[0], "LSTM/cpu/onednn/fwd/f32/t16n16i32h16/cold"}, 36),
              testing::ElementsAre(layers[0], "LSTM/…fwd/…h16/cold"))
      << "a short name keeps its parts, a long one those that differ";
  EXPECT_THAT(shown(layers, 12), testing::ElementsAre("LSTM/…n16…", "LSTM/…n32…", "short"));
  EXPECT_THAT(shown({"abcdefghi", "abcxefghi", "abcdefghX"}, 8),
              testing::ElementsAre("abcde…hi", "abcxe…hi", "abcde…hX"));
  EXPECT_FALSE(ShortenNames({"abcdefghij", "abcdXfghij", "aXcdefghij", "abcdefghXj"}, 4));
}

TEST(InAscii, KeepsTheWidth) {
  EXPECT_EQ(InAscii("  ±  4.20 µs  LSTM/…n16"), " +-  4.20 us  LSTM/*n16");
  EXPECT_EQ(InAscii("± 漢"), "+ 漢");
}

TEST(Printable, ShowsWhatATerminalWouldExecute) {
  EXPECT_EQ(Printable("µs … 漢 \U0001F600"), "µs … 漢 \U0001F600");
  EXPECT_EQ(Printable("a\xff"), "a\\xFF");
  EXPECT_EQ(Printable("\xc0\x80"), "\\xC0\\x80") << "an overlong form";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xED\\xA0\\x80") << "a surrogate";
  EXPECT_EQ(Printable("\xe2\x80"), "\\xE2\\x80") << "cut short";
  EXPECT_EQ(Printable("\x1b]0;\u0085\x7f\n"), "\\x1B]0;\\xC2\\x85\\x7F\\x0A") << "C0, C1, DEL";
  EXPECT_EQ(Printable("\u202Ea"), "\\xE2\\x80\\xAEa") << "right to left";
  EXPECT_EQ(Printable("a\n\x1b", "\n"), "a\n\\x1B");
}

std::string Packed(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Lines() {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "line " + std::to_string(i * i) + "\n";
  return text;
}

std::string PackedByXz(const std::string& text) {
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(
                6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                text.size(), reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size()),
            LZMA_OK);
  packed.resize(size);
  return packed;
}

std::string PackedByZstd(const std::string& text) {
  auto* stream = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(stream, ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress2(stream, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(stream);
  return packed;
}

class UnpackTest : public testing::TestWithParam<std::string (*)(const std::string&)> {
 protected:
  std::string Pack(const std::string& text) const { return GetParam()(text); }
};
INSTANTIATE_TEST_SUITE_P(Formats, UnpackTest, testing::Values(Packed, PackedByXz, PackedByZstd));

TEST(PlainText, HasNoColoursAndNothingThatALogPutsBeforeLines) {
  const std::string text = "a: 1\n\n  b | 2\n";
  EXPECT_EQ(PlainText("\x1b[32ma: 1\x1b[0m\n\n  b | 2\x1b[K\n", "x"), text);
  for (const char* prefix : {"2026-05-04T10:00:00.123456789Z ", "2026-05-04T10:00:00.1Z stderr F ",
                             "bench\tRun\t2026-05-04T10:00:00.1234567Z ",
                             "May  4 10:00:00 lab python[123]: ", "[pod/bench-0/main] ",
                             "app-1  | ", "[1,0]<stdout>:"}) {
    const std::string before = prefix;
    EXPECT_EQ(PlainText(before + "a: 1\n" + before + "\n" + before + "  b | 2\n", "x"), text);
    EXPECT_EQ(PlainText(before + "a: 1\n" + text, "x"), before + "a: 1\n" + text) << "not all";
  }
  EXPECT_EQ(PlainText("2026-05-04T10:00:00Z stdout P a: \n2026-05-04T10:00:00Z stdout F 1\n", "x"),
            "a: 1\n");
}

TEST_P(UnpackTest, ReturnsTheTextOfAllMembers) {
  const auto text = Lines();
  EXPECT_EQ(Unpack(Pack(text), "x"), text);
  EXPECT_EQ(Unpack(Pack(text) + Pack("more") + Pack(""), "x"), text + "more");
  EXPECT_EQ(Unpack(Pack(""), "x"), "");
}

TEST_P(UnpackTest, RefusesATruncatedFileOfAnyLength) {
  const auto packed = Pack("a log of a few lines, a log of a few lines\n");
  for (std::size_t size = 6; size < packed.size(); ++size) {
    const auto refusal = fakes::RefusalOf([&] { Unpack(packed.substr(0, size), "x"); });
    EXPECT_TRUE(std::regex_match(
        refusal, std::regex("x: the [a-z]+ data are cut off after [0-9]+ bytes of text, .*")))
        << size << ": " << refusal;
  }
}

TEST_P(UnpackTest, NeverReturnsDamagedText) {
  const std::string text = "a log of a few lines, a log of a few lines\n";
  const auto packed = Pack(text);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    auto damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    try {
      EXPECT_EQ(Unpack(damaged, "x"), text) << i;  // time and system in gzip's header
    } catch (const BadInput&) {
    }
  }
}

TEST_P(UnpackTest, RefusesTrailingBytesAndTooMuchText) {
  EXPECT_TRUE(
      std::regex_match(fakes::RefusalOf([&] { Unpack(Pack("a") + "tail", "x"); }),
                       std::regex("x: 4 bytes that are not ([a-z]+) data follow the \\1 data")));
  EXPECT_EQ(fakes::RefusalOf([&] { Unpack(Pack(Lines()), "x", 1 << 19); }),
            "x: unpacks to more than 524288 bytes");
  EXPECT_EQ(fakes::RefusalOf([&] { Unpack(Pack(std::string(10 << 20, ' ')), "x"); }),
            "x: unpacks to more than 1000 times its size");
}

TEST(CsvCell, IsNoFormulaAndNoCommandOfATerminal) {
  EXPECT_EQ(CsvCell("=HYPERLINK(1,2)"), "\"'=HYPERLINK(1,2)\"");
  EXPECT_EQ(CsvCell("+a"), "'+a");
  EXPECT_EQ(CsvCell("@a"), "'@a");
  EXPECT_EQ(CsvCell("-1.5e-9"), "-1.5e-9");
  EXPECT_EQ(CsvCell("a\x1b[2J"), "a\\x1B[2J");
}

}  // namespace
}  // namespace dlroof::text
