#include "reporters/text/text.h"

#include <gmock/gmock.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cmath>
#include <limits>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "reporters/text/numbers.h"
#include "tests/fakes/refusal.h"

namespace dlroof::text {
namespace {

using nlohmann::json;
using testing::ElementsAre, testing::HasSubstr, testing::ElementsAreArray;

TEST(WithPrefix, KeepsThreeDigitsAndWritesAnExponentOutsideThePrefixes) {
  const std::tuple<double, const char*, const char*> cases[] = {
      {1.6e11, "FLOP/s", "160 GFLOP/s"}, {4.2e-6, "s", "4.20 µs"}, {1, "s", "1.00 s"},
      {57.468, "s", "57.5 s"},           {-2e-3, "s", "-2.00 ms"}, {999.4e-6, "s", "999 µs"},
      {999.6e-6, "s", "1.00 ms"},        {0, "s", "0 s"},          {1e-15, "s", "1.00e-15 s"},
      {2.5e22, "B", "2.50e+22 B"}};
  for (const auto& [value, unit, text] : cases) EXPECT_EQ(WithPrefix(value, unit), text);
}

TEST(ThreeDigits, AndPercentTextHaveThreeSignificantDigits) {
  const std::pair<double, const char*> plain[] = {
      {57.468, "57.5"}, {0.424, "0.424"}, {7719, "7719"}, {0, "0"}, {1e-7, "1.00e-07"}};
  for (const auto& [value, text] : plain) EXPECT_EQ(ThreeDigits(value), text);
  const std::pair<double, const char*> shares[] = {
      {0.6642, "66.4 %"}, {0.07306, "7.31 %"}, {0.00812, "0.812 %"}, {0.09996, "10.0 %"},
      {0.9996, "100 %"},  {1, "100 %"},        {12.34, "1234 %"},    {0, "0 %"}};
  for (const auto& [share, text] : shares) EXPECT_EQ(PercentText(share), text);
}

TEST(Rounded, HasTheGivenDigitsAndLeavesTextsAndCounts) {
  EXPECT_EQ(json(Rounded(1.0 / 3, 3)).dump(), "0.333");
  EXPECT_EQ(json(Rounded(303936149453.18274)).dump(), "303936150000.0");
  EXPECT_EQ(Rounded(-2.6e-300, 1), -3e-300);
  EXPECT_EQ(Rounded(0), 0);
  EXPECT_TRUE(std::isinf(Rounded(std::numeric_limits<double>::infinity())));
  json value = {{"a", {1.0 / 3, 2.0, -4.0, 1e300, 7}}, {"b", "0.3333333333333"}, {"c", true}};
  RoundAll(value, 2);
  EXPECT_EQ(value.dump(), R"({"a":[0.33,2,-4,1e+300,7],"b":"0.3333333333333","c":true})");
}

TEST(RoundedToClock, KeepsTheNanosecondOfTheSumAndOnlyTheDigitsOfTheClock) {
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
  EXPECT_THAT(shown(layers, 36), ElementsAreArray(layers));
  EXPECT_THAT(shown({layers[0], "LSTM/cpu/onednn/fwd/f32/t16n16i32h16/cold"}, 36),
              ElementsAre(layers[0], "LSTM/…fwd/…h16/cold"))
      << "a short name keeps its parts, a long one those that differ";
  EXPECT_THAT(shown(layers, 12), ElementsAre("LSTM/…n16…", "LSTM/…n32…", "short"));
  EXPECT_THAT(shown({"abcdefghi", "abcxefghi", "abcdefghX"}, 8),
              ElementsAre("abcde…hi", "abcxe…hi", "abcde…hX"));
  EXPECT_FALSE(ShortenNames({"abcdefghij", "abcdXfghij", "aXcdefghij", "abcdefghXj"}, 4));
}

TEST(InAscii, KeepsTheWidth) {
  EXPECT_EQ(InAscii("  ±  4.20 µs  LSTM/…n16"), " +-  4.20 us  LSTM/*n16");
  EXPECT_EQ(InAscii("± 漢"), "+ 漢");
}

TEST(Printable, ShowsWhatATerminalWouldExecute) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"all that is shown", "µs … 漢 \U0001F600", "µs … 漢 \U0001F600"},
      {"no UTF-8", "a\xff", "a\\xFF"},
      {"an overlong form", "\xc0\x80", "\\xC0\\x80"},
      {"a surrogate", "\xed\xa0\x80", "\\xED\\xA0\\x80"},
      {"cut short", "\xe2\x80", "\\xE2\\x80"},
      {"C0, C1, DEL", "\x1b]0;\u0085\x7f\n", "\\x1B]0;\\xC2\\x85\\x7F\\x0A"},
      {"right to left", "\u202Ea", "\\xE2\\x80\\xAEa"}};
  for (const auto& [what, text, shown] : cases) EXPECT_EQ(Printable(text), shown) << what;
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

