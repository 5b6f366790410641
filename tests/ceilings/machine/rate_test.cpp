#include "ceilings/machine/rate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <tuple>

#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/refusal.h"

namespace dlroof::machine {
namespace {

using fakes::TextOf, testing::HasSubstr;

RatePolicy SmallPolicy() {
  return {.repetition_seconds = 1e-2,
          .repetitions = 4,
          .doubled = 2,
          .max_seconds = 10,
          .tolerance = 0.02};
}

RateRepetition Repetition(std::int64_t iterations, double seconds,
                          std::optional<double> wait = 0.0) {
  return {iterations, {seconds, wait}};
}

// 100 iterations in 1 s, 200 in 2 s.
std::vector<RateRepetition> Singles() {
  return {Repetition(100, 1.01), Repetition(100, 1), Repetition(100, 1.005), Repetition(100, 1.1)};
}
std::vector<RateRepetition> Doubles() { return {Repetition(200, 2), Repetition(200, 2.2)}; }

Rate Judged(const std::vector<RateRepetition>& singles,
            const std::vector<RateRepetition>& doubles = Doubles()) {
  return JudgeRate({singles, doubles}, SmallPolicy());
}

// Best single 1 s, best double 2 s: 2. Rates 99.0, 100, 99.5, 90.9, 100, 90.9: their median is
// (99.0 + 99.5) / 2. The interval of 6 rates' median is minimum and maximum.
TEST(JudgeRate, TakesTheBestCleanRepetitionAndKeepsTheEvidence) {
  const auto rate = Judged(Singles());
  EXPECT_EQ(rate.per_second, 100);
  EXPECT_TRUE(rate.IsValidated()) << TextOf(rate.reason);
  EXPECT_EQ(TextOf(rate.reason), "");
  EXPECT_EQ(rate.clean, 6);
  EXPECT_EQ(rate.total, 6);
  EXPECT_TRUE(rate.waits_known);
  EXPECT_EQ(rate.clock_hz, std::nullopt);
  EXPECT_DOUBLE_EQ(rate.ci95.value().first, 100 / 1.1);
  EXPECT_DOUBLE_EQ(rate.ci95.value().second, 100);
  EXPECT_DOUBLE_EQ(rate.doubling.value(), 2);
  EXPECT_DOUBLE_EQ(rate.spread.value(), (100 - 100 / 1.1) / ((100 / 1.01 + 100 / 1.005) / 2));
  const auto few = Judged(Singles(), {});
  EXPECT_EQ(few.doubling, std::nullopt);
  EXPECT_EQ(few.spread, std::nullopt);
  auto doubles = Doubles();
  doubles[0].time.seconds = 1.99;
  EXPECT_DOUBLE_EQ(Judged(Singles(), doubles).per_second, 200 / 1.99);
  auto singles = Singles();
  singles[0].time.wait_fraction.reset();
  const auto unknown = Judged(singles);
  EXPECT_FALSE(unknown.waits_known);
  EXPECT_TRUE(unknown.IsValidated());
  EXPECT_THROW(JudgeRate({}, SmallPolicy()), std::invalid_argument);
}

// Impossibly fast, but a thread waited, or shared its core with another program.
TEST(JudgeRate, LeavesNoisyRepetitionsOutAndNeedsTwiceTheTimeAndABestThatOthersComeNear) {
  auto singles = Singles();
  singles.push_back(Repetition(100, 0.5));
  auto& time = singles.back().time;
  for (auto* quality : {&time.wait_fraction, &time.core_share}) {
    const bool waits = quality == &time.wait_fraction;
    *quality = waits ? 0.0051 : 0.89;
    const auto rate = Judged(singles);
    EXPECT_EQ(rate.per_second, 100);
    EXPECT_EQ(rate.clean, 6);
    EXPECT_EQ(rate.total, 7);
    *quality = waits ? 0.005 : 0.9;
    EXPECT_EQ(Judged(singles).per_second, 200);
    EXPECT_EQ(Judged(singles).clean, 7);
  }
  // A loop that the compiler removed takes the same time for any number of iterations.
  std::vector<RateRepetition> doubles = {Repetition(200, 1), Repetition(200, 1)};
  const auto rate = Judged(Singles(), doubles);
  EXPECT_FALSE(rate.IsValidated());
  EXPECT_EQ(TextOf(rate.reason),
            "twice the work took 1.000 times the time, allowed is 2 within 2.0 %");
  for (auto& repetition : doubles) repetition.time.seconds = 2.1;
  EXPECT_FALSE(Judged(Singles(), doubles).IsValidated());
  for (auto& repetition : doubles) repetition.time.seconds = 2.03;
  EXPECT_TRUE(Judged(Singles(), doubles).IsValidated());
  // Three singles of seven at a higher clock than any double: of the best the ratio is 2 / 0.95, of
  // the medians 2. If the medians differ too, it is not validated.
  std::vector<RateRepetition> once(3, Repetition(100, 0.95));
  once.insert(once.end(), 4, Repetition(100, 1));
  const std::vector<RateRepetition> twice(3, Repetition(200, 2));
  const auto judged = Judged(once, twice);
  EXPECT_TRUE(judged.IsValidated()) << TextOf(judged.reason);
  EXPECT_DOUBLE_EQ(judged.doubling.value(), 2);
  EXPECT_DOUBLE_EQ(judged.per_second, 100 / 0.95);
  once[3] = Repetition(100, 0.95);
  EXPECT_FALSE(Judged(once, twice).IsValidated());
  const std::vector<RateRepetition> spread = {Repetition(100, 1), Repetition(100, 1.2),
                                              Repetition(100, 1.3), Repetition(100, 1.1)};
  const std::vector<RateRepetition> doubled = {Repetition(200, 2), Repetition(200, 2.4)};
  const auto far = Judged(spread, doubled);
  EXPECT_FALSE(far.IsValidated());
  EXPECT_EQ(TextOf(far.reason), "only 2 of 6 clean repetitions were within 2.0 % of the best");
}

TEST(JudgeRate, CaveatsTooFewCleanRepetitionsOfWhichTheClockCloseToTheBestIsTaken) {
  auto doubles = Doubles();
  doubles[1].time.wait_fraction = 0.5;
  const auto rate = Judged(Singles(), doubles);
  EXPECT_FALSE(rate.IsValidated());
  EXPECT_THAT(TextOf(rate.reason),
              HasSubstr("only 1 of 2 needed repetitions with twice the work were clean"));
  EXPECT_EQ(rate.ci95, std::nullopt);  // 5 clean ones carry none
  const auto noisy = Judged({Repetition(100, 2, 0.3), Repetition(100, 1.5, 0.2)}, {});
  EXPECT_FALSE(noisy.IsValidated());
  EXPECT_DOUBLE_EQ(noisy.per_second, 100 / 1.5);
  EXPECT_EQ(noisy.clean, 0);
  EXPECT_THAT(TextOf(noisy.reason), HasSubstr("lower bound"));
  EXPECT_EQ(noisy.ci95, std::nullopt);
  // The repetition of 1.1 s ran at another clock, the noisy one at a third: neither is asked. Of
  // fewer than five the highest counts.
  auto singles = Singles();
  singles[0].time.clock_hz = 3.0e9;
  singles[1].time.clock_hz = 3.1e9;
  singles[2].time.clock_hz = 3.2e9;
  singles[3].time.clock_hz = 1.0e9;
  singles.push_back(Repetition(100, 1, 0.3));
  singles.back().time.clock_hz = 5.0e9;
  EXPECT_DOUBLE_EQ(Judged(singles).clock_hz.value(), 3.2e9);
  for (const double clock_hz : {3.0e9, 3.1e9, 3.1e9}) {
    singles.push_back(Repetition(100, 1));
    singles.back().time.clock_hz = clock_hz;
  }
  EXPECT_DOUBLE_EQ(Judged(singles).clock_hz.value(), 3.1e9);
}

// A measurement that saw this rate `repetitions` times with each amount of work.
Rate Pass(double per_second, int repetitions = 4, double wait = 0) {
  const auto count = static_cast<std::size_t>(repetitions);
  return JudgeRate({{count, Repetition(100, 100 / per_second, wait)},
                    {count, Repetition(200, 200 / per_second, wait)}},
                   SmallPolicy());
}

Rate Merged(const std::vector<Rate>& passes) { return MergePasses(passes, SmallPolicy(), 0.05); }

TEST(MergePasses, TakesTheBestIfAnotherComesNearAndValidatesTogetherWhatNonePassCould) {
  const auto rate = Merged({Pass(72), Pass(100), Pass(96)});
  EXPECT_EQ(rate.per_second, 100);
  EXPECT_TRUE(rate.IsValidated()) << TextOf(rate.reason);
  EXPECT_EQ(rate.clean, 24);
  EXPECT_EQ(rate.total, 24);
  // The machine was slow either in one pass or in all but one; the rates cannot show which.
  const auto alone = Merged({Pass(72), Pass(100), Pass(94)});
  EXPECT_EQ(alone.per_second, 100);
  EXPECT_FALSE(alone.IsValidated());
  EXPECT_EQ(TextOf(alone.reason),
            "none of the 2 other measurements, spread over the run, was within 5 % of the best");
  EXPECT_TRUE(Merged({Pass(5)}).IsValidated());
  EXPECT_THROW(Merged({}), std::invalid_argument);
  const auto pass = Pass(100, 2);  // 4 and 2 are wanted
  ASSERT_FALSE(pass.IsValidated());
  EXPECT_TRUE(Merged({pass, pass}).IsValidated());
  const auto clean = Merged({Pass(100, 4, 0.5), Pass(90), Pass(90)});
  EXPECT_EQ(clean.per_second, 90);
  EXPECT_TRUE(clean.IsValidated()) << TextOf(clean.reason);
}

// A machine with an exact rate, a cost per call, and interference by call number.
struct FakeMachine {
  double iterations_per_second = 1e6;
  double seconds_per_call = 0;
  std::function<TeamTime(int call, TeamTime)> disturb = [](int, TeamTime time) { return time; };
  int calls = 0;
  double seconds = 0, slept = 0;
  std::int64_t largest = 0;

