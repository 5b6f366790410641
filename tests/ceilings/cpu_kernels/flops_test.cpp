#include "ceilings/cpu_kernels/flops.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"
#include "tests/fakes/broken_cpu_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

using testing::ElementsAre, testing::HasSubstr;

// Runs each kernel that this CPU has and compares with plain loops; no time is looked at.

template <class T>
T At(const std::array<std::byte, 4096>& memory, std::size_t offset) {
  T value;
  std::memcpy(&value, memory.data() + offset, sizeof value);
  return value;
}

template <class T>
void Set(std::array<std::byte, 4096>& memory, T value) {
  for (std::size_t at = 0; at < memory.size(); at += sizeof value)
    std::memcpy(memory.data() + at, &value, sizeof value);
}

float Bf16(const std::array<std::byte, 4096>& memory, std::size_t offset) {
  const std::uint32_t bits = std::uint32_t{At<std::uint16_t>(memory, offset)} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// fp16 of at most 2048 whole units, enough for the counts below.
double Fp16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f;
  return exponent == 0 ? 0 : std::ldexp(1024 + (bits & 0x3ff), exponent - 25);
}

void SetOnes(Operands operands, Workspace& workspace) {
  switch (operands) {
    case Operands::kFp64:
      return Set(workspace.operands, 1.0);
    case Operands::kFp32:
      return Set(workspace.operands, 1.0F);
    case Operands::kFp16:
      return Set<std::uint16_t>(workspace.operands, 0x3c00);
    case Operands::kBf16:
      return Set<std::uint16_t>(workspace.operands, 0x3f80);
    case Operands::kInt8:
      return Set<std::uint8_t>(workspace.operands, 1);
  }
}

double SumOfAccumulators(const FlopsProbe& probe, const Workspace& workspace) {
  const auto& memory = workspace.accumulators;
  const bool integers = probe.operands == Operands::kInt8;
  const std::size_t size = AccumulatorBytes(probe);
  double sum = 0;
  for (std::size_t at = 0; at < memory.size(); at += size) {
    if (size == 8) sum += At<double>(memory, at);
    if (size == 4 && integers) sum += At<std::int32_t>(memory, at);
    if (size == 4 && !integers) sum += At<float>(memory, at);
    if (size == 2) sum += Fp16(At<std::uint16_t>(memory, at));
  }
  return sum;
}

std::vector<FlopsProbe> ProbesHere() { return FlopsProbesFor(cpu::ThisCpu().features); }

TEST(FlopsProbes, KeysArePipesFinerThanThePlainOnes) {
  std::set<std::string> keys;
  for (const auto& probe : AllFlopsProbes()) {
    EXPECT_TRUE(IsPipeKey(probe.key)) << probe.key;
    EXPECT_EQ(std::ranges::count(probe.key, '.'), 2) << probe.key;
    EXPECT_TRUE(keys.insert(probe.key).second) << probe.key << " twice";
    EXPECT_NE(machine::IsaOfRow(probe.key), "") << probe.key;
    EXPECT_FALSE(machine::FeaturesOfRow(probe.key).empty()) << probe.key;
  }
}

std::set<std::string> KeysFor(const std::set<std::string>& features) {
  std::set<std::string> found;
  for (const auto& probe : FlopsProbesFor(features)) found.insert(probe.key);
  return found;
}

TEST(FlopsProbes, AreChosenByEveryFeatureTheyNeed) {
  EXPECT_EQ(KeysFor({"sse2"}), (std::set<std::string>{"fp32.vector.sse2", "fp64.vector.sse2"}));
  EXPECT_FALSE(KeysFor({"sse2", "avx2"}).contains("fp32.vector.avx2"));  // AVX2 without FMA
  EXPECT_TRUE(KeysFor({"avx2", "fma"}).contains("fp32.vector.avx2"));
  EXPECT_TRUE(KeysFor({"amx_tile", "amx_int8"}).contains("int8.matrix.amx"));
  EXPECT_FALSE(KeysFor({"sse2", "amx_int8"}).contains("int8.matrix.amx"));
}

// Rows without FMA are never the roof where there is FMA.
TEST(RoofCandidates, AreTheLastTwoOfEachPipe) {
  const auto candidates = RoofCandidates(
      FlopsProbesFor({"sse2", "ssse3", "avx", "fma", "avx2", "avx512f", "amx_tile", "amx_bf16"}));
  EXPECT_EQ(candidates,
            (std::set<std::string>{"fp64.vector.avx2", "fp64.vector.avx512", "fp32.vector.avx2",
                                   "fp32.vector.avx512", "int8.vector.ssse3", "int8.vector.avx2",
                                   "bf16.matrix.amx"}));
  EXPECT_TRUE(RoofCandidates({}).empty());
}

