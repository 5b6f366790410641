// The self-proof of arithmetic ceilings, tried on kernels that are wrong on purpose.
#include "ceilings/cpu_kernels/flops_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "counters/cpu/cpu.h"
#include "tests/fakes/broken_flops_kernels.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

ResultCheck Checked(const FlopsProbe& probe) {
  const auto workspace = std::make_unique<Workspace>();
  return CheckResult(probe, *workspace);
}

TEST(CheckResult, PassesEveryKernelOfThisCpu) {
  for (const auto& table : {FlopsProbesFor(ThisCpu().features), PortableFlopsProbes()})
    for (const auto& probe : table) {
      const auto check = Checked(probe);
      EXPECT_EQ(check.doubt, "") << probe.key;
      EXPECT_THAT(check.result, HasSubstr("1, 2 and 7 iterations equal")) << probe.key;
    }
}

TEST(CheckResult, PassesTheKernelsThatTheMutationsBreak) {
  EXPECT_EQ(Checked(SoundProbe()).doubt, "");
  EXPECT_EQ(Checked(SoundProbe()).result,
            "1, 2 and 7 iterations equal plain loops in all 64 elements");
  EXPECT_EQ(Checked(SoundDotProbe()).doubt, "");
}

TEST(CheckResult, FindsADeadSum) {
  EXPECT_EQ(Checked(DeadSumProbe()).doubt,
            "after 1 iterations element 0 of its 16 accumulators is not what a plain loop makes of "
            "it");
  EXPECT_EQ(Checked(DeadSumProbe()).result, "");
}

// Two lanes of each accumulator stay as they were.
TEST(CheckResult, FindsHalfWidthVectors) {
  EXPECT_THAT(Checked(HalfWidthProbe()).doubt, HasSubstr("element 2 of its 16 accumulators"));
}

// 8 of 16 accumulators of 4 lanes: element 32 is the first that stays.
TEST(CheckResult, FindsAccumulatorsThatAreCountedAndNotThere) {
  EXPECT_THAT(Checked(HalfTheAccumulators()).doubt, HasSubstr("element 32 of its 16"));
}

TEST(CheckResult, FindsAccumulatorsThatAreThereAndNotCounted) {
  EXPECT_EQ(Checked(UncountedAccumulators()).doubt,
            "it writes beyond the 8 accumulators that it counts");
}

TEST(CheckResult, FindsWorkThatDoesNotDependOnTheIterations) {
  EXPECT_THAT(Checked(HoistedLoopProbe()).doubt, HasSubstr("after 2 iterations element 0"));
  EXPECT_THAT(Checked(MissingIterationProbe()).doubt, HasSubstr("after 1 iterations element 0"));
  EXPECT_THAT(Checked(MissingSweepProbe()).doubt, HasSubstr("after 1 iterations element 0"));
}

TEST(CheckResult, FindsRoundingsThatAreNotThoseOfTheInstructions) {
  EXPECT_THAT(Checked(FusedProbe()).doubt, HasSubstr("is not what a plain loop makes"));
}

Ceiling At(double per_cycle) {
  Ceiling ceiling{.per_second = per_cycle * 3e9, .clock_hz = 3e9, .proved = true};
  ceiling.proof.per_cycle = per_cycle;
  return ceiling;
}

FlopsProbe Probe(Operands operands, Recurrence recurrence, Issue issue, std::size_t bytes) {
  return {"fp32.vector.avx512", "vfmaddps zmm", operands, recurrence, issue, bytes, 16, 1, nullptr};
}

// fp32 zmm: 16 lanes of 2 flop, 0.5, 1 or 2 a cycle: 16, 32 or 64.
TEST(JudgePerCycle, TakesTheNearestValueWithinThreePercent) {
  const auto probe = Probe(Operands::kFp32, Recurrence::kFusedMultiplyAdd, Issue::kOne, 64);
  for (const auto& [measured, expected] :
       {std::pair{63.9, 64.0}, {62.1, 64.0}, {65.9, 64.0}, {32.2, 32.0}, {15.9, 16.0}}) {
    auto ceiling = At(measured);
    JudgePerCycle(probe, ceiling);
    EXPECT_TRUE(ceiling.proved) << ceiling.Reason();
    EXPECT_EQ(ceiling.proof.per_cycle_expected, expected);
  }
}

TEST(JudgePerCycle, DoubtsARateBetweenTheValuesAndNamesBoth) {
  const auto probe = Probe(Operands::kFp32, Recurrence::kFusedMultiplyAdd, Issue::kOne, 64);
  auto ceiling = At(50);
  JudgePerCycle(probe, ceiling);
  EXPECT_FALSE(ceiling.proved);
  EXPECT_EQ(ceiling.proof.per_cycle_expected, 64);
  EXPECT_EQ(ceiling.Reason(),
            "50 flop per cycle of one thread at 3 GHz, and vfmaddps zmm allows 16, 32, 64 within 3 "
            "%: another program used the core, or the kernel is another");
  auto doubted = At(50);
  doubted.proved = false;
  doubted.reasons = {"first"};
  JudgePerCycle(probe, doubted);
  EXPECT_THAT(doubted.Reason(), testing::StartsWith("first; 50 flop per cycle"));
}

// A deleted loop: "4e9 GB/s" was seen once.
TEST(JudgePerCycle, DoubtsALoopThatIsNotThere) {
  const auto probe = Probe(Operands::kFp64, Recurrence::kMultiplyAdd, Issue::kTwo, 16);
  auto ceiling = At(1e6);
  JudgePerCycle(probe, ceiling);
  EXPECT_FALSE(ceiling.proved);
}

