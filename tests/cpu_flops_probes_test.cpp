// Runs each kernel that this CPU has and compares with plain loops; no time is looked at.
#include "ceilings/cpu_flops_probes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "counters/cpu.h"

namespace dlroof {
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

double SumOfAccumulators(Operands operands, const Workspace& workspace) {
  const auto& memory = workspace.accumulators;
  double sum = 0;
  const std::size_t size = operands == Operands::kFp64 ? 8 : operands == Operands::kFp16 ? 2 : 4;
  for (std::size_t at = 0; at < memory.size(); at += size) {
    if (operands == Operands::kFp64) sum += At<double>(memory, at);
    if (operands == Operands::kFp32 || operands == Operands::kBf16) sum += At<float>(memory, at);
    if (operands == Operands::kFp16) sum += Fp16(At<std::uint16_t>(memory, at));
    if (operands == Operands::kInt8) sum += At<std::int32_t>(memory, at);
  }
  return sum;
}

std::vector<FlopsProbe> AllProbes() {
  std::vector<FlopsProbe> all;
  for (const auto& table : {FloatVectorProbes(), Int8VectorProbes(), Bf16AndTileProbes()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

TEST(FlopsProbes, KeysArePipesFinerThanThePlainOnes) {
  std::set<std::string> keys;
  for (const auto& probe : AllProbes()) {
    EXPECT_TRUE(IsPipeKey(probe.key)) << probe.key;
    const std::string key = probe.key;
    EXPECT_EQ(std::count(key.begin(), key.end(), '.'), 2) << key;
    EXPECT_TRUE(keys.insert(key).second) << key << " twice";
    EXPECT_FALSE(probe.needs.empty());
  }
}

TEST(FlopsProbes, AreChosenByEveryFeatureTheyNeed) {
  const auto keys = [](const std::set<std::string>& features) {
    std::set<std::string> found;
    for (const auto& probe : FlopsProbesFor(features)) found.insert(probe.key);
    return found;
  };
  EXPECT_EQ(keys({"sse2"}), (std::set<std::string>{"fp32.vector.sse2", "fp64.vector.sse2"}));
  EXPECT_FALSE(keys({"sse2", "avx2"}).contains("fp32.vector.avx2"));  // AVX2 without FMA
  EXPECT_TRUE(keys({"avx2", "fma"}).contains("fp32.vector.avx2"));
  EXPECT_TRUE(keys({"amx_tile", "amx_int8"}).contains("int8.matrix.amx"));
  EXPECT_FALSE(keys({"amx_int8"}).contains("int8.matrix.amx"));
}

// With operands of 1, each multiply-add adds 1 to some accumulator: their sum counts the work.
TEST(FlopsProbes, DoTheWorkTheyClaim) {
  for (const auto& probe : FlopsProbesFor(ThisCpu().features)) {
    const auto workspace = std::make_unique<Workspace>();
    SetOnes(probe.operands, *workspace);
    for (const int iterations : {1, 7}) {
      workspace->accumulators.fill(std::byte{0});
      probe.kernel(*workspace, iterations);
      EXPECT_EQ(2 * SumOfAccumulators(probe.operands, *workspace),
                probe.flops_per_iteration * iterations)
          << probe.key;
    }
  }
}

TEST(FlopsProbes, GoOnFromTheirAccumulators) {
  for (const auto& probe : FlopsProbesFor(ThisCpu().features)) {
    const auto once = std::make_unique<Workspace>(), twice = std::make_unique<Workspace>();
    FillOperands(probe.operands, *once);
    FillOperands(probe.operands, *twice);
    probe.kernel(*once, 12);
    probe.kernel(*twice, 5);
    probe.kernel(*twice, 7);
    EXPECT_EQ(once->accumulators, twice->accumulators) << probe.key;
    probe.kernel(*once, 1);
    EXPECT_NE(once->accumulators, twice->accumulators) << probe.key;
    probe.kernel(*twice, 0);
  }
}

// a = a * x + y, rounded once (fused) or twice.
template <class T>
T Reference(T x, T y, int iterations, bool fused) {
  volatile T a = 0;  // volatile: this loop itself must not be fused
  for (int i = 0; i < iterations; ++i) {
    if (fused) {
      a = std::fma(static_cast<T>(a), x, y);
    } else {
      volatile T product = a * x;
      a = product + y;
    }
  }
  return a;
}

TEST(FlopsProbes, FloatKernelsComputeTheirRecurrenceInEveryLane) {
  for (const auto& probe : FlopsProbesFor(ThisCpu().features)) {
    if (probe.operands != Operands::kFp32 && probe.operands != Operands::kFp64) continue;
    const bool fused = std::string(probe.key).find("sse2") == std::string::npos;
    const auto workspace = std::make_unique<Workspace>();
    FillOperands(probe.operands, *workspace);
    probe.kernel(*workspace, 100);
    const std::size_t size = probe.operands == Operands::kFp64 ? 8 : 4;
    const auto lanes = static_cast<std::size_t>(probe.flops_per_iteration / 2);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (size == 8) {
        ASSERT_EQ(At<double>(workspace->accumulators, lane * size),
                  Reference(0.99, 0.01, 100, fused))
            << probe.key << " lane " << lane;
      } else {
        ASSERT_EQ(At<float>(workspace->accumulators, lane * size),
                  Reference(0.99F, 0.01F, 100, fused))
            << probe.key << " lane " << lane;
      }
    }
  }
}

TEST(FlopsProbes, Int8VectorKernelsMultiplyUnsignedBySigned) {
  for (const auto& probe : FlopsProbesFor(ThisCpu().features)) {
    if (!std::string(probe.key).starts_with("int8.vector")) continue;
    const auto workspace = std::make_unique<Workspace>();
    FillOperands(probe.operands, *workspace);
    probe.kernel(*workspace, 3);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      int sum = 0;
      for (std::size_t i = 4 * lane; i < 4 * lane + 4; ++i)
        sum += int{At<std::uint8_t>(workspace->operands, kFirstOperand + i)} *
               At<std::int8_t>(workspace->operands, kSecondOperand + i);
      EXPECT_EQ(At<std::int32_t>(workspace->accumulators, 4 * lane), 3 * sum) << probe.key;
    }
  }
}

TEST(FillOperands, KeepsEveryProductFiniteAndBelowSaturation) {
  const auto workspace = std::make_unique<Workspace>();
  FillOperands(Operands::kBf16, *workspace);
  int distinct = 0;
  for (std::size_t at = 0; at < 4096; at += 2) {
    const float value = Bf16(workspace->operands, at);
    EXPECT_LE(std::abs(value), 1);
    if (at >= 2 && value != Bf16(workspace->operands, at - 2)) ++distinct;
  }
  EXPECT_GT(distinct, 1900);  // random: zeros would run faster than real values
  FillOperands(Operands::kInt8, *workspace);
  for (std::size_t i = 0; i < kSecondOperand; i += 2) {
    int pair = 0;
    for (const std::size_t at : {i, i + 1})
      pair += std::abs(int{At<std::uint8_t>(workspace->operands, at)} *
                       At<std::int8_t>(workspace->operands, kSecondOperand + at));
    EXPECT_LT(pair, 32768) << i;
  }
}

}  // namespace
}  // namespace dlroof