TEST(PlainText, HasNoColours) {
  EXPECT_EQ(PlainText("\x1b[32ma: 1\x1b[0m\n\n  b | 2\x1b[K\n", "x"), "a: 1\n\n  b | 2\n");
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
  EXPECT_EQ(CsvCell("\t=a"), "'\t=a");
  EXPECT_EQ(CsvCell("-1.5e-9"), "-1.5e-9");
  EXPECT_EQ(CsvCell("a\x1b[2J"), "a\\x1B[2J");
}

constexpr auto kPoint = DecimalMark::kPoint, kComma = DecimalMark::kComma;

TEST(Numbers, PlainNumbersAreThoseOfTheCLocaleAndTextsForNoValueAreKnown) {
  EXPECT_EQ(PlainNumber("-1.5e3"), -1500);
  EXPECT_EQ(PlainNumber("42"), 42);
  for (const auto* text :
       {"", "1,5", "1 ", " 1", "1e19", "-1e30", "nan", "inf", "0x10", "1.2.3", "ms"})
    EXPECT_FALSE(PlainNumber(text)) << text;
  for (const auto* text :
       {"", "-", "n/a", "N/A", "nan", "-nan", "NaN", "inf", "-inf", "Infinity", "-nan(ind)", "nil"})
    EXPECT_TRUE(IsNoValue(text)) << text;
  for (const auto* text : {"0", "-1", "n", "info", "1e5"}) EXPECT_FALSE(IsNoValue(text)) << text;
}

TEST(Numbers, GroupsHaveThreeDigitsAndOneSeparator) {
  const std::tuple<const char*, DecimalMark, double> numbers[] = {
      {"53,261,312", kPoint, 53261312},
      {"1,234.5", kPoint, 1234.5},
      {"-1.234,5", kComma, -1234.5},
      {"1'234'567.25", kPoint, 1234567.25},
      {"1’234", kComma, 1234},
      {"1\u00A0234,5", kComma, 1234.5},
      {"1\u202F234,5", kComma, 1234.5},
      {"1 234 567", kPoint, 1234567},
      {"1234567.891", kPoint, 1234567.891},
      {",5", kComma, 0.5},
      {"+1,5e-3", kComma, 1.5e-3}};
  for (const auto& [text, mark, number] : numbers) EXPECT_EQ(NumberIn(text, mark), number) << text;
  for (const auto* text : {"10,20", "1,2345", "1234,567", "0,625", "1,234,56", "1,234'567", ",123",
                           "1,234e2", "1.2.3", "1..2", "-", "", "e5", "1,", "12,34,567", "5.x"})
    EXPECT_FALSE(NumberIn(text, kPoint)) << text;
}

NumberConvention Of(const std::vector<std::string_view>& texts) {
  NumberConvention convention;
  int line = 0;
  for (const auto text : texts) convention.Add(text, ++line);
  return convention;
}

TEST(Numbers, OneNumberDecidesForTheFile) {
  const std::pair<std::vector<std::string_view>, DecimalMark> files[] = {
      {{"7", "1,234", "10.20"}, kPoint},
      {{"1.234", "10,20"}, kComma},
      {{"1.234", "1.234.567"}, kComma},
      {{"1,234,567"}, kPoint},
      {{"0,625"}, kComma},
      {{"1234.567"}, kPoint},
      {{"1'234,5"}, kComma},
      {{"1'234", "nan", "-", "text, with. marks"}, kPoint}};
  for (const auto& [texts, mark] : files) EXPECT_EQ(Of(texts).Decide("f"), mark) << texts.back();
}

// "53.312" instructions are 53312 with a decimal comma: 53.312 instructions do not exist.
TEST(Numbers, CountHasNoFractionADocumentedMarkNeedsEvidenceAndTwoReadingsAreRefused) {
  NumberConvention integers, point, open;
  integers.Add("53.312", 1, true);
  EXPECT_EQ(integers.Decide("f"), kComma);
  point.Add("53,312", 1, true);
  EXPECT_EQ(point.Decide("f"), kPoint);
  open.Add("53.000", 1, true);  // 53 or 53000
  EXPECT_THROW(open.Decide("f"), BadInput);
  NumberConvention plain(kPoint), grouped(kPoint), comma(kPoint);
  plain.Add("1.234", 1);
  EXPECT_EQ(plain.Decide("f"), kPoint);
  grouped.Add("1,234", 1);
  EXPECT_THROW(grouped.Decide("f"), BadInput);
  comma.Add("1.234", 1);
  comma.Add("0,5", 2);
  EXPECT_EQ(comma.Decide("f"), kComma);
  EXPECT_THROW(Of({"5", "1,234"}).Decide("f"), BadInput);
}