// By hand: 8 fp64 lanes; 16 fp32 lanes; 32 fp16 lanes; 16 pairs of bf16; 16 groups of four int8; a
// tile of 16 x 16 sums of 32 bf16 or 64 int8 products. Each multiply-add is 2.
TEST(FlopsPerStep, CountsLanesGroupsAndTiles) {
  const auto of = [](Operands operands, Recurrence recurrence, std::size_t bytes) {
    return FlopsPerStep({"", "", operands, recurrence, Issue::kOne, bytes, 1, 1, nullptr});
  };
  EXPECT_EQ(of(Operands::kFp64, Recurrence::kFusedMultiplyAdd, 64), 16);
  EXPECT_EQ(of(Operands::kFp32, Recurrence::kMultiplyAdd, 64), 32);
  EXPECT_EQ(of(Operands::kFp32, Recurrence::kMultiplyAdd, 4), 2);
  EXPECT_EQ(of(Operands::kFp16, Recurrence::kFusedMultiplyAdd, 64), 64);
  EXPECT_EQ(of(Operands::kBf16, Recurrence::kDot, 64), 64);
  EXPECT_EQ(of(Operands::kInt8, Recurrence::kDot, 64), 128);
  EXPECT_EQ(of(Operands::kBf16, Recurrence::kTile, kTileBytes), 2.0 * 16 * 16 * 32);
  EXPECT_EQ(of(Operands::kFp16, Recurrence::kTile, kTileBytes), 2.0 * 16 * 16 * 32);
  EXPECT_EQ(of(Operands::kInt8, Recurrence::kTile, kTileBytes), 2.0 * 16 * 16 * 64);
}

// With operands of 1, each multiply-add adds 1 to some accumulator: their sum counts the work.
TEST(FlopsProbes, DoTheWorkTheyClaim) {
  for (const auto& probe : ProbesHere()) {
    const auto workspace = std::make_unique<Workspace>();
    SetOnes(probe.operands, *workspace);
    for (const int iterations : {1, 7}) {
      workspace->accumulators.fill(std::byte{0});
      probe.kernel(*workspace, iterations);
      EXPECT_EQ(2 * SumOfAccumulators(probe, *workspace), FlopsPerIteration(probe) * iterations)
          << probe.key;
    }
  }
}

FlopsProbe Of(Operands operands) {
  return {"", "", operands, Recurrence::kTile, Issue::kTile, kTileBytes, 4, 1, nullptr};
}

TEST(FillOperands, KeepsEveryProductFiniteAndBelowSaturation) {
  const auto workspace = std::make_unique<Workspace>();
  FillOperands(Of(Operands::kBf16), *workspace);
  int distinct = 0;
  for (std::size_t at = 0; at < 4096; at += 2) {
    const float value = Bf16(workspace->operands, at);
    EXPECT_LE(std::abs(value), 1);
    if (at >= 2 && value != Bf16(workspace->operands, at - 2)) ++distinct;
  }
  EXPECT_GT(distinct, 1900);  // random: zeros would run faster than real values
  FillOperands(Of(Operands::kInt8), *workspace);
  for (std::size_t i = 0; i < kSecondOperand; i += 2) {
    int pair = 0;
    for (const std::size_t at : {i, i + 1})
      pair += std::abs(int{At<std::uint8_t>(workspace->operands, at)} *
                       At<std::int8_t>(workspace->operands, kSecondOperand + at));
    EXPECT_LT(pair, 32768) << i;
  }
}

// The validation of arithmetic ceilings, tried on kernels that are wrong on purpose.

KernelValidation Checked(const FlopsProbe& probe) {
  const auto workspace = std::make_unique<Workspace>();
  return ValidateFlopsKernel(probe, *workspace);
}

