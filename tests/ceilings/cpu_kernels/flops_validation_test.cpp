// The validation of arithmetic ceilings, tried on kernels that are wrong on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "ceilings/cpu_kernels/flops.h"
#include "counters/cpu/cpu.h"
#include "tests/fakes/broken_cpu_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KernelValidation Checked(const FlopsProbe& probe) {
  const auto workspace = std::make_unique<Workspace>();
  return ValidateFlopsKernel(probe, *workspace);
}

TEST(ValidateFlopsKernel, PassesEveryKernelOfThisCpu) {
  for (const auto& probe : FlopsProbesFor(cpu::ThisCpu().features)) {
    const auto check = Checked(probe);
    EXPECT_TRUE(check.passed) << probe.key << check.text;
    EXPECT_THAT(check.text, HasSubstr("1, 2 and 7 iterations equal")) << probe.key;
  }
}

TEST(ValidateFlopsKernel, PassesTheKernelsThatTheMutationsBreak) {
  EXPECT_TRUE(Checked(fakes::SoundProbe()).passed);
  EXPECT_EQ(Checked(fakes::SoundProbe()).text,
            "1, 2 and 7 iterations equal plain loops in all 64 elements");
  EXPECT_TRUE(Checked(fakes::SoundDotProbe()).passed);
}

TEST(ValidateFlopsKernel, FindsEveryMutation) {
  const std::pair<FlopsProbe, testing::Matcher<std::string>> broken[] = {
      {fakes::DeadSumProbe(),
       "after 1 iterations element 0 of its 16 accumulators differs from a plain loop"},
      // Two lanes of each accumulator stay as they were.
      {fakes::HalfWidthProbe(), HasSubstr("element 2 of its 16 accumulators")},
      // 8 of 16 accumulators of 4 lanes: element 32 is the first that stays.
      {fakes::HalfTheAccumulators(), HasSubstr("element 32 of its 16")},
      {fakes::UncountedAccumulators(), "it writes beyond the 8 accumulators that it counts"},
      {fakes::HoistedLoopProbe(), HasSubstr("after 2 iterations element 0")},
      {fakes::MissingIterationProbe(), HasSubstr("after 1 iterations element 0")},
      {fakes::MissingSweepProbe(), HasSubstr("after 1 iterations element 0")},
      {fakes::FusedProbe(), HasSubstr("differs from a plain loop")}};
  for (const auto& [probe, reason] : broken) {
    EXPECT_THAT(Checked(probe).text, reason);
    EXPECT_FALSE(Checked(probe).passed);
  }
}

machine::Ceiling At(double per_cycle) {
  machine::Ceiling ceiling{
      .per_second = per_cycle * 3e9, .clock_hz = 3e9, .status = machine::CeilingStatus::kValidated};
  ceiling.validation.per_cycle = per_cycle;
  return ceiling;
}

FlopsProbe Probe(Operands operands, Recurrence recurrence, Issue issue, std::size_t bytes) {
  return {"fp32.vector.avx512", "vfmaddps zmm", operands, recurrence, issue, bytes, 16, 1, nullptr};
}

FlopsProbe Fused(Operands operands, std::size_t bytes) {
  return Probe(operands, Recurrence::kFusedMultiplyAdd, Issue::kOne, bytes);
}

FlopsProbe Separate(Operands operands, std::size_t bytes) {
  return Probe(operands, Recurrence::kMultiplyAdd, Issue::kTwo, bytes);
}

// fp32 zmm: 16 lanes of 2 flop, 0.5, 1 or 2 a cycle: 16, 32 or 64.
const FlopsProbe kFp32Zmm = Fused(Operands::kFp32, 64);

TEST(JudgePerCycle, TakesTheNearestValueWithinThreePercent) {
  for (const auto& [measured, expected] :
       {std::pair{63.9, 64.0}, {62.1, 64.0}, {65.9, 64.0}, {32.2, 32.0}, {15.9, 16.0}}) {
    auto ceiling = At(measured);
    JudgePerCycle(kFp32Zmm, ceiling);
    EXPECT_TRUE(ceiling.IsValidated()) << ceiling.ReasonText();
    EXPECT_EQ(ceiling.validation.per_cycle_expected, expected);
  }
}

