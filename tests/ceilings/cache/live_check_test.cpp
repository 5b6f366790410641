#include "ceilings/cache/live_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "counters/cpu/issue_rate.h"

namespace dlroof::machine_file {
namespace {

using testing::HasSubstr;

// Stored: best 100, median between 90 and 95; 3 % are allowed.
SpotCheck Now(double per_second, bool clean = true) {
  SpotCheck check{"fp32.vector.avx2 with 2 threads", {}, per_second, clean, 0.03};
  check.stored.per_second = 100;
  check.stored.ci95 = {90, 95};
  return check;
}

// The tolerance widens both ends of the stored interval: 90 x 0.97 = 87.3. A faster machine refutes
// the roof even when others ran, a slower one counts only with a clean repetition.
TEST(LiveCheck, HoldsTheRateAgainstTheStoredInterval) {
  const std::tuple<double, bool, SpotVerdict> rows[] = {
      {100, true, SpotVerdict::kAgrees},   {102.9, true, SpotVerdict::kAgrees},
      {87.4, true, SpotVerdict::kAgrees},  {87.2, true, SpotVerdict::kSlower},
      {103.1, true, SpotVerdict::kFaster}, {103.1, false, SpotVerdict::kFaster},
      {87.2, false, SpotVerdict::kUnknown}};
  for (const auto& [per_second, clean, verdict] : rows)
    EXPECT_EQ(Judge(Now(per_second, clean)), verdict) << per_second << clean;
}

// Without an interval. Stored: 100, in another pass of the same measurement 80.
TEST(LiveCheck, MayBeAsSlowAsTheStoredPassesWereAndNoFaster) {
  const auto judged = [](double per_second, std::optional<double> drift) {
    auto check = Now(per_second);
    check.stored.ci95.reset();
    check.stored.proof.drift = drift;
    check.drift = AllowedDrift(check.stored);
    return Judge(check);
  };
  EXPECT_EQ(judged(97.1, std::nullopt), SpotVerdict::kAgrees);
  EXPECT_EQ(judged(80.1, std::nullopt), SpotVerdict::kSlower);
  EXPECT_EQ(judged(80.1, 0.2), SpotVerdict::kAgrees);
  EXPECT_EQ(judged(79.9, 0.2), SpotVerdict::kSlower);
  EXPECT_EQ(judged(103.1, 0.2), SpotVerdict::kFaster);
}

TEST(AllowedDrift, IsTheLargerOfDriftAndSpreadAndAThirdAtMost) {
  machine::Ceiling stored;
  EXPECT_EQ(AllowedDrift(stored), 0);
  stored.proof.spread = 0.1;
  EXPECT_EQ(AllowedDrift(stored), 0.1);
  stored.proof.drift = 0.2;
  EXPECT_EQ(AllowedDrift(stored), 0.2);
  stored.proof.drift = 0.9;
  EXPECT_NEAR(AllowedDrift(stored), 0.333, 0.001);
}

TEST(LiveCheck, SaysBothRatesAndTheVerdict) {
  EXPECT_THAT(Sentence(Now(110)), HasSubstr("fp32.vector.avx2 with 2 threads now"));
  EXPECT_THAT(Sentence(Now(110)), HasSubstr("too low"));
  EXPECT_THAT(Sentence(Now(50)), HasSubstr("slower"));
  EXPECT_THAT(Sentence(Now(50, false)), HasSubstr("others held"));
}

// fp32 rows of every instruction set, at this rate.
machine::CeilingSet Stored(double per_second) {
  machine::CeilingSet set;
  for (const char* isa : {"sse2", "avx2", "avx512", "portable"})
    set.flops[std::string("fp32.vector.") + isa] = {.per_second = per_second};
  return set;
}

// Stored ceilings that no machine reaches, and such that each does: the look is at real kernels.
TEST(LiveCheck, LooksAtThisMachinesOwnKernels) {
  const cpu::Cpu cpu = cpu::ThisCpu();
  machine::Machine machine;
  machine.by_threads[1] = Stored(1e30);
  const auto checks = SpotCheckCpu(cpu, machine);
  ASSERT_EQ(checks.size(), 1);  // no DRAM row is stored
  EXPECT_GT(checks[0].per_second, 0);
  EXPECT_NE(Judge(checks[0]), SpotVerdict::kAgrees);
  EXPECT_NE(Judge(checks[0]), SpotVerdict::kFaster);
  // A core that could issue so much more is shared: then nothing can be told.
  machine.issue_rate = 1e6;
  if (cpu::MeasureIssueRate()) {
    EXPECT_EQ(Judge(SpotCheckCpu(cpu, machine).at(0)), SpotVerdict::kUnknown);
  }
  machine.by_threads[1] = Stored(1);
  EXPECT_EQ(Judge(SpotCheckCpu(cpu, machine).at(0)), SpotVerdict::kFaster);
}

TEST(LiveCheck, LooksAtTheThreadsThatAreAllowedToday) {
  cpu::Cpu cpu = cpu::ThisCpu();
  cpu.allowed.resize(1);
  machine::Machine machine;
  EXPECT_TRUE(SpotCheckCpu(cpu, machine).empty());
  machine.by_threads[2] = {};
  EXPECT_TRUE(SpotCheckCpu(cpu, machine).empty());
  machine.by_threads[1] = Stored(1);
  const auto checks = SpotCheckCpu(cpu, machine);
  ASSERT_EQ(checks.size(), 1);
  EXPECT_THAT(checks[0].row, testing::EndsWith(" with 1 threads"));
}

}  // namespace
}  // namespace dlroof::machine_file