struct UnitCase {
  const char* text;
  double factor;
  Dimension of, per = Dimension::kNone;
};

TEST(Numbers, UnitsHaveFactorAndDimensionAndUtf16BecomesUtf8) {
  using enum Dimension;
  const std::vector<UnitCase> units = {{"", 1, kNone},         {"Gbyte", 1e9, kBytes},
                                       {"%", 0.01, kNone},     {"GBytes", 1e9, kBytes},
                                       {"byte", 1, kBytes},    {"Kinst", 1e3, kCount},
                                       {"MB", 1e6, kBytes},    {"us", 1e-6, kSeconds},
                                       {"s", 1, kSeconds},     {"ms", 1e-3, kSeconds},
                                       {"inst", 1, kCount},    {"nsecond", 1e-9, kSeconds},
                                       {"KiB", 1024, kBytes},  {"usecond", 1e-6, kSeconds},
                                       {"Kbyte", 1e3, kBytes}, {"\xC2\xB5s", 1e-6, kSeconds}};
  const std::vector<UnitCase> rates = {
      {"Gbyte/second", 1e9, kBytes, kSeconds},   {"MBytes/s", 1e6, kBytes, kSeconds},
      {"cycle/nsecond", 1e9, kCycles, kSeconds}, {"Ghz", 1e9, kCycles, kSeconds},
      {"MHz", 1e6, kCycles, kSeconds},           {"hz", 1, kCycles, kSeconds},
      {"inst/cycle", 1, kCount, kCycles},        {"byte/cycle", 1, kBytes, kCycles},
      {"MFLOP/s", 1e6, kCount, kSeconds},        {"register/thread", 1, kCount, kCount}};
  for (const auto* table : {&units, &rates})
    for (const auto& expected : *table) {
      const auto unit = ReadUnit(expected.text);
      ASSERT_TRUE(unit) << expected.text;
      EXPECT_DOUBLE_EQ(unit->factor, expected.factor) << expected.text;
      EXPECT_EQ(unit->of, expected.of) << expected.text;
      EXPECT_EQ(unit->per, expected.per) << expected.text;
    }
  for (const auto* text :
       {"furlong", "Ks", "mbyte", "nbyte", "byte/", "/s", "Xbyte", "hhz", "byte/s/s"})
    EXPECT_FALSE(ReadUnit(text)) << text;
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

// Names as Nsight Compute 2025.3, CUPTI 13.0 and PyTorch 2.11 printed them on an H200.
constexpr const char* kCopyOfPyTorch =
    "void vectorized_elementwise_kernel<8, float16_copy_kernel_cuda(TensorIteratorBase "
    "&)::[lambda(float) (instance 1)], array<char *, 2>>(int, T2, T3)";
constexpr const char* kRandomOfPyTorch =
    "void at::<unnamed>::distribution_elementwise_grid_stride_kernel<float, 4, void "
    "templates::normal_and_transform<c10::Half, float, at::CUDAGeneratorImpl *, void "
    "templates::normal_kernel<at::CUDAGeneratorImpl *>(const at::TensorBase &, double, double, "
    "T1)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 3)]::operator ()() "
    "const::[lambda(float) (instance 1)]>(at::TensorIterat";
constexpr const char* kConvolutionOfCudnn =
    "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x64x32_"
    "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn";

TEST(RepairedKernelName, RestoresTheBracketsOfAnonymousNamespaces) {
  EXPECT_EQ(RepairedKernelName("void unnamed>::Chain<unnamed>::Fp32>(T1::Type *, T1::Type, int)"),
            "void <unnamed>::Chain<<unnamed>::Fp32>(T1::Type *, T1::Type, int)");
  EXPECT_EQ(RepairedKernelName("unnamed>::Copy(const float4 *)"),
            "<unnamed>::Copy(const float4 *)");
  for (const char* whole :
       {"void <unnamed>::Chain<<unnamed>::Fp32>(T1::Type *)", "dlroof::<unnamed>::Hold(int *)",
        "a<b, <unnamed>::C>", "a<renamed>::b", "plain", ""})
    EXPECT_EQ(RepairedKernelName(whole), whole);
}

TEST(ShortKernelName,
     LeavesOutTypesAndParametersShortensArgumentsThenLongWordsAndNeverExceedsTheWidth) {
  EXPECT_EQ(ShortKernelName("void unnamed>::Chain<unnamed>::Fp32>(T1::Type *, T1::Type, int)"),
            "<unnamed>::Chain<<unnamed>::Fp32>");
  EXPECT_EQ(ShortKernelName("dlroof::cuda::(anonymous namespace)::Hold(int const volatile*, int*)"),
            "dlroof::cuda::<unnamed>::Hold");
  EXPECT_EQ(ShortKernelName("unsigned long a::f(int)"), "a::f");
  EXPECT_EQ(ShortKernelName("wgrad [64, 128]"), "wgrad [64, 128]");
  EXPECT_EQ(ShortKernelName("void a::f<int>(int) [64x2, 128, 1 of 2]"),
            "a::f<int> [64x2, 128, 1 of 2]");
  EXPECT_EQ(ShortKernelName(kCopyOfPyTorch),
            "vectorized_elementwise_kernel<8, float16_cop…kernel_cuda, …>");
  EXPECT_EQ(ShortKernelName("void at::vectorized_elementwise_kernel<4, at::FillFunctor<float>, "
                            "std::array<char *, 1>>(int, T2, T3)"),
            "vectorized_elementwise_kernel<4, FillFunctor<…>, array<…>>");
  EXPECT_EQ(ShortKernelName("elemWiseRNNcell<__half, __half, float, (cudnnRNNMode_t)2, "
                            "(cudnnRNNBiasMode_t)2>"),
            "elemWiseRNNcell<__half, __half, float, 2, 2>");
  EXPECT_EQ(ShortKernelName("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
                            "cute::tuple<int, int>, cutlass::gemm::Mma<4> > >(int)"),
            "device_kernel<GemmUniversal<tuple<int, int>, Mma<4>>>");
  EXPECT_EQ(ShortKernelName("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
                            "cute::tuple<int, int, int, int>, cutlass::gemm::CollectiveMma<4> > "
                            ">(int)"),
            "device_kernel<GemmUniversal<…>>");
  EXPECT_EQ(ShortKernelName(kConvolutionOfCudnn),
            "sm90_xmma_fprop_implicit_gemm…28x64x32_warpgroupsize1x1x1_g1");
  // CUPTI's names are cut after 80 characters.
  EXPECT_EQ(ShortKernelName("cask_plugin__5x_cudnn::xmma__5x_cudnn::init_device_workspace_kernel<"
                            "xmma__5x_..."),
            "init_device_workspace_kernel<xmma__5x_...>");
  EXPECT_LE(TextWidth(ShortKernelName(kRandomOfPyTorch)), 60);
  EXPECT_THAT(ShortKernelName(kRandomOfPyTorch),
              HasSubstr("distribution_elementwise_grid_stride_kernel<float, 4"));
  for (const std::string name :
       {kCopyOfPyTorch, kRandomOfPyTorch, kConvolutionOfCudnn, "operator<", "x->y(int)", "a)>(b",
        "void unnamed>::Chain<unnamed>::Fp32>(T1::Type *)", "Memcpy HtoD (Pageable -> Device)", ""})
    for (int width = 9; width < 130; ++width) {
      const auto text = ShortKernelName(name, width);
      EXPECT_LE(TextWidth(text), width) << name;
      for (auto at = text.find("unnamed"); at != std::string::npos;
           at = text.find("unnamed", at + 1))
        EXPECT_EQ(text.substr(at == 0 ? 0 : at - 1, 9), "<unnamed>") << text;
    }
}

TEST(CommandLine, IsWhatAShellTakesAgain) {
  EXPECT_EQ(CommandLine({"./a", "--filter=LSTM", "it's", "a b", ""}),
            R"(./a --filter=LSTM 'it'\''s' 'a b' '')");
}

TEST(ShortKernelNames, KeepsDifferentKernelsApart) {
  const std::vector<std::string> names = {"void f(int)", "void g(int)", "void f(float)",
                                          "void f(int)"};
  EXPECT_THAT(ShortKernelNames(names), ElementsAre("f", "g", "f #2", "f"));
  EXPECT_EQ(KernelFunction("void a::(anonymous namespace)::Copy<b::C, 2>(float *)"),
            "a::<unnamed>::Copy");
  EXPECT_EQ(KernelFunction("unnamed>::Copy(const float4 *)"), "<unnamed>::Copy");
}

}  // namespace
}  // namespace dlroof::text