TEST(JudgePerCycle, CaveatsARateBetweenTheValuesAndNamesBoth) {
  auto ceiling = At(50);
  JudgePerCycle(kFp32Zmm, ceiling);
  EXPECT_FALSE(ceiling.IsValidated());
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 64);
  EXPECT_EQ(ceiling.ReasonText(),
            "50 flop per cycle of one thread at 3 GHz, but vfmaddps zmm allows 16, 32, 64 within 3 "
            "%: something held the core's units back, or the clock was another one while the "
            "kernel ran");
  auto marked = At(50);
  marked.status = machine::CeilingStatus::kNotValidated;
  marked.reasons = {"first"};
  JudgePerCycle(kFp32Zmm, marked);
  EXPECT_THAT(marked.ReasonText(), testing::StartsWith("first; 50 flop per cycle"));
}

// A deleted loop: "4e9 GB/s" was seen once.
TEST(JudgePerCycle, CaveatsALoopThatIsNotThere) {
  auto ceiling = At(1e6);
  JudgePerCycle(Separate(Operands::kFp64, 16), ceiling);
  EXPECT_FALSE(ceiling.IsValidated());
}

// Its sum is right, so only its speed tells: 3 additions a cycle of 64 u8 products each instead of
// at most one triple (32 lanes of 2 flop in 32 bytes: 64 flop).
TEST(JudgePerCycle, FindsAProductThatWasComputedOnce) {
  EXPECT_TRUE(Checked(fakes::HoistedProductProbe()).passed);
  const auto probe = Probe(Operands::kInt8, Recurrence::kDot, Issue::kThree, 32);
  EXPECT_EQ(FlopsPerStep(probe), 64);
  for (const double additions : {2, 3}) {
    auto ceiling = At(additions * 64);
    JudgePerCycle(probe, ceiling);
    EXPECT_FALSE(ceiling.IsValidated());
  }
}

std::map<int, machine::CeilingSet> Judged(const FlopsProbe& probe,
                                          const std::map<int, double>& per_cycle,
                                          const CoreRates& core = {}) {
  std::map<int, machine::CeilingSet> sets;
  for (const auto& [threads, value] : per_cycle) {
    auto& ceiling = sets[threads].flops[probe.key] = At(value);
    JudgePerCycle(probe, ceiling, core);
  }
  return sets;
}

// fp32 zmm again: 16, 32 or 64. The highest is taken at its word. A neighbour that takes half of
// the core lands on another value that the instructions allow: a lower one is believed only when
// another number of threads meets it too, and none exceeds it.
TEST(IsConfirmedPerCycle, BelievesTheHighestAndWhatOtherNumbersOfThreadsMeet) {
  struct Row {
    std::map<int, double> per_cycle;  // by threads
    std::map<int, bool> meets;
  };
  const Row rows[] = {{{{1, 63.8}}, {{1, true}}},
                      {{{1, 32.1}}, {{1, false}}},
                      {{{1, 32.1}, {2, 31.8}}, {{1, true}}},
                      {{{1, 32.1}, {2, 25}}, {{1, false}, {2, false}}},
                      {{{1, 63.8}, {2, 31.9}}, {{1, true}}},
                      {{{1, 63.8}, {2, 31.9}, {4, 31.9}}, {{1, true}, {2, false}, {4, false}}}};
  for (const auto& [per_cycle, meets] : rows)
    for (const auto& [threads, expected] : meets)
      EXPECT_EQ(IsConfirmedPerCycle(kFp32Zmm, threads, Judged(kFp32Zmm, per_cycle)), expected)
          << testing::PrintToString(per_cycle) << threads;
}

TEST(IsConfirmedPerCycle, NeedsAClock) {
  auto sets = Judged(kFp32Zmm, {{1, 63.8}});
  sets[1].flops[kFp32Zmm.key].validation.per_cycle.reset();
  EXPECT_FALSE(IsConfirmedPerCycle(kFp32Zmm, 1, sets));
}

