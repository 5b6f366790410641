#include "ceilings/cache/live_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/cpu/issue_rate.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

// Stored: best 100, median between 90 and 95; 3 % are allowed.
SpotCheck Now(double per_second, bool clean = true) {
  SpotCheck check{"fp32.vector.avx2 with 2 threads", {}, per_second, clean, 0.03};
  check.stored.per_second = 100;
  check.stored.ci95 = {90, 95};
  return check;
}

TEST(LiveCheck, AgreesWithinTheStoredIntervalAndTheTolerance) {
  EXPECT_EQ(Judge(Now(100)), SpotVerdict::kAgrees);
  EXPECT_EQ(Judge(Now(102.9)), SpotVerdict::kAgrees);
  EXPECT_EQ(Judge(Now(87.4)), SpotVerdict::kAgrees);  // 90 x 0.97 = 87.3
  auto check = Now(97.1);
  check.stored.ci95.reset();
  EXPECT_EQ(Judge(check), SpotVerdict::kAgrees);
}

// Stored: 100, in another pass of the same measurement 80.
TEST(LiveCheck, MayBeAsSlowAsTheStoredPassesWereAndNoFaster) {
  auto check = Now(80.1);
  check.stored.ci95.reset();
  EXPECT_EQ(Judge(check), SpotVerdict::kSlower);
  check.stored.proof.drift = 0.2;
  check.drift = AllowedDrift(check.stored);
  EXPECT_EQ(Judge(check), SpotVerdict::kAgrees);
  check.per_second = 79.9;
  EXPECT_EQ(Judge(check), SpotVerdict::kSlower);
  check.per_second = 103.1;
  EXPECT_EQ(Judge(check), SpotVerdict::kFaster);
}

TEST(AllowedDrift, IsTheLargerOfDriftAndSpreadAndAThirdAtMost) {
  Ceiling stored;
  EXPECT_EQ(AllowedDrift(stored), 0);
  stored.proof.spread = 0.1;
  EXPECT_EQ(AllowedDrift(stored), 0.1);
  stored.proof.drift = 0.2;
  EXPECT_EQ(AllowedDrift(stored), 0.2);
  stored.proof.drift = 0.9;
  EXPECT_NEAR(AllowedDrift(stored), 0.333, 0.001);
}

TEST(LiveCheck, AFasterMachineRefutesTheRoofEvenWhenOthersRan) {
  EXPECT_EQ(Judge(Now(103.1)), SpotVerdict::kFaster);
  EXPECT_EQ(Judge(Now(103.1, false)), SpotVerdict::kFaster);
}

TEST(LiveCheck, ASlowerOneCountsOnlyWithACleanRepetition) {
  EXPECT_EQ(Judge(Now(87.2)), SpotVerdict::kSlower);
  EXPECT_EQ(Judge(Now(87.2, false)), SpotVerdict::kUnknown);
}

TEST(LiveCheck, SaysBothRatesAndTheVerdict) {
  EXPECT_THAT(Sentence(Now(110)), HasSubstr("fp32.vector.avx2 with 2 threads now"));
  EXPECT_THAT(Sentence(Now(110)), HasSubstr("too low"));
  EXPECT_THAT(Sentence(Now(50)), HasSubstr("slower"));
  EXPECT_THAT(Sentence(Now(50, false)), HasSubstr("others held"));
}

// Stored ceilings that no machine reaches, and such that each does: the look is at real kernels.
TEST(LiveCheck, LooksAtThisMachinesOwnKernels) {
  const Cpu cpu = ThisCpu();
  Machine machine;
  auto& set = machine.by_threads[1];
  for (const auto& feature : {"sse2", "avx2", "avx512", "portable"})
    set.flops[std::string("fp32.vector.") + feature] = {.per_second = 1e30};
  const auto checks = SpotCheckCpu(cpu, machine);
  ASSERT_EQ(checks.size(), 1);  // no DRAM row is stored
  EXPECT_GT(checks[0].per_second, 0);
  EXPECT_NE(Judge(checks[0]), SpotVerdict::kAgrees);
  EXPECT_NE(Judge(checks[0]), SpotVerdict::kFaster);
  // A core that could issue so much more is shared: then nothing can be told.
  machine.issue_rate = 1e6;
  if (MeasureIssueRate()) {
    EXPECT_EQ(Judge(SpotCheckCpu(cpu, machine).at(0)), SpotVerdict::kUnknown);
  }
  for (auto& [key, ceiling] : set.flops) ceiling.per_second = 1;
  EXPECT_EQ(Judge(SpotCheckCpu(cpu, machine).at(0)), SpotVerdict::kFaster);
}

TEST(LiveCheck, LooksAtTheThreadsThatAreAllowedToday) {
  Cpu cpu = ThisCpu();
  cpu.allowed.resize(1);
  Machine machine;
  machine.by_threads[2] = {};
  EXPECT_TRUE(SpotCheckCpu(cpu, machine).empty());
  for (const auto& feature : {"sse2", "avx2", "avx512", "portable"})
    machine.by_threads[1].flops[std::string("fp32.vector.") + feature] = {.per_second = 1};
  const auto checks = SpotCheckCpu(cpu, machine);
  ASSERT_EQ(checks.size(), 1);
  EXPECT_THAT(checks[0].row, testing::EndsWith(" with 1 threads"));
}

TEST(LiveCheck, FindsNothingToLookAtInAnEmptyMachine) {
  EXPECT_TRUE(SpotCheckCpu(ThisCpu(), Machine{}).empty());
}

}  // namespace
}  // namespace dlroof
