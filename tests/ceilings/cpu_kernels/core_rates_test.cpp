#include "ceilings/cpu_kernels/core_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ceilings/cpu_kernels/flops_proof.h"

namespace dlroof {
namespace {

using testing::ElementsAre;

CoreRates Rates(const std::string& vendor, unsigned family, unsigned model) {
  return RatesOf({.vendor = vendor, .family = family, .model = model});
}

FlopsProbe Fused(Operands operands, std::size_t bytes) {
  return {"k", "i", operands, Recurrence::kFusedMultiplyAdd, Issue::kOne, bytes, 16, 1, nullptr};
}

FlopsProbe Separate(Operands operands, std::size_t bytes) {
  return {"k", "i", operands, Recurrence::kMultiplyAdd, Issue::kTwo, bytes, 12, 1, nullptr};
}

TEST(AdmissibleStepsPerCycle, AreTheCoresOwnRateWhereItIsKnown) {
  const auto zen5 = Rates("AuthenticAMD", 26, 2), zen4 = Rates("AuthenticAMD", 25, 0x11);
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp32, 64), zen5), ElementsAre(2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp64, 64), zen4), ElementsAre(1));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp64, 32), zen4), ElementsAre(2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Separate(Operands::kFp32, 16), zen5), ElementsAre(2));
}

// Some of Skylake-SP to Cooper Lake have one unit of 512 bit, some two.
TEST(AdmissibleStepsPerCycle, AreAllThatTheInstructionsAllowWhereItIsNot) {
  const auto cascade_lake = Rates("GenuineIntel", 6, 85);
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp32, 64), cascade_lake),
              ElementsAre(0.5, 1, 2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp32, 32), cascade_lake), ElementsAre(2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp16, 64), Rates("AuthenticAMD", 26, 2)),
              ElementsAre(0.5, 1, 2));
  EXPECT_EQ(AdmissibleStepsPerCycle(Separate(Operands::kInt32, 32), cascade_lake).size(), 5);
  EXPECT_FALSE(Rates("AuthenticAMD", 26, 0x24).fused_512) << "mobile parts have 256 bit";
}

// A core at half of its rate: 32 of 64 flop per cycle, which some other core would have.
TEST(JudgePerCycle, DoubtsHalfOfTheRateThatTheCoreIsKnownToHave) {
  const auto probe = Fused(Operands::kFp32, 64);
  const auto judged = [&](const CoreRates& core) {
    Ceiling ceiling{.proved = true};
    ceiling.proof.per_cycle = 32;
    JudgePerCycle(probe, ceiling, core);
    return ceiling;
  };
  EXPECT_TRUE(judged({}).proved);
  EXPECT_FALSE(judged(Rates("AuthenticAMD", 26, 2)).proved);
  EXPECT_EQ(judged(Rates("AuthenticAMD", 26, 2)).proof.per_cycle_expected, 64);
}

// The one value that the core has is its highest: no second pass is needed.
TEST(MeetsItsOwnValue, WhereItIsTheCoresKnownRate) {
  const auto probe = Fused(Operands::kFp64, 64);
  const auto zen4 = Rates("AuthenticAMD", 25, 0x11);
  std::map<int, CeilingSet> sets;
  auto& ceiling = sets[1].flops[probe.key];
  ceiling.proof.per_cycle = 16;  // 8 lanes of 2 flop, once a cycle
  JudgePerCycle(probe, ceiling, zen4);
  EXPECT_TRUE(MeetsItsOwnValue(probe, 1, sets, zen4));
  EXPECT_FALSE(MeetsItsOwnValue(probe, 1, sets)) << "two a cycle might be possible";
}

}  // namespace
}  // namespace dlroof
