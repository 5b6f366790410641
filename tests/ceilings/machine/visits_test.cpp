#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ceilings/machine/machine.h"

namespace dlroof::machine {
namespace {

constexpr double kTolerance = 0.03;

// A measurement with this rate at 3 GHz, of which `clean` repetitions were clean.
Ceiling Seen(double per_second, bool validated, int clean = 5, double clock_hz = 3e9) {
  static int minute = 0;
  Ceiling ceiling{.per_second = per_second, .how = "h", .clock_hz = clock_hz};
  if (validated)
    ceiling.status = CeilingStatus::kValidated;
  else
    ceiling.reasons = {"other programs ran"};
  ceiling.visits = {{.at = std::to_string(++minute),
                     .per_second = per_second,
                     .clean = clean,
                     .clock_hz = clock_hz,
                     .validated = validated}};
  return ceiling;
}

Ceiling Of(const std::vector<Ceiling>& visits) {
  Ceiling learned = visits.front();
  for (std::size_t i = 1; i < visits.size(); ++i) learned = Learned(learned, visits[i], kTolerance);
  return learned;
}

TEST(Learned, KeepsAValidatedRateFromALowerOrNotValidatedOne) {
  for (const auto& later : {Seen(80, false), Seen(80, true), Seen(102, false), Seen(120, false)}) {
    const auto learned = Of({Seen(100, true), later});
    EXPECT_TRUE(learned.IsValidated()) << later.per_second;
    EXPECT_EQ(learned.per_second, 100) << later.per_second;
    EXPECT_EQ(learned.visits.size(), 2);
  }
}

TEST(Learned, TakesAFasterRateThatIsValidatedOrSeenTwice) {
  EXPECT_EQ(Of({Seen(100, true), Seen(120, true)}).per_second, 120);
  const auto learned = Of({Seen(100, true), Seen(120, false), Seen(119, false)});
  EXPECT_EQ(learned.per_second, 120);
  EXPECT_TRUE(learned.IsValidated());
}

TEST(Learned, ValidatesWhatTwoVisitsAgreeOn) {
  EXPECT_FALSE(Of({Seen(100, false), Seen(90, false)}).IsValidated());
  const auto learned = Of({Seen(100, false), Seen(90, false), Seen(98, false)});
  EXPECT_TRUE(learned.IsValidated());
  EXPECT_EQ(learned.per_second, 100);
  EXPECT_EQ(learned.ReasonText(), "");
  const auto agreement = AgreementOf(learned, kTolerance);
  EXPECT_EQ(agreement.agreeing, 2);
  EXPECT_EQ(agreement.visits, 3);
}

TEST(Learned, CountsNoVisitWithoutACleanRepetitionOrAtALowerClock) {
  EXPECT_FALSE(Of({Seen(100, false), Seen(99, false, 0)}).IsValidated());
  EXPECT_FALSE(Of({Seen(100, false), Seen(99, false, 5, 2e9)}).IsValidated());
  EXPECT_TRUE(Of({Seen(100, false), Seen(99, false, 5, 2.9e9)}).IsValidated());
}

TEST(Learned, CountsNoVisitWhoseOperationsPerCycleAreNotAllowed) {
  auto held = Seen(70, false);
  for (const double per_cycle : {44.8, 62.0}) {
    held.visits[0].per_cycle = per_cycle;
    held.visits[0].per_cycle_expected = 64;
    auto again = held;
    again.visits[0].at = "later";
    EXPECT_EQ(Of({held, again}).IsValidated(), per_cycle > 60);
  }
}

TEST(Learned, ThatOneVisitIsJoinedTwiceChangesNothing) {
  const auto seen = Seen(100, false);
  const auto learned = Of({seen, seen});
  EXPECT_FALSE(learned.IsValidated());
  EXPECT_EQ(learned, seen);
}

TEST(Learned, AKernelThatDidOtherWorkIsNoEvidence) {
  auto wrong = Seen(900, false);
  AddUnboundedReason(wrong, "the result is wrong");
  EXPECT_EQ(Of({Seen(100, true), wrong}).per_second, 100);
  EXPECT_EQ(Of({wrong, Seen(100, false)}).per_second, 100);
}

TEST(Learned, KeepsTheFastestVisitsOfMany) {
  std::vector<Ceiling> visits;
  for (int i = 1; i <= 20; ++i) visits.push_back(Seen(i, false));
  const auto learned = Of(visits);
  EXPECT_EQ(learned.visits.size(), 8);
  EXPECT_EQ(learned.visits.front().per_second, 13);
}

Ceiling At(const char* at, double per_second, bool validated = true) {
  auto seen = Seen(per_second, validated);
  seen.visits[0].at = at;
  return seen;
}

TEST(LearnedShared, ASharedLevelIsALimitUntilVisitsThatAreApartAgree) {
  const auto first = LearnedShared(nullptr, At("2026-11-28T10:00:00Z", 58.5));
  EXPECT_FALSE(first.IsValidated());
  EXPECT_EQ(first.ReasonText(), "lower bound until a second visit, a minute or more later, agrees");
  EXPECT_FALSE(LearnedShared(&first, At("2026-11-28T10:00:05Z", 58)).IsValidated());
  EXPECT_TRUE(LearnedShared(&first, At("2026-11-28T10:02:00Z", 58)).IsValidated());
}

TEST(LearnedShared, AHigherVisitReplacesALowerRateThatWasValidated) {
  const auto first = LearnedShared(nullptr, At("2026-11-28T10:00:00Z", 58.5));
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