// vdpbf16ps: 16 lanes of 2 pairs, 1 in 2 cycles on some cores: 32. tdpbf16ps: 16 x 16 x 32
// multiply-adds in 16 cycles: 1024; tdpbusd 2048.
TEST(JudgePerCycle, KnowsHalfAndSixteenthRates) {
  auto ceiling = At(32.1);
  JudgePerCycle(Probe(Operands::kBf16, Recurrence::kDot, Issue::kOne, 64), ceiling);
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 32);
  ceiling = At(1020);
  JudgePerCycle(Probe(Operands::kBf16, Recurrence::kTile, Issue::kTile, kTileBytes), ceiling);
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 1024);
  ceiling = At(2040);
  JudgePerCycle(Probe(Operands::kInt8, Recurrence::kTile, Issue::kTile, kTileBytes), ceiling);
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 2048);
  EXPECT_TRUE(ceiling.IsValidated());
}

TEST(JudgePerCycle, SaysNothingWithoutAClock) {
  auto ceiling = At(50);
  ceiling.validation.per_cycle.reset();
  JudgePerCycle(fakes::SoundProbe(), ceiling);
  EXPECT_TRUE(ceiling.IsValidated());
  EXPECT_EQ(ceiling.validation.per_cycle_expected, std::nullopt);
}

CoreRates Rates(const std::string& vendor, unsigned family, unsigned model) {
  return RatesOf({.vendor = vendor, .family = family, .model = model});
}
const CoreRates kZen5 = Rates("AuthenticAMD", 26, 2), kZen4 = Rates("AuthenticAMD", 25, 0x11),
                kCascadeLake = Rates("GenuineIntel", 6, 85);

// The core's own rate where it is known, else all that the instructions allow: some of Skylake-SP
// to Cooper Lake have one unit of 512 bit, some two.
TEST(AdmissibleStepsPerCycle, AreTheCoresOwnRateWhereItIsKnown) {
  EXPECT_THAT(AdmissibleStepsPerCycle(kFp32Zmm, kZen5), ElementsAre(2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp64, 64), kZen4), ElementsAre(1));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp64, 32), kZen4), ElementsAre(2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Separate(Operands::kFp32, 16), kZen5), ElementsAre(2));
  EXPECT_THAT(AdmissibleStepsPerCycle(kFp32Zmm, kCascadeLake), ElementsAre(0.5, 1, 2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp32, 32), kCascadeLake), ElementsAre(2));
  EXPECT_THAT(AdmissibleStepsPerCycle(Fused(Operands::kFp16, 64), kZen5), ElementsAre(0.5, 1, 2));
  EXPECT_EQ(AdmissibleStepsPerCycle(Separate(Operands::kFp16, 64), kZen5).size(), 5);
  EXPECT_FALSE(Rates("AuthenticAMD", 26, 0x24).fused_512) << "mobile parts have 256 bit";
}

// A core at half of its rate: 32 of 64 flop per cycle, which some other core would have.
TEST(JudgePerCycle, CaveatsHalfOfTheRateThatTheCoreIsKnownToHave) {
  const auto judged = [](const CoreRates& core) {
    return Judged(kFp32Zmm, {{1, 32}}, core).at(1).flops.at(kFp32Zmm.key);
  };
  EXPECT_TRUE(judged({}).IsValidated());
  EXPECT_FALSE(judged(kZen5).IsValidated());
  EXPECT_EQ(judged(kZen5).validation.per_cycle_expected, 64);
}

// The one value that the core has is its highest: no second pass is needed.
TEST(IsConfirmedPerCycle, WhereItIsTheCoresKnownRate) {
  const auto probe = Fused(Operands::kFp64, 64);
  const auto sets = Judged(probe, {{1, 16}}, kZen4);  // 8 lanes of 2 flop, once a cycle
  EXPECT_TRUE(IsConfirmedPerCycle(probe, 1, sets, kZen4));
  EXPECT_FALSE(IsConfirmedPerCycle(probe, 1, sets)) << "two a cycle might be possible";
}

}  // namespace
}  // namespace dlroof::cpu_kernels