// Its sum is right, so only its speed tells: 3 additions a cycle of 64 u8 products each instead of
// at most one triple (32 lanes of 2 flop in 32 bytes: 64 flop).
TEST(JudgePerCycle, FindsAProductThatWasComputedOnce) {
  EXPECT_EQ(Checked(HoistedProductProbe()).doubt, "");
  const auto probe = Probe(Operands::kInt8, Recurrence::kDot, Issue::kThree, 32);
  EXPECT_EQ(FlopsPerStep(probe), 64);
  for (const double additions : {2, 3}) {
    auto ceiling = At(additions * 64);
    JudgePerCycle(probe, ceiling);
    EXPECT_FALSE(ceiling.proved);
  }
}

std::map<int, CeilingSet> Judged(const FlopsProbe& probe, const std::map<int, double>& per_cycle) {
  std::map<int, CeilingSet> sets;
  for (const auto& [threads, value] : per_cycle) {
    auto& ceiling = sets[threads].flops[probe.key] = At(value);
    JudgePerCycle(probe, ceiling);
  }
  return sets;
}

// fp32 zmm again: 16, 32 or 64.
TEST(MeetsItsOwnValue, TakesTheHighestValueAtItsWord) {
  const auto probe = Probe(Operands::kFp32, Recurrence::kFusedMultiplyAdd, Issue::kOne, 64);
  EXPECT_TRUE(MeetsItsOwnValue(probe, 1, Judged(probe, {{1, 63.8}})));
  EXPECT_TRUE(MeetsItsOwnValue(probe, 1, Judged(probe, {{1, 63.8}, {2, 31.9}})));
}

// A neighbour that takes half of the core lands on another value that the instructions allow.
TEST(MeetsItsOwnValue, BelievesALowerOneOnlyWhenAnotherNumberOfThreadsMeetsItToo) {
  const auto probe = Probe(Operands::kFp32, Recurrence::kFusedMultiplyAdd, Issue::kOne, 64);
  EXPECT_FALSE(MeetsItsOwnValue(probe, 1, Judged(probe, {{1, 32.1}})));
  EXPECT_TRUE(MeetsItsOwnValue(probe, 1, Judged(probe, {{1, 32.1}, {2, 31.8}})));
  EXPECT_FALSE(MeetsItsOwnValue(probe, 1, Judged(probe, {{1, 32.1}, {2, 25}})));
  EXPECT_FALSE(MeetsItsOwnValue(probe, 2, Judged(probe, {{1, 32.1}, {2, 25}})));
}

TEST(MeetsItsOwnValue, DoubtsALowerOneThatAnotherNumberOfThreadsExceeds) {
  const auto probe = Probe(Operands::kFp32, Recurrence::kFusedMultiplyAdd, Issue::kOne, 64);
  const auto sets = Judged(probe, {{1, 63.8}, {2, 31.9}, {4, 31.9}});
  EXPECT_TRUE(MeetsItsOwnValue(probe, 1, sets));
  EXPECT_FALSE(MeetsItsOwnValue(probe, 2, sets));
  EXPECT_FALSE(MeetsItsOwnValue(probe, 4, sets));
}

TEST(MeetsItsOwnValue, NeedsAClock) {
  const auto probe = Probe(Operands::kFp32, Recurrence::kFusedMultiplyAdd, Issue::kOne, 64);
  auto sets = Judged(probe, {{1, 63.8}});
  sets[1].flops[probe.key].proof.per_cycle.reset();
  EXPECT_FALSE(MeetsItsOwnValue(probe, 1, sets));
}

// vdpbf16ps: 16 lanes of 2 pairs, 1 in 2 cycles on some cores: 32. tdpbf16ps: 16 x 16 x 32
// multiply-adds in 16 cycles: 1024; tdpbusd 2048.
TEST(JudgePerCycle, KnowsHalfAndSixteenthRates) {
  auto ceiling = At(32.1);
  JudgePerCycle(Probe(Operands::kBf16, Recurrence::kDot, Issue::kOne, 64), ceiling);
  EXPECT_EQ(ceiling.proof.per_cycle_expected, 32);
  ceiling = At(1020);
  JudgePerCycle(Probe(Operands::kBf16, Recurrence::kTile, Issue::kTile, kTileBytes), ceiling);
  EXPECT_EQ(ceiling.proof.per_cycle_expected, 1024);
  ceiling = At(2040);
  JudgePerCycle(Probe(Operands::kInt8, Recurrence::kTile, Issue::kTile, kTileBytes), ceiling);
  EXPECT_EQ(ceiling.proof.per_cycle_expected, 2048);
  EXPECT_TRUE(ceiling.proved);
}

TEST(JudgePerCycle, SaysNothingWithoutAClockOrForACompilersKernel) {
  auto ceiling = At(50);
  ceiling.proof.per_cycle.reset();
  JudgePerCycle(SoundProbe(), ceiling);
  EXPECT_TRUE(ceiling.proved);
  EXPECT_EQ(ceiling.proof.per_cycle_expected, std::nullopt);
  ceiling = At(50);
  JudgePerCycle(PortableFlopsProbes().front(), ceiling);
  EXPECT_TRUE(ceiling.proved);
}

}  // namespace
}  // namespace dlroof
