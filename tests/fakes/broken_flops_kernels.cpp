#include "tests/fakes/broken_flops_kernels.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace dlroof {
namespace {

constexpr int kAccumulators = 16;
typedef float Vector __attribute__((vector_size(16)));

struct Loaded {
  Vector x, y, a[kAccumulators];
};

Loaded Load(const Workspace& workspace) {
  Loaded loaded;
  std::memcpy(&loaded.x, workspace.operands.data() + kFirstOperand, sizeof loaded.x);
  std::memcpy(&loaded.y, workspace.operands.data() + kSecondOperand, sizeof loaded.y);
  std::memcpy(loaded.a, workspace.accumulators.data(), sizeof loaded.a);
  return loaded;
}

void Store(const Loaded& loaded, Workspace& workspace) {
  std::memcpy(workspace.accumulators.data(), loaded.a, sizeof loaded.a);
}

void Step(Loaded& loaded, int accumulators = kAccumulators) {
  for (int i = 0; i < accumulators; ++i) loaded.a[i] = loaded.a[i] * loaded.x + loaded.y;
}

void Sound(Workspace& workspace, std::int64_t iterations) {
  auto loaded = Load(workspace);
  for (; iterations > 0; --iterations) Step(loaded);
  Store(loaded, workspace);
}

void DeadSum(Workspace& workspace, std::int64_t iterations) {
  auto loaded = Load(workspace);
  for (; iterations > 0; --iterations) Step(loaded);
}

void HalfWidth(Workspace& workspace, std::int64_t iterations) {
  auto loaded = Load(workspace);
  for (; iterations > 0; --iterations)
    for (auto& each : loaded.a)
      for (int lane = 0; lane < 2; ++lane)
        each[lane] = each[lane] * loaded.x[lane] + loaded.y[lane];
  Store(loaded, workspace);
}

void HalfTheChains(Workspace& workspace, std::int64_t iterations) {
  auto loaded = Load(workspace);
  for (; iterations > 0; --iterations) Step(loaded, kAccumulators / 2);
  Store(loaded, workspace);
}

void HoistedLoop(Workspace& workspace, std::int64_t iterations) {
  auto loaded = Load(workspace);
  if (iterations > 0) Step(loaded);
  Store(loaded, workspace);
}

void MissingIteration(Workspace& workspace, std::int64_t iterations) {
  auto loaded = Load(workspace);
  for (; iterations > 1; --iterations) Step(loaded);
  Store(loaded, workspace);
}

void Fused(Workspace& workspace, std::int64_t iterations) {
  auto loaded = Load(workspace);
  for (; iterations > 0; --iterations)
    for (auto& each : loaded.a)
      for (int lane = 0; lane < 4; ++lane)
        each[lane] = std::fma(each[lane], loaded.x[lane], loaded.y[lane]);
  Store(loaded, workspace);
}

// One accumulator of 4 lanes, 4 products each.
void AddDot(const Workspace& workspace, std::int32_t times, std::int32_t* sums) {
  for (std::size_t i = 0; i < 16; ++i) {
    const auto u8 = std::to_integer<int>(workspace.operands[kFirstOperand + i]);
    const auto s8 = static_cast<std::int8_t>(workspace.operands[kSecondOperand + i]);
    sums[i / 4] += times * u8 * s8;
  }
}

void SoundDot(Workspace& workspace, std::int64_t iterations) {
  std::int32_t sums[4];
  std::memcpy(sums, workspace.accumulators.data(), sizeof sums);
  for (; iterations > 0; --iterations) AddDot(workspace, 1, sums);
  std::memcpy(workspace.accumulators.data(), sums, sizeof sums);
}

void HoistedProduct(Workspace& workspace, std::int64_t iterations) {
  std::int32_t sums[4];
  std::memcpy(sums, workspace.accumulators.data(), sizeof sums);
  AddDot(workspace, static_cast<std::int32_t>(iterations), sums);
  std::memcpy(workspace.accumulators.data(), sums, sizeof sums);
}

FlopsProbe Of(Kernel kernel, int accumulators = kAccumulators, int sweeps = 1) {
  return {"fp32.vector.sse2",
          "mulps + addps",
          Operands::kFp32,
          Recurrence::kMultiplyAdd,
          Issue::kTwo,
          sizeof(Vector),
          accumulators,
          sweeps,
          kernel};
}

FlopsProbe DotOf(Kernel kernel) {
  return {"int8.vector.ssse3",
          "pmaddubsw + pmaddwd + paddd",
          Operands::kInt8,
          Recurrence::kDot,
          Issue::kThree,
          16,
          1,
          1,
          kernel};
}

}  // namespace

FlopsProbe SoundProbe() { return Of(Sound); }
FlopsProbe DeadSumProbe() { return Of(DeadSum); }
FlopsProbe HalfWidthProbe() { return Of(HalfWidth); }
FlopsProbe HalfTheAccumulators() { return Of(HalfTheChains); }
FlopsProbe UncountedAccumulators() { return Of(Sound, kAccumulators / 2); }
FlopsProbe HoistedLoopProbe() { return Of(HoistedLoop); }
FlopsProbe MissingIterationProbe() { return Of(MissingIteration); }
FlopsProbe MissingSweepProbe() { return Of(Sound, kAccumulators, 2); }
FlopsProbe FusedProbe() { return Of(Fused); }
FlopsProbe SoundDotProbe() { return DotOf(SoundDot); }
FlopsProbe HoistedProductProbe() { return DotOf(HoistedProduct); }

}  // namespace dlroof