TEST(ValidateFlopsKernel, PassesEveryRightKernelAndFindsEveryMutation) {
  for (const auto& probe : FlopsProbesFor(cpu::ThisCpu().features)) {
    const auto check = Checked(probe);
    EXPECT_TRUE(check.passed) << probe.key << check.text;
    EXPECT_THAT(check.text, HasSubstr("1, 2 and 7 iterations equal")) << probe.key;
  }
  EXPECT_TRUE(Checked(fakes::SoundProbe()).passed);
  EXPECT_EQ(Checked(fakes::SoundProbe()).text,
            "1, 2 and 7 iterations equal plain loops in all 64 elements");
  EXPECT_TRUE(Checked(fakes::SoundDotProbe()).passed);
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

machine::Ceiling CeilingAt(double per_cycle) {
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

TEST(JudgePerCycle, TakesTheNearestValueAndCaveatsRatesBetweenAndALoopThatIsNotThere) {
  for (const auto& [measured, expected] :
       {std::pair{63.9, 64.0}, {62.1, 64.0}, {65.9, 64.0}, {32.2, 32.0}, {15.9, 16.0}}) {
    auto ceiling = CeilingAt(measured);
    JudgePerCycle(kFp32Zmm, ceiling);
    EXPECT_TRUE(ceiling.IsValidated()) << ceiling.ReasonText();
    EXPECT_EQ(ceiling.validation.per_cycle_expected, expected);
  }
  auto ceiling = CeilingAt(50);
  JudgePerCycle(kFp32Zmm, ceiling);
  EXPECT_FALSE(ceiling.IsValidated());
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 64);
  EXPECT_EQ(ceiling.ReasonText(),
            "50 flop per cycle of one thread at 3 GHz, but vfmaddps zmm allows 16, 32, 64 within 3 "
            "%: something held the core's units back, or the clock was another one while the "
            "kernel ran");
  auto marked = CeilingAt(50);
  marked.status = machine::CeilingStatus::kNotValidated;
  marked.reasons = {"first"};
  JudgePerCycle(kFp32Zmm, marked);
  EXPECT_THAT(marked.ReasonText(), testing::StartsWith("first; 50 flop per cycle"));
  // A deleted loop: "4e9 GB/s" was seen once.
  ceiling = CeilingAt(1e6);
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
    auto ceiling = CeilingAt(additions * 64);
    JudgePerCycle(probe, ceiling);
    EXPECT_FALSE(ceiling.IsValidated());
  }
}

std::map<int, machine::CeilingSet> Judged(const FlopsProbe& probe,
                                          const std::map<int, double>& per_cycle,
                                          const CoreRates& core = {}) {
  std::map<int, machine::CeilingSet> sets;
  for (const auto& [threads, value] : per_cycle) {
    auto& ceiling = sets[threads].flops[probe.key] = CeilingAt(value);
    JudgePerCycle(probe, ceiling, core);
  }
  return sets;
}

// fp32 zmm again: 16, 32 or 64. The highest is taken at its word. A neighbour that takes half of
// the core lands on another value that the instructions allow: a lower one is believed only when
// another number of threads meets it too, and none exceeds it.
TEST(IsConfirmedPerCycle, BelievesTheHighestAndWhatOtherNumbersOfThreadsMeetAndNeedsAClock) {
  // By threads: FLOPs per cycle, and whether they are believed.
  const std::pair<std::map<int, double>, std::map<int, bool>> rows[] = {
      {{{1, 63.8}}, {{1, true}}},
      {{{1, 32.1}}, {{1, false}}},
      {{{1, 32.1}, {2, 31.8}}, {{1, true}}},
      {{{1, 32.1}, {2, 25}}, {{1, false}, {2, false}}},
      {{{1, 63.8}, {2, 31.9}}, {{1, true}}},
      {{{1, 63.8}, {2, 31.9}, {4, 31.9}}, {{1, true}, {2, false}, {4, false}}}};
  for (const auto& [per_cycle, meets] : rows)
    for (const auto& [threads, expected] : meets)
      EXPECT_EQ(IsConfirmedPerCycle(kFp32Zmm, threads, Judged(kFp32Zmm, per_cycle)), expected)
          << testing::PrintToString(per_cycle) << threads;
  auto sets = Judged(kFp32Zmm, {{1, 63.8}});
  sets[1].flops[kFp32Zmm.key].validation.per_cycle.reset();
  EXPECT_FALSE(IsConfirmedPerCycle(kFp32Zmm, 1, sets));
}

// vdpbf16ps: 16 lanes of 2 pairs, 1 in 2 cycles on some cores: 32. tdpbf16ps: 16 x 16 x 32
// multiply-adds in 16 cycles: 1024; tdpbusd 2048.
TEST(JudgePerCycle, KnowsHalfAndSixteenthRatesAndSaysNothingWithoutAClock) {
  auto ceiling = CeilingAt(32.1);
  JudgePerCycle(Probe(Operands::kBf16, Recurrence::kDot, Issue::kOne, 64), ceiling);
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 32);
  ceiling = CeilingAt(1020);
  JudgePerCycle(Probe(Operands::kBf16, Recurrence::kTile, Issue::kTile, kTileBytes), ceiling);
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 1024);
  ceiling = CeilingAt(2040);
  JudgePerCycle(Probe(Operands::kInt8, Recurrence::kTile, Issue::kTile, kTileBytes), ceiling);
  EXPECT_EQ(ceiling.validation.per_cycle_expected, 2048);
  EXPECT_TRUE(ceiling.IsValidated());
  ceiling = CeilingAt(50);
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
