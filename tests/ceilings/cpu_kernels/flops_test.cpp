// Runs each kernel that this CPU has and compares with plain loops; no time is looked at.
#include "ceilings/cpu_kernels/flops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_kernels {
namespace {

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

// The last two of a pipe: rows without FMA are never the roof where there is FMA.
TEST(PlainPipe, IsTheTypeAndTheUnit) {
  EXPECT_EQ(PlainPipe("fp32.vector.avx512"), "fp32.vector");
  EXPECT_EQ(PlainPipe("fp32.vector"), "fp32.vector");
  EXPECT_EQ(PlainPipe("fp32"), "fp32");
}

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

}  // namespace
}  // namespace dlroof::cpu_kernels
