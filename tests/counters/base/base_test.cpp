#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

#include "counters/base/counter_manager.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/parallel_time.h"
#include "counters/base/process.h"
#include "counters/base/program.h"
#include "counters/base/work.h"

namespace dlroof {
namespace {

using testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::Pair,
    testing::Field;

// Numbers, keys, hashes, loops and texts.

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

TEST(MedianInterval95, TakesTheRanksOfTheTableFromSixValuesOn) {
  EXPECT_EQ(MedianInterval95(OneTo(5)), std::nullopt);
  EXPECT_EQ(MedianInterval95({}), std::nullopt);
  // The textbook table of ranks: n = 6: 1, 6; 9: 2, 8; 10: 2, 9; 20: 6, 15; 25: 8, 18.
  const std::pair<int, std::pair<double, double>> table[] = {
      {6, {1, 6}}, {8, {1, 8}}, {9, {2, 8}}, {10, {2, 9}}, {20, {6, 15}}, {25, {8, 18}}};
  for (const auto& [n, ranks] : table) EXPECT_EQ(MedianInterval95(OneTo(n)), ranks) << n;
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

TEST(Keys, BelongToOneValueEachAndNoneIsGuessed) {
  EXPECT_EQ(KeyIn(kSizes, Size::kSmall), "small");
  EXPECT_EQ(ValueIn(kSizes, "large"), Size::kLarge);
  EXPECT_EQ(ValuesOf(kSizes), (std::vector{Size::kLarge, Size::kSmall}));
  EXPECT_EQ(ValueIn(kSizes, "Large"), std::nullopt);
  EXPECT_THROW(KeyIn(kSizes, Size::kNamed), std::out_of_range);
}

TEST(ParallelFor, CallsEachIndexOnceAndThrowsWhatACallThrows) {
  for (const std::size_t count : {0, 1, 1023, 1024, 5001}) {
    std::vector<int> calls(count);
    ParallelFor(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
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

TEST(EncodeFloat, HasTheBitsOfTheStandardRoundsToEvenAndEveryPatternComesBack) {
  EXPECT_EQ(EncodeFloat(1, kFp16Format), 0x3c00U);
  EXPECT_EQ(EncodeFloat(-2, kFp16Format), 0xc000U);
  EXPECT_EQ(EncodeFloat(65504, kFp16Format), 0x7bffU);               // the largest
  EXPECT_EQ(EncodeFloat(std::ldexp(1, -24), kFp16Format), 0x0001U);  // the smallest
  EXPECT_EQ(EncodeFloat(0, kFp16Format), 0U);
  EXPECT_EQ(EncodeFloat(1, kBf16Format), 0x3f80U);
  EXPECT_EQ(EncodeFloat(1, kE4m3Format), 0x38U);    // bias 7: 0111.000
  EXPECT_EQ(EncodeFloat(448, kE4m3Format), 0x7eU);  // the largest of e4m3
  // fp16 around 1: steps of 2^-10.
  EXPECT_EQ(RoundTo(1 + std::ldexp(1, -11), kFp16Format), 1);
  EXPECT_EQ(RoundTo(1 + 3 * std::ldexp(1, -11), kFp16Format), 1 + std::ldexp(1, -9));
  EXPECT_EQ(RoundTo(1 + 1.01 * std::ldexp(1, -11), kFp16Format), 1 + std::ldexp(1, -10));
  // A carry into the exponent: the value below 2 that is nearest to it.
  EXPECT_EQ(RoundTo(1.9999, kBf16Format), 2);
  EXPECT_EQ(EncodeFloat(std::ldexp(1, -25), kFp16Format), 0U);  // half of the smallest: even
  EXPECT_EQ(EncodeFloat(std::ldexp(1.001, -25), kFp16Format), 0x0001U);  // more than half
  for (const double value : {1e-30, 1e-300, 5e-324}) {
    EXPECT_EQ(EncodeFloat(value, kFp16Format), 0U);
    EXPECT_EQ(EncodeFloat(-value, kFp16Format), 0x8000U);
  }
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits)
    ASSERT_EQ(EncodeFloat(DecodeFloat(bits, kFp16Format), kFp16Format), bits);
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits)
    ASSERT_EQ(EncodeFloat(DecodeFloat(bits, kBf16Format), kBf16Format), bits);
  for (std::uint32_t bits = 0x80; bits < 0xff; ++bits)
    ASSERT_EQ(EncodeFloat(DecodeFloat(bits, kE4m3Format), kE4m3Format), bits);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double value = (RandomBits(i) / 4294967296.0 - 0.5) * 1e3 + RandomBits(i + 7) * 1e-12;
    EXPECT_EQ(RoundTo(value, {8, 23}), static_cast<double>(static_cast<float>(value)));
  }
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

TEST(NearestName, IsTheFirstOfTheMostSimilarNamesIfOneIsSimilar) {
  EXPECT_EQ(NearestName("tine", {"time", "tune"}), "time");
  for (const char* name : {"rn", "ruun", "ran", "rnu"})  // insert, delete, replace, swap
    EXPECT_EQ(NearestName(name, {"run"}), "run") << name;
  EXPECT_EQ(NearestName("run", {"runs", "run"}), "run");
  EXPECT_EQ(NearestName("run", {}), std::nullopt);
  // One edit of three letters is allowed, two are not.
  EXPECT_EQ(NearestName("rat", {"run"}), std::nullopt);
}

// Visits every pair of an output and a tap.
int64_t PairsByLoops(const FilterAxis& axis) {
  int64_t pairs = 0;
  for (int64_t output = 0; output < axis.outputs; ++output)
    for (int64_t tap = 0; tap < axis.taps; ++tap) {
      const int64_t element = output * axis.stride + tap * axis.dilation - axis.pad_begin;
      if (element >= 0 && element < axis.source) ++pairs;
    }
  return pairs;
}

class Sizes {
 public:
  int64_t Between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  FilterAxis UpTo(int64_t most) {
    return {.source = Between(1, most),
            .outputs = Between(1, most),
            .taps = Between(1, most),
            .stride = Between(1, 5),
            .dilation = Between(1, 9),
            .pad_begin = Between(-3, 2 * most)};
  }

 private:
  std::mt19937_64 random_{20261127};
};

void ExpectAsByLoops(const FilterAxis& axis) {
  ASSERT_EQ(PairsInside(axis), PairsByLoops(axis))
      << "source " << axis.source << ", outputs " << axis.outputs << ", taps " << axis.taps
      << ", stride " << axis.stride << ", dilation " << axis.dilation << ", padding "
      << axis.pad_begin;
}

TEST(PairsInside, IsWhatLoopsCountAlsoOfDeepLabsRatesLargeSizesAndNothing) {
  Sizes sizes;
  for (int i = 0; i < 20000; ++i) ExpectAsByLoops(sizes.UpTo(i % 2 == 0 ? 5 : 30));
  for (int i = 0; i < 50; ++i) ExpectAsByLoops(sizes.UpTo(500));
  // 24 pixels: the middle tap is inside for all outputs, the others for 24 - rate, from 24 for
  // none.
  const auto with_rate = [](int64_t rate) { return FilterAxis{24, 24, 3, 1, rate, rate}; };
  EXPECT_EQ(PairsInside(with_rate(1)), 24 + 2 * 23);
  EXPECT_EQ(PairsInside(with_rate(12)), 24 + 2 * 12);
  EXPECT_EQ(PairsInside(with_rate(24)), 24);
  EXPECT_EQ(PairsInside(with_rate(36)), 24);
  constexpr int64_t kMax = int64_t{1} << 30;
  // Every tap has one output less on its side: kMax outputs and kMax taps before the end.
  EXPECT_EQ(PairsInside({.source = kMax, .outputs = kMax, .taps = kMax}), kMax * (kMax + 1) / 2);
  EXPECT_EQ(PairsInside({.source = 1, .outputs = kMax, .taps = kMax, .stride = kMax}), 1);
  // Two outputs of half the taps each: tap t of output o reads o * kMax + t.
  EXPECT_EQ(PairsInside({.source = kMax + kMax / 2, .outputs = 2, .taps = kMax, .stride = kMax}),
            kMax + kMax / 2);
  EXPECT_EQ(PairsInside({.source = 0, .outputs = 3, .taps = 3}), 0);
  EXPECT_EQ(PairsInside({.source = 3, .outputs = 0, .taps = 3}), 0);
  EXPECT_EQ(PairsInside({.source = 3, .outputs = 3, .taps = 0}), 0);
}

TEST(UsefulPairs, LackThePaddingInEveryDimensionAndOfOneTapOutputsOnIt) {
  const FilterAxis dense = {14, 14, 3, 1, 1, 1}, dilated = {14, 14, 3, 1, 2, 2};
  // 14 outputs with 3 taps each; inside lacks 1 at each end, dilated 2.
  EXPECT_EQ(UsefulPairs(std::array{dense, dense}), 40 * 40);
  EXPECT_EQ(UsefulPairs(std::array{dilated, dilated, dense}), 38 * 38 * 40);
  const FilterAxis axis = {5, 7, 1, 1, 4, 1};
  EXPECT_EQ(UsefulPairs(std::array{axis, axis}), 25);
}

CounterSource Source(const std::string& name, Provenance from, Work work) {
  return {name, "cpu", from, {}, [work, name](const CountRequest&) {
            return Counted{.work = work, .how = "how " + name + " does it"};
          }};
}

std::vector<CounterSource> Ladder() {
  return {Source("model", Provenance::kModelled, {.bytes = {{Level::kL2, 30}, {Level::kL3, 3}}}),
          Source("simulate", Provenance::kSimulated, {.bytes = {{Level::kL2, 20}}}),
          Source("perf", Provenance::kMeasured,
                 {.flops = {{"fp32.vector", 7}}, .bytes = {{Level::kL2, 10}}})};
}

CountRequest OnPipes(std::vector<std::string> pipes) {
  return CountRequest{.pipes = std::move(pipes)};
}

TEST(CounterChoices, AreTheSourcesOnceEachAndEverythingWhereASourceCounts) {
  EXPECT_THAT(
      CounterChoices({{"perf", "cpu"}, {"model", "cpu"}, {"model", "gpu"}, {"cupti", "gpu"}}),
      ElementsAre("auto", "cupti", "model", "perf", "off"));
  CounterSource source{"cupti", "gpu"};
  source.counts_everything = true;
  EXPECT_THAT(CounterChoices({source, {"model", "gpu"}}),
              ElementsAre("auto", "cupti", "cupti:all", "model", "off"));
  EXPECT_EQ(SourceName("cupti:all"), "cupti");
  EXPECT_EQ(SourceName("cupti"), "cupti");
}

TEST(CountCall, EverythingIsRequestedOnlyByName) {
  std::vector<bool> asked;
  const CounterSource source{
      "cupti", "gpu", Provenance::kMeasured, {}, [&](const CountRequest& request) {
        asked.push_back(request.everything);
        return Counted{};
      }};
  for (const auto* choice : {"auto", "cupti", "cupti:all"}) CountCall(choice, "gpu", {}, {source});
  EXPECT_THAT(asked, ElementsAre(false, false, true));
  EXPECT_TRUE(UnavailableReason("perf:all", "gpu", {source}));
  EXPECT_FALSE(UnavailableReason("cupti:all", "gpu", {source}));
}

TEST(RegisterCounterSource, ReplacesOneThatCannotCount) {
  const auto counts_on = [](const char* device) {
    for (const auto& source : AllCounterSources())
      if (source.name == "late" && source.device == device) return source.count != nullptr;
    return false;
  };
  const auto count = [](const CountRequest&) { return Counted(); };
  RegisterCounterSource({"late", "gpu"});
  RegisterCounterSource({"late", "cpu", Provenance::kModelled, {}, count});
  EXPECT_FALSE(counts_on("gpu"));
  RegisterCounterSource({"late", "gpu", Provenance::kModelled, {}, count});
  EXPECT_TRUE(counts_on("gpu"));
  RegisterCounterSource({"late", "cpu"});
  EXPECT_TRUE(counts_on("cpu"));
}

TEST(CountCall, AutoAsksHardwareAndModelButNotTheSlowSimulation) {
  const auto counting = CountCall("auto", "cpu", OnPipes({"fp32.vector"}), Ladder());
  ASSERT_EQ(counting.work.size(), 2);
  EXPECT_EQ(counting.work.at(Provenance::kMeasured).flops.at("fp32.vector"), 7);
  EXPECT_EQ(counting.work.at(Provenance::kModelled).bytes.at(Level::kL3), 3);
  EXPECT_THAT(counting.notes,
              ElementsAre(CountingNote{"perf", Provenance::kMeasured, "how perf does it"},
                          CountingNote{"model", Provenance::kModelled, "how model does it"}));
}

TEST(CountCall, EachChoiceAsksItsSourceWhoseFailureCostsASentence) {
  const auto request = OnPipes({"fp32.vector"});
  EXPECT_THAT(CountCall("off", "cpu", request, Ladder()).work, IsEmpty());
  EXPECT_EQ(CountCall("model", "cpu", request, Ladder()).work.size(), 1);
  const auto simulated = CountCall("simulate", "cpu", request, Ladder());
  EXPECT_EQ(simulated.work.at(Provenance::kSimulated).bytes.at(Level::kL2), 20);
  EXPECT_EQ(simulated.work.count(Provenance::kMeasured), 0);
  EXPECT_THAT(CountCall("auto", "gpu", request, Ladder()).work, IsEmpty());
  auto sources = Ladder();
  sources[2].count = [](const CountRequest&) -> Counted { throw std::runtime_error("no luck"); };
  const auto counting = CountCall("auto", "cpu", {}, sources);
  EXPECT_THAT(counting.notes, Contains(CountingNote{"perf", {}, "failed: no luck"}));
  EXPECT_EQ(counting.work.at(Provenance::kModelled).bytes.at(Level::kL2), 30);
  auto locked = Ladder();
  locked[2].unavailable = [] { return Reason{"the kernel sees no PMU"}; };
  EXPECT_THAT(CountCall("auto", "cpu", {}, locked).notes,
              ElementsAre(CountingNote{"model", Provenance::kModelled, "how model does it"}));
  EXPECT_THAT(CountCall("perf", "cpu", {}, locked).notes,
              Contains(CountingNote{"perf", {}, "the kernel sees no PMU"}));
  EXPECT_EQ(UnavailableReason("perf", "cpu", locked), Reason{"the kernel sees no PMU"});
  EXPECT_EQ(UnavailableReason("auto", "cpu", locked), std::nullopt);
  EXPECT_THAT(UnavailableReason("cupti", "cpu", locked).value().text, HasSubstr("cupti"));
}

TEST(UnavailableSources, AreThoseThatTheChoiceMeansAndCannotCount) {
  auto sources = Ladder();
  const auto reasons = [&](const char* choice, const char* device = "cpu") {
    return UnavailableSources(choice, device, sources);
  };
  EXPECT_THAT(reasons("auto"), IsEmpty());
  sources[2].unavailable = [] { return Reason{"the kernel sees no PMU"}; };
  sources[1].unavailable = [] { return Reason{"no valgrind"}; };
  EXPECT_THAT(reasons("auto"), ElementsAre(Pair("perf", Reason{"the kernel sees no PMU"})));
  EXPECT_THAT(reasons("simulate"), ElementsAre(Pair("simulate", Reason{"no valgrind"})));
  for (const auto choice : {"off", "model", "cupti"})
    EXPECT_THAT(reasons(choice), IsEmpty()) << choice;
  EXPECT_THAT(reasons("auto", "gpu"), IsEmpty());
  sources[2].unavailable = [] { return std::optional<Reason>(); };
  EXPECT_THAT(reasons("auto"), IsEmpty());
}

TEST(CountCall, KernelsAreThoseOfTheBestSourceAndWhatIsNoCountOrAPartIsDropped) {
  auto sources = Ladder();
  for (const int i : {0, 2})
    sources[i].count = [name = sources[i].name](const CountRequest&) {
      return Counted{.kernels = {{name + "_kernel", 2}}};
    };
  EXPECT_THAT(CountCall("auto", "cpu", {}, sources).kernels,
              ElementsAre(LaunchedKernel{"perf_kernel", 2}));
  const auto counting = CountCall("perf", "cpu", OnPipes({"int8.vector", "fp32.vector"}), Ladder());
  EXPECT_THAT(counting.work.at(Provenance::kMeasured).flops, IsEmpty());
  EXPECT_EQ(counting.work.at(Provenance::kMeasured).bytes.at(Level::kL2), 10);
  EXPECT_THAT(counting.notes,
              Contains(Field(&CountingNote::text, HasSubstr("cannot count int8.vector"))));
  auto wrong = Ladder();
  wrong[0] = Source("model", Provenance::kModelled,
                    {.bytes = {{Level::kL1, NAN}, {Level::kL2, -1}, {Level::kL3, 0}}});
  const auto dropped = CountCall("model", "cpu", {}, wrong);
  EXPECT_THAT(dropped.work.at(Provenance::kModelled).bytes, ElementsAre(Pair(Level::kL3, 0)));
}

TEST(WorkKeys, EveryLevelAndProvenanceSurvivesItsTextAndAPipeIsATypeAndAUnitAndPerhapsAFinerRow) {
  for (const Level level : AllLevels()) EXPECT_EQ(LevelFromKey(Key(level)), level);
  for (const Provenance from : AllProvenances()) EXPECT_EQ(ProvenanceFromKey(Key(from)), from);
  EXPECT_EQ(LevelFromKey("l4"), std::nullopt);
  EXPECT_EQ(ProvenanceFromKey("guessed"), std::nullopt);
  EXPECT_TRUE(IsPipeKey("fp32.vector"));
  EXPECT_TRUE(IsPipeKey("int8.matrix"));
  EXPECT_TRUE(IsPipeKey("fp32.vector.avx2"));
  EXPECT_TRUE(IsPipeKey("int32.vector"));
  for (const char* bad :
       {"", "fp32", "fp32.", ".vector", "fp31.vector", "fp32.scalar", "fp32.vector."})
    EXPECT_FALSE(IsPipeKey(bad)) << bad;
}

}  // namespace
}  // namespace dlroof