  Rate Measure(RatePolicy policy) {
    policy.sleep = [this](double pause) { slept += pause; };
    policy.now = [this] { return seconds + slept; };
    return MeasureRate(
        [this](std::int64_t iterations) {
          largest = std::max(largest, iterations);
          const TeamTime quiet = {
              seconds_per_call + static_cast<double>(iterations) / iterations_per_second, 0.0};
          const auto time = disturb(calls++, quiet);
          seconds += time.seconds;
          return time;
        },
        policy);
  }
};

TEST(MeasureRate, FindsTheRateAndStopsWhenValidated) {
  FakeMachine machine;
  const auto rate = machine.Measure(SmallPolicy());
  EXPECT_TRUE(rate.IsValidated());
  EXPECT_NEAR(rate.per_second, 1e6, 1);
  EXPECT_EQ(rate.clean, 6);  // 4 and 2, no more than wanted
  EXPECT_NEAR(static_cast<double>(machine.largest), 2e4,
              2e3);  // doubled: 20 ms at 1e6 iterations per second
  EXPECT_EQ(machine.slept, 0);
}

TEST(MeasureRate, MakesRepetitionsLongWhateverTheIterationCostsAlsoAfterANoisyCalibration) {
  for (const double per_second : {1e-1, 1e2, 1e5, 1e9, 1e11}) {
    FakeMachine machine;
    machine.iterations_per_second = per_second;
    auto policy = SmallPolicy();
    policy.max_seconds = 1e3;
    const auto rate = machine.Measure(policy);
    EXPECT_TRUE(rate.IsValidated()) << per_second << TextOf(rate.reason);
    EXPECT_NEAR(rate.per_second / per_second, 1, 1e-3) << per_second;
  }
  // A wait during calibration makes the repetitions too short, where the cost of a call hides the
  // rate.
  FakeMachine noisy;
  noisy.seconds_per_call = 2e-5;
  noisy.disturb = [](int call, TeamTime time) {
    return call < 2 ? TeamTime{time.seconds + 1, 1.0} : time;
  };
  const auto calibrated = noisy.Measure(SmallPolicy());
  EXPECT_TRUE(calibrated.IsValidated()) << TextOf(calibrated.reason);
  EXPECT_NEAR(calibrated.per_second / 1e6, 1, 0.01);
}

// Wall time passes, and the kernel says that none did, or a thousandth of it.
TEST(MeasureRate, EndsWhereTheClockStandsStillAndWaitsUntilEnoughAreClean) {
  for (const double share : {0.0, 1e-3}) {
    double wall = 0;
    auto policy = SmallPolicy();
    policy.repetition_seconds = 1e3;
    policy.now = [&] { return wall; };
    const auto measure = [&] {
      return MeasureRate(
          [&](std::int64_t iterations) {
            const double seconds = 1e-6 * static_cast<double>(iterations);
            wall += seconds;
            return TeamTime{share * seconds, 0.0};
          },
          policy);
    };
    if (share == 0)
      EXPECT_THROW(measure(), Unsupported);
    else
      EXPECT_NEAR(measure().per_second, 1e9, 1e6);  // 1e6 by the wall, a thousand times that
    // Ten times the ten seconds in the last look; then 4 of it and 2 of twice, once ten times more.
    EXPECT_LT(wall, 1e4) << share;
  }
  // Threads wait, or another program uses a core: that costs time, but the rate is validated.
  for (const bool neighbour : {false, true}) {
    FakeMachine machine;
    machine.disturb = [&](int call, TeamTime time) {
      if (neighbour && call % 5 != 0) return TeamTime{time.seconds * 1.7, 0.0, std::nullopt, 0.6};
      if (!neighbour && call % 4 != 0) return TeamTime{time.seconds * 1.5, 0.3};
      return time;
    };
    const auto rate = machine.Measure(SmallPolicy());
    EXPECT_TRUE(rate.IsValidated()) << TextOf(rate.reason);
    EXPECT_NEAR(rate.per_second, 1e6, 1);
    EXPECT_GT(machine.slept, 0);
    EXPECT_GT(rate.total, rate.clean);
  }
  FakeMachine machine;
  machine.disturb = [](int, TeamTime time) { return TeamTime{time.seconds * 2, 0.5}; };
  const auto rate = machine.Measure(SmallPolicy());
  EXPECT_FALSE(rate.IsValidated());
  EXPECT_EQ(rate.clean, 0);
  EXPECT_LT(machine.seconds + machine.slept, 1.2 * SmallPolicy().max_seconds);
  FakeMachine empty;
  empty.iterations_per_second = 1e30;
  empty.seconds_per_call = 1e-3;
  auto policy = SmallPolicy();
  policy.max_seconds = 1;
  const auto of_nothing = empty.Measure(policy);
  EXPECT_FALSE(of_nothing.IsValidated());
  EXPECT_THAT(TextOf(of_nothing.reason), HasSubstr("twice the work took 1.000 times the time"));
  EXPECT_LT(empty.seconds + empty.slept, 1.2 * policy.max_seconds);
}

Ceiling Of(double per_second, bool validated) {
  return {.per_second = per_second,
          .status = validated ? CeilingStatus::kValidated : CeilingStatus::kNotValidated};
}

std::string Chosen(const std::map<std::string, Ceiling>& ceilings) {
  std::vector<const CeilingRow*> rows;
  for (const auto& row : ceilings) rows.push_back(&row);
  const auto* chosen = ChooseRoof(rows);
  return chosen == nullptr ? "none" : chosen->first;
}

// A core that multiplies and adds beside each other reaches the same with and without FMA: a
// validated row within the noise of an not validated one is the roof. One far above the others
// stays it.
TEST(ChooseRoof, IsTheHighestOrAValidatedRowWithinTheNoise) {
  EXPECT_EQ(Chosen({{"a", Of(2, true)}, {"b", Of(3, true)}, {"c", Of(1, true)}}), "b");
  EXPECT_EQ(Chosen({{"fma", Of(97, true)}, {"nofma", Of(100, false)}, {"old", Of(50, true)}}),
            "fma");
  EXPECT_EQ(Chosen({{"fma", Of(96, true)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({{"fma", Of(99, false)}, {"nofma", Of(100, false)}}), "nofma");
  EXPECT_EQ(Chosen({}), "none");
}

Ceiling& Fp32(Machine& machine, int threads) {
  return machine.by_threads[threads].flops["fp32.vector"];
}

Machine With(const std::map<int, double>& rates) {
  Machine machine;
  for (const auto& [threads, rate] : rates)
    Fp32(machine, threads) = {
        .per_second = rate, .threads = threads, .status = CeilingStatus::kValidated};
  return machine;
}

TEST(CompareThreadCounts, RefutesAThreadThatWasSlowerAloneThanInATeamBeyondTheNoise) {
  Machine machine = With({{1, 432e9}, {2, 1217e9}});  // 608.5 each
  Fp32(machine, 1).reasons = {"its own reason"};
  for (int times = 0; times < 2; ++times) {  // says nothing twice
    CompareThreadCounts(machine);
    EXPECT_FALSE(Fp32(machine, 1).IsValidated());
    EXPECT_EQ(Fp32(machine, 1).ReasonText(),
              "its own reason; 2 threads reached 608.5 G/s per thread, this team only 432 G/s: "
              "another program or a lower clock slowed it");
    EXPECT_TRUE(Fp32(machine, 2).IsValidated());
  }
  machine = With({{1, 65e9}, {2, 58e9}});
  CompareThreadCounts(machine);
  EXPECT_THAT(Fp32(machine, 2).ReasonText(),
              HasSubstr("1 of these threads reached 65 G/s, all of them only 58 G/s"));
  // 1.5 % above linear, linear, shared bandwidth
  for (const double two : {203.0, 200.0, 120.0, 98.0}) {
    machine = With({{1, 100}, {2, two}});
    CompareThreadCounts(machine);
    EXPECT_TRUE(Fp32(machine, 1).IsValidated()) << two;
  }
}

// 2 threads at 190 of 100 each: 0.95; 4 at 320: 0.8 and still validated.
TEST(AddScaling, HoldsEachTeamAgainstOneThreadAndRefutesSharedCores) {
  Machine machine = With({{1, 100}, {2, 190}, {4, 320}});
  machine.by_threads[4].flops["fp64.vector.avx2"].per_second = 1;  // not measured alone
  AddScaling(machine, std::nullopt);
  const auto at = [&](int threads) { return Fp32(machine, threads); };
  EXPECT_EQ(at(1).validation.scaling, std::nullopt);
  EXPECT_EQ(at(2).validation.scaling, 0.95);
  EXPECT_EQ(at(4).validation.scaling, 0.8);
  EXPECT_TRUE(at(4).IsValidated());
  Fp32(machine, 1).per_second = 80;
  AddScaling(machine, std::nullopt);
  EXPECT_EQ(at(4).validation.scaling, 1);
  EXPECT_EQ(machine.by_threads[4].flops["fp64.vector.avx2"].validation.scaling, std::nullopt);
  // Two threads at 160 of 100 each: 0.8 of what one has, which a clock of 0.8 explains, or that
  // there is one core for both.
  const auto scaled = [](int cores, std::optional<double> clock_of_two) {
    Machine pair = With({{1, 100}, {2, 160}});
    Fp32(pair, 1).clock_hz = 4e9;
    Fp32(pair, 2).clock_hz = clock_of_two;
    AddScaling(pair, cores);
    AddScaling(pair, cores);  // says nothing twice
    return Fp32(pair, 2);
  };
  EXPECT_FALSE(scaled(2, 4e9).IsValidated());
  EXPECT_EQ(
      scaled(2, 4e9).ReasonText(),
      "at the same clock each of its threads is slower than a single thread: other programs used "
      "their cores, or two threads share a core");
  EXPECT_FALSE(scaled(2, std::nullopt).IsValidated());
  EXPECT_TRUE(scaled(2, 3.2e9).IsValidated());
  EXPECT_TRUE(scaled(1, 4e9).IsValidated());
}

// 10 and 18 of two threads: 0.9; 5 and 7: 0.7. L3 and DRAM are shared, their rates say nothing of
// one thread.
TEST(AddScaling, OfMemoryIsThatOfThePrivateLevels) {
  Machine machine;
  const auto put = [&](int threads, Level level, const std::string& mix, double rate) {
    const Ceiling ceiling = {
        .per_second = rate, .threads = threads, .how = "h", .status = CeilingStatus::kValidated};
    machine.by_threads[threads].bytes[level] = ceiling;
    machine.by_threads[threads].mixes[mix] = ceiling;
  };
  for (const int threads : {1, 2}) {
    put(threads, Level::kL1, "l1.load.avx2", threads == 1 ? 10 : 18);
    put(threads, Level::kL2, "l2.copy.avx2", threads == 1 ? 5 : 7);
    put(threads, Level::kL3, "l3.load.avx2", 2);
    put(threads, Level::kDram, "dram.load.avx2", 1);
  }
  machine.by_threads[2].bytes[Level::kHost] = {.per_second = 1};
  AddScaling(machine, std::nullopt);
  AddScaling(machine, std::nullopt);  // says nothing twice
  auto& two = machine.by_threads[2];
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL1].validation.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.mixes["l1.load.avx2"].validation.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL2].validation.scaling.value(), 0.7);
  EXPECT_DOUBLE_EQ(two.mixes["l2.copy.avx2"].validation.scaling.value(), 0.7);
  EXPECT_TRUE(two.bytes[Level::kL2].IsValidated());
  for (const Level level : {Level::kL3, Level::kDram, Level::kHost})
    EXPECT_EQ(two.bytes[level].validation.scaling, std::nullopt) << Key(level);
  EXPECT_EQ(two.mixes["l3.load.avx2"].validation.scaling, std::nullopt);
  EXPECT_EQ(two.mixes["dram.load.avx2"].validation.scaling, std::nullopt);
  EXPECT_EQ(machine.by_threads[1].bytes[Level::kL1].validation.scaling, std::nullopt);
}

using Features = std::set<std::string>;

TEST(FeaturesOfRow, DependOnTypeAndVariantAndTheIsaIsThePartWithoutItsVariant) {
  const std::tuple<const char*, const char*, Features> rows[] = {
      {"fp32.vector.avx2", "avx2", {"avx2", "fma"}},
      {"int32.vector.avx2", "avx2", {"avx2"}},
      {"fp64.vector.sse2_scalar", "sse2", {"sse2"}},
      {"fp64.vector.fma_scalar", "fma", {"fma"}},
      {"int8.vector.avx_vnni", "avx_vnni", {"avx2", "avx_vnni"}},
      {"int8.vector.avx512", "avx512", {"avx512f", "avx512bw"}},
      {"fp64.vector.avx512_nofma", "avx512", {"avx512f"}},
      {"int8.vector.avx512_vnni_ymm", "avx512_vnni", {"avx512f", "avx512vl", "avx512_vnni"}},
      {"bf16.vector.avx512_bf16_ymm", "avx512_bf16", {"avx512f", "avx512vl", "avx512_bf16"}},
      {"fp16.matrix.amx_l1", "amx", {"amx_tile", "amx_fp16"}},
      {"fp32.vector.portable", "portable", {}},
      {"fp32.vector", "", {}},
      {"fp32.vector.neon", "", {}},
      {"", "", {}}};
  for (const auto& [row, isa, features] : rows) {
    EXPECT_EQ(IsaOfRow(row), isa) << row;
    EXPECT_EQ(FeaturesOfRow(row), features) << row;
  }
}

// A run held to AVX2 is judged by the AVX2 row, one held to AVX by multiply and add.
TEST(RowAllowed, FollowsTheOrderOfOneDnnsIsas) {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      // row, an ISA that does not have it, and one that has it
      {"fp32.vector.sse2", nullptr, "sse41"},
      {"fp32.vector.avx", "sse41", "avx"},
      {"fp32.vector.fma_scalar", "avx", "avx2"},
      {"fp32.vector.avx2", "avx", "avx2"},
      {"fp32.vector.avx512", "avx2_vnni", "avx512_core"},
      {"int8.vector.avx_vnni", "avx2", "avx2_vnni_2"},
      {"int8.vector.avx512", "avx2", "avx512_core"},
      {"int8.vector.avx512_vnni_ymm", "avx512_core", "avx512_core_vnni"},
      {"bf16.vector.avx512_bf16", "avx512_core_vnni", "avx512_core_bf16"},
      {"fp16.vector.avx512_fp16_nofma", "avx512_core_bf16", "avx512_core_fp16"},
      {"int8.matrix.amx_l1", "avx512_core_fp16", "avx512_core_amx"},
      {"fp16.matrix.amx", "avx512_core_amx", "avx512_core_amx_fp16"},
      {"bf16.matrix.amx", "avx10_1_512", "avx10_1_512_amx"},
      // What is not known excludes nothing.
      {"fp32.vector.avx512", nullptr, "isa_0x3fef"},
      {"fp32.vector.avx512", nullptr, ""},
      {"fp32.vector", nullptr, "sse41"},
      {"fp32.vector.neon", nullptr, "sse41"},
      {"fp32.vector.portable", nullptr, "sse41"}};
  for (const auto& [row, without, with] : rows) {
    EXPECT_TRUE(RowAllowed(row, with)) << row;
    if (without != nullptr) {
      EXPECT_FALSE(RowAllowed(row, without)) << row;
    }
  }
}

constexpr double kTolerance = 0.03;

// A measurement with this rate at 3 GHz, of which `clean` repetitions were clean.
Ceiling Seen(double per_second, bool validated, int clean = 5, double clock_hz = 3e9) {
  static int minute = 0;
  return fakes::Seen(std::to_string(++minute), per_second, validated, clean, clock_hz);
}

Ceiling Of(const std::vector<Ceiling>& visits) {
  Ceiling learned = visits.front();
  for (std::size_t i = 1; i < visits.size(); ++i) learned = Learned(learned, visits[i], kTolerance);
  return learned;
}

TEST(Learned, KeepsAValidatedRateUnlessAFasterOneIsValidatedOrSeenTwice) {
  for (const auto& later : {Seen(80, false), Seen(80, true), Seen(102, false), Seen(120, false)}) {
    const auto learned = Of({Seen(100, true), later});
    EXPECT_TRUE(learned.IsValidated()) << later.per_second;
    EXPECT_EQ(learned.per_second, 100) << later.per_second;
    EXPECT_EQ(learned.visits.size(), 2);
  }
  EXPECT_EQ(Of({Seen(100, true), Seen(120, true)}).per_second, 120);
  const auto learned = Of({Seen(100, true), Seen(120, false), Seen(119, false)});
  EXPECT_EQ(learned.per_second, 120);
  EXPECT_TRUE(learned.IsValidated());
}

TEST(Learned, ValidatesWhatTwoCleanVisitsAgreeOnAndKeepsTheFastestOfMany) {
  EXPECT_FALSE(Of({Seen(100, false), Seen(90, false)}).IsValidated());
  const auto learned = Of({Seen(100, false), Seen(90, false), Seen(98, false)});
  EXPECT_TRUE(learned.IsValidated());
  EXPECT_EQ(learned.per_second, 100);
  EXPECT_EQ(learned.ReasonText(), "");
  auto disturbed = Seen(101, false);
  disturbed.validation.doubling = 4.3;  // a file with it and "proved" would be refused
  EXPECT_TRUE(Learned(learned, disturbed, kTolerance).IsValidated());
  const auto proved = Of({Seen(100, false), disturbed});
  EXPECT_TRUE(proved.IsValidated());
  EXPECT_EQ(proved.validation.doubling, std::nullopt);
  const auto agreement = AgreementOf(learned, kTolerance);
  EXPECT_EQ(agreement.agreeing, 2);
  EXPECT_EQ(agreement.visits, 3);
  EXPECT_FALSE(Of({Seen(100, false), Seen(99, false, 0)}).IsValidated());
  EXPECT_FALSE(Of({Seen(100, false), Seen(99, false, 5, 2e9)}).IsValidated());
  EXPECT_TRUE(Of({Seen(100, false), Seen(99, false, 5, 2.9e9)}).IsValidated());
  auto held = Seen(70, false);
  for (const double per_cycle : {44.8, 62.0}) {
    held.visits[0].per_cycle = per_cycle;
    held.visits[0].per_cycle_expected = 64;
    auto again = held;
    again.visits[0].at = "later";
    EXPECT_EQ(Of({held, again}).IsValidated(), per_cycle > 60);
  }
  const auto seen = Seen(100, false);
  const auto kept = Of({seen, seen});
  EXPECT_FALSE(kept.IsValidated());
  EXPECT_EQ(kept, seen);
  auto wrong = Seen(900, false);
  AddUnboundedReason(wrong, "the result is wrong");
  EXPECT_EQ(Of({Seen(100, true), wrong}).per_second, 100);
  EXPECT_EQ(Of({wrong, Seen(100, false)}).per_second, 100);
  std::vector<Ceiling> visits;
  for (int i = 1; i <= 20; ++i) visits.push_back(Seen(i, false));
  const auto of_many = Of(visits);
  EXPECT_EQ(of_many.visits.size(), 8);
  EXPECT_EQ(of_many.visits.front().per_second, 13);
}

Ceiling At(const char* at, double per_second, bool validated = true) {
  return fakes::Seen(at, per_second, validated, 5, 3e9);
}

TEST(LearnedShared, ASharedLevelIsALimitUntilVisitsThatAreApartAgreeOrOneIsHigher) {
  const auto first = LearnedShared(nullptr, At("2026-11-28T10:00:00Z", 58.5));
  EXPECT_FALSE(first.IsValidated());
  EXPECT_EQ(first.ReasonText(), "lower bound until a second visit, a minute or more later, agrees");
  EXPECT_FALSE(LearnedShared(&first, At("2026-11-28T10:00:05Z", 58)).IsValidated());
  const auto low = LearnedShared(&first, At("2026-11-28T10:02:00Z", 58));
  ASSERT_TRUE(low.IsValidated());
  const auto higher = LearnedShared(&low, At("2026-11-28T10:20:00Z", 118, false));
  EXPECT_EQ(higher.per_second, 118);
  EXPECT_FALSE(higher.IsValidated());
  const auto again = LearnedShared(&higher, At("2026-11-28T10:30:00Z", 115));
  EXPECT_EQ(again.per_second, 118);
  EXPECT_TRUE(again.IsValidated());
  EXPECT_EQ(LearnedShared(&again, At("2026-11-28T10:40:00Z", 60)).per_second, 118);
}

// A host with a neighbour that halves the bandwidth of 100 for 1 to 10 s on average, 10 to 60 % of
// the time. A visit of 3 s finds the fastest of 10 repetitions, each within 2 %; visits are 1 to 30
// minutes apart. The first visit alone is wrong in a fifth of them.
TEST(LearnedShared, IsWithin5PercentOfTheTruthIn95PercentOf200Histories) {
  std::mt19937_64 random(2026);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  int validated = 0, right = 0, right_alone = 0;
  for (int history = 0; history < 200; ++history) {
    const double share = uniform(0.1, 0.6), busy = uniform(1, 10);
    const double quiet = busy * (1 - share) / share;
    Ceiling learned;
    const int visits = std::uniform_int_distribution(2, 8)(random);
    double now = 0;
    for (int visit = 0; visit < visits; ++visit) {
      bool is_busy = uniform(0, 1) < share;  // minutes later nothing is left of the state before
      double until = -std::log(uniform(1e-9, 1)) * (is_busy ? busy : quiet), best = 0;
      for (double at = 0; at < 3; at += 0.3) {
        while (until < at) {
          is_busy = !is_busy;
          until -= std::log(uniform(1e-9, 1)) * (is_busy ? busy : quiet);
        }
        best = std::max(best, (is_busy ? 50 : 100) * uniform(0.98, 1));
      }
      now += uniform(60, 1800);
      const int minutes = static_cast<int>(now / 60), seconds = static_cast<int>(now) % 60;
      const auto seen = At(
          fmt::format("2026-11-28T{:02}:{:02}:{:02}Z", minutes / 60, minutes % 60, seconds).c_str(),
          best);
      if (visit == 0) right_alone += best >= 95 ? 1 : 0;
      learned = LearnedShared(visit == 0 ? nullptr : &learned, seen);
    }
    if (!learned.IsValidated()) continue;
    ++validated;
    right += std::abs(learned.per_second / 100 - 1) <= 0.05 ? 1 : 0;
  }
  EXPECT_GE(validated, 170);
  EXPECT_GE(right, 0.95 * validated) << right_alone << " of 200 by the first visit alone";
  EXPECT_LT(right_alone, 190);
}

TEST(Learned, OfSetsJoinsRowsAndKeepsTheLowerCosts) {
  CeilingSet stored{.flops = {{"fp32.vector.avx2", Seen(100, true)}},
                    .launch_seconds = 2e-6,
                    .overheads = {{"fork-join", 5e-7}},
                    .effort = "full",
                    .absent = {{"dram.load.avx2", "why"}}};
  const CeilingSet now{
      .flops = {{"fp32.vector.avx2", Seen(50, false)}, {"int8.vector.avx2", Seen(200, true)}},
      .mixes = {{"dram.load.avx2", Seen(10, true)}},
      .launch_seconds = 3e-6,
      .overheads = {{"fork-join", 4e-7}},
      .effort = "roofs"};
  const auto set = Learned(stored, now);
  EXPECT_EQ(set.flops.at("fp32.vector.avx2").per_second, 100);
  EXPECT_EQ(set.flops.at("int8.vector.avx2").per_second, 200);
  EXPECT_EQ(set.launch_seconds, 2e-6);
  EXPECT_EQ(set.overheads.at("fork-join"), 4e-7);
  EXPECT_EQ(set.effort, "full");
  EXPECT_TRUE(set.absent.empty());
}

}  // namespace
}  // namespace dlroof::machine
