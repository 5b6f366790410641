#include "ceilings/machine/rate.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "counters/base/error.h"
#include "tests/fakes/reason.h"

namespace dlroof::machine {
namespace {

using testing::HasSubstr;

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
  EXPECT_TRUE(rate.IsValidated()) << fakes::TextOf(rate.reason);
  EXPECT_EQ(fakes::TextOf(rate.reason), "");
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
TEST(JudgeRate, LeavesNoisyRepetitionsOutAndCaveatsWorkThatDoesNotTakeTwiceTheTime) {
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
  EXPECT_EQ(fakes::TextOf(rate.reason),
            "twice the work took 1.000 times the time, allowed is 2 within 2.0 %");
  for (auto& repetition : doubles) repetition.time.seconds = 2.1;
  EXPECT_FALSE(Judged(Singles(), doubles).IsValidated());
  for (auto& repetition : doubles) repetition.time.seconds = 2.03;
  EXPECT_TRUE(Judged(Singles(), doubles).IsValidated());
}

// Three singles of seven at a higher clock than any double: of the best the ratio is 2 / 0.95, of
// the medians 2. If the medians differ too, it is not validated.
TEST(JudgeRate, AcceptsTwiceTheTimeOfTypicalRepetitionsButNoBestThatOthersDoNotComeNear) {
  std::vector<RateRepetition> singles(3, Repetition(100, 0.95));
  singles.insert(singles.end(), 4, Repetition(100, 1));
  const std::vector<RateRepetition> doubles(3, Repetition(200, 2));
  const auto rate = Judged(singles, doubles);
  EXPECT_TRUE(rate.IsValidated()) << fakes::TextOf(rate.reason);
  EXPECT_DOUBLE_EQ(rate.doubling.value(), 2);
  EXPECT_DOUBLE_EQ(rate.per_second, 100 / 0.95);
  singles[3] = Repetition(100, 0.95);
  EXPECT_FALSE(Judged(singles, doubles).IsValidated());
  const std::vector<RateRepetition> spread = {Repetition(100, 1), Repetition(100, 1.2),
                                              Repetition(100, 1.3), Repetition(100, 1.1)};
  const std::vector<RateRepetition> doubled = {Repetition(200, 2), Repetition(200, 2.4)};
  const auto far = Judged(spread, doubled);
  EXPECT_FALSE(far.IsValidated());
  EXPECT_EQ(fakes::TextOf(far.reason),
            "only 2 of 6 clean repetitions were within 2.0 % of the best");
}

TEST(JudgeRate, CaveatsTooFewCleanRepetitionsAndWithoutOneKeepsTheBestAsALowerBound) {
  auto doubles = Doubles();
  doubles[1].time.wait_fraction = 0.5;
  const auto rate = Judged(Singles(), doubles);
  EXPECT_FALSE(rate.IsValidated());
  EXPECT_THAT(fakes::TextOf(rate.reason),
              HasSubstr("only 1 of 2 needed repetitions with twice the work were clean"));
  EXPECT_EQ(rate.ci95, std::nullopt);  // 5 clean ones carry none
  const auto noisy = Judged({Repetition(100, 2, 0.3), Repetition(100, 1.5, 0.2)}, {});
  EXPECT_FALSE(noisy.IsValidated());
  EXPECT_DOUBLE_EQ(noisy.per_second, 100 / 1.5);
  EXPECT_EQ(noisy.clean, 0);
  EXPECT_THAT(fakes::TextOf(noisy.reason), HasSubstr("lower bound"));
  EXPECT_EQ(noisy.ci95, std::nullopt);
}

// The repetition of 1.1 s ran at another clock, the noisy one at a third: neither is asked. Of
// fewer than five the highest counts.
TEST(JudgeRate, TakesTheClockOfCleanRepetitionsCloseToTheBest) {
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

TEST(MergePasses, TakesTheBestAndCaveatsItUnlessAnotherComesNear) {
  const auto rate = Merged({Pass(72), Pass(100), Pass(96)});
  EXPECT_EQ(rate.per_second, 100);
  EXPECT_TRUE(rate.IsValidated()) << fakes::TextOf(rate.reason);
  EXPECT_EQ(rate.clean, 24);
  EXPECT_EQ(rate.total, 24);
  // The machine was slow either in one pass or in all but one; the rates cannot show which.
  const auto alone = Merged({Pass(72), Pass(100), Pass(94)});
  EXPECT_EQ(alone.per_second, 100);
  EXPECT_FALSE(alone.IsValidated());
  EXPECT_EQ(fakes::TextOf(alone.reason),
            "none of the 2 other measurements, spread over the run, was within 5 % of the best");
  EXPECT_TRUE(Merged({Pass(5)}).IsValidated());
  EXPECT_THROW(Merged({}), std::invalid_argument);
}

TEST(MergePasses, ValidatesTogetherWhatNoSinglePassCouldAndPrefersCleanRepetitions) {
  const auto pass = Pass(100, 2);  // 4 and 2 are wanted
  ASSERT_FALSE(pass.IsValidated());
  EXPECT_TRUE(Merged({pass, pass}).IsValidated());
  const auto clean = Merged({Pass(100, 4, 0.5), Pass(90), Pass(90)});
  EXPECT_EQ(clean.per_second, 90);
  EXPECT_TRUE(clean.IsValidated()) << fakes::TextOf(clean.reason);
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

TEST(MeasureRate, MakesRepetitionsLongWhateverTheIterationCosts) {
  for (const double per_second : {1e-1, 1e2, 1e5, 1e9, 1e11}) {
    FakeMachine machine;
    machine.iterations_per_second = per_second;
    auto policy = SmallPolicy();
    policy.max_seconds = 1e3;
    const auto rate = machine.Measure(policy);
    EXPECT_TRUE(rate.IsValidated()) << per_second << fakes::TextOf(rate.reason);
    EXPECT_NEAR(rate.per_second / per_second, 1, 1e-3) << per_second;
  }
}

// A wait during calibration makes the repetitions too short, where the cost of a call hides the
// rate.
TEST(MeasureRate, StartsAgainWhenTheCalibrationWasNoisy) {
  FakeMachine machine;
  machine.seconds_per_call = 2e-5;
  machine.disturb = [](int call, TeamTime time) {
    return call < 2 ? TeamTime{time.seconds + 1, 1.0} : time;
  };
  const auto rate = machine.Measure(SmallPolicy());
  EXPECT_TRUE(rate.IsValidated()) << fakes::TextOf(rate.reason);
  EXPECT_NEAR(rate.per_second / 1e6, 1, 0.01);
}

// Wall time passes, and the kernel says that none did, or a thousandth of it.
TEST(MeasureRate, EndsWhereTheKernelsClockStandsStill) {
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
}

// Threads wait, or another program uses a core: that costs time, but the rate is validated.
TEST(MeasureRate, WaitsAndGoesOnUntilEnoughAreCleanAndGivesUpInTimeOnAMachineThatIsNeverQuiet) {
  for (const bool neighbour : {false, true}) {
    FakeMachine machine;
    machine.disturb = [&](int call, TeamTime time) {
      if (neighbour && call % 5 != 0) return TeamTime{time.seconds * 1.7, 0.0, std::nullopt, 0.6};
      if (!neighbour && call % 4 != 0) return TeamTime{time.seconds * 1.5, 0.3};
      return time;
    };
    const auto rate = machine.Measure(SmallPolicy());
    EXPECT_TRUE(rate.IsValidated()) << fakes::TextOf(rate.reason);
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
}

TEST(MeasureRate, GivesUpInTimeOnAKernelThatDoesNothing) {
  FakeMachine machine;
  machine.iterations_per_second = 1e30;
  machine.seconds_per_call = 1e-3;
  auto policy = SmallPolicy();
  policy.max_seconds = 1;
  const auto rate = machine.Measure(policy);
  EXPECT_FALSE(rate.IsValidated());
  EXPECT_THAT(fakes::TextOf(rate.reason), HasSubstr("twice the work took 1.000 times the time"));
  EXPECT_LT(machine.seconds + machine.slept, 1.2 * policy.max_seconds);
}

}  // namespace
}  // namespace dlroof::machine
