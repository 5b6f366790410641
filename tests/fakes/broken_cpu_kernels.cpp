#include "tests/fakes/broken_cpu_kernels.h"

#include <cmath>
#include <cstdint>

namespace dlroof::fakes {
namespace {

constexpr int kAccumulators = 16;
typedef float Vector __attribute__((vector_size(16)));

struct Loaded {
  Vector x, y, a[kAccumulators];
};

// Does step(loaded) once an iteration; DeadSum alone leaves nothing of it.
template <class Each>
Loaded Repeated(const cpu_kernels::Workspace& workspace, std::int64_t iterations,
                const Each& step) {
  Loaded loaded;
  std::memcpy(&loaded.x, workspace.operands.data() + cpu_kernels::kFirstOperand, sizeof loaded.x);
  std::memcpy(&loaded.y, workspace.operands.data() + cpu_kernels::kSecondOperand, sizeof loaded.y);
  std::memcpy(loaded.a, workspace.accumulators.data(), sizeof loaded.a);
  for (; iterations > 0; --iterations) step(loaded);
  return loaded;
}

template <class Each>
void Repeat(cpu_kernels::Workspace& workspace, std::int64_t iterations, const Each& step) {
  const auto loaded = Repeated(workspace, iterations, step);
  std::memcpy(workspace.accumulators.data(), loaded.a, sizeof loaded.a);
}

template <int kSteps = kAccumulators>
void Step(Loaded& loaded) {
  for (int i = 0; i < kSteps; ++i) loaded.a[i] = loaded.a[i] * loaded.x + loaded.y;
}

void Sound(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  Repeat(workspace, iterations, Step<>);
}

void DeadSum(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  Repeated(workspace, iterations, Step<>);
}

void HalfWidth(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  Repeat(workspace, iterations, [](Loaded& loaded) {
    for (auto& each : loaded.a)
      for (int lane = 0; lane < 2; ++lane)
        each[lane] = each[lane] * loaded.x[lane] + loaded.y[lane];
  });
}

void HalfTheChains(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  Repeat(workspace, iterations, Step<kAccumulators / 2>);
}

void HoistedLoop(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  Repeat(workspace, iterations > 0 ? 1 : 0, Step<>);
}

void MissingIteration(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  Repeat(workspace, iterations - 1, Step<>);
}

void Fused(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  Repeat(workspace, iterations, [](Loaded& loaded) {
    for (auto& each : loaded.a)
      for (int lane = 0; lane < 4; ++lane)
        each[lane] = std::fma(each[lane], loaded.x[lane], loaded.y[lane]);
  });
}

// One accumulator of 4 lanes, 4 products each: `additions` times the products, each `times` taken.
void AddDot(cpu_kernels::Workspace& workspace, std::int64_t additions, std::int32_t times) {
  std::int32_t sums[4];
  std::memcpy(sums, workspace.accumulators.data(), sizeof sums);
  for (; additions > 0; --additions)
    for (std::size_t i = 0; i < 16; ++i) {
      const auto u8 = std::to_integer<int>(workspace.operands[cpu_kernels::kFirstOperand + i]);
      const auto s8 = static_cast<std::int8_t>(workspace.operands[cpu_kernels::kSecondOperand + i]);
      sums[i / 4] += times * u8 * s8;
    }
  std::memcpy(workspace.accumulators.data(), sums, sizeof sums);
}

void SoundDot(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  AddDot(workspace, iterations, 1);
}

void HoistedProduct(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  AddDot(workspace, 1, static_cast<std::int32_t>(iterations));
}

cpu_kernels::FlopsProbe Of(cpu_kernels::Kernel kernel, int accumulators = kAccumulators,
                           int sweeps = 1) {
  return {"fp32.vector.sse2",
          "mulps + addps",
          cpu_kernels::Operands::kFp32,
          cpu_kernels::Recurrence::kMultiplyAdd,
          cpu_kernels::Issue::kTwo,
          sizeof(Vector),
          accumulators,
          sweeps,
          kernel};
}

cpu_kernels::FlopsProbe DotOf(cpu_kernels::Kernel kernel) {
  return {"int8.vector.ssse3",
          "pmaddubsw + pmaddwd + paddd",
          cpu_kernels::Operands::kInt8,
          cpu_kernels::Recurrence::kDot,
          cpu_kernels::Issue::kThree,
          16,
          1,
          1,
          kernel};
}

}  // namespace

cpu_kernels::FlopsProbe SoundProbe() { return Of(Sound); }
cpu_kernels::FlopsProbe DeadSumProbe() { return Of(DeadSum); }
cpu_kernels::FlopsProbe HalfWidthProbe() { return Of(HalfWidth); }
cpu_kernels::FlopsProbe HalfTheAccumulators() { return Of(HalfTheChains); }
cpu_kernels::FlopsProbe UncountedAccumulators() { return Of(Sound, kAccumulators / 2); }
cpu_kernels::FlopsProbe HoistedLoopProbe() { return Of(HoistedLoop); }
cpu_kernels::FlopsProbe MissingIterationProbe() { return Of(MissingIteration); }
cpu_kernels::FlopsProbe MissingSweepProbe() { return Of(Sound, kAccumulators, 2); }
cpu_kernels::FlopsProbe FusedProbe() { return Of(Fused); }
cpu_kernels::FlopsProbe SoundDotProbe() { return DotOf(SoundDot); }
cpu_kernels::FlopsProbe HoistedProductProbe() { return DotOf(HoistedProduct); }

}  // namespace dlroof::fakes
