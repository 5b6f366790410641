#include "ceilings/machine/visits.h"

#include <gtest/gtest.h>

#include "ceilings/machine/ceiling.h"

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
