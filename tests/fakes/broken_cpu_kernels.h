// Kernels as a wrong compiler, a wrong flag or a wrong count would make them. The validation of
// ceilings must find them.
#pragma once

#include <cstring>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::fakes {

// Plain C++, fp32 on 16 accumulators of 16 bytes, a = a * x + y. The right one, of which the others
// are mutations.
cpu_kernels::FlopsProbe SoundProbe();

cpu_kernels::FlopsProbe DeadSumProbe();           // never stored, so the compiler deletes the loop
cpu_kernels::FlopsProbe HalfWidthProbe();         // 8-byte vectors, counted as 16 bytes
cpu_kernels::FlopsProbe HalfTheAccumulators();    // 8 in the loop, 16 counted
cpu_kernels::FlopsProbe UncountedAccumulators();  // 16 in the loop, 8 counted
cpu_kernels::FlopsProbe HoistedLoopProbe();  // the loop's work done once, whatever the iterations
cpu_kernels::FlopsProbe MissingIterationProbe();  // one iteration too few
cpu_kernels::FlopsProbe MissingSweepProbe();      // one sweep an iteration, two counted
cpu_kernels::FlopsProbe FusedProbe();  // one rounding where multiply and add are counted apart

// int8 dot products: the right one, and one that multiplies once and adds the product each time. It
// leaves the same sum, and runs as fast as additions do.
cpu_kernels::FlopsProbe SoundDotProbe();
cpu_kernels::FlopsProbe HoistedProductProbe();

// Memory kernels, on the vectors and steps of the instruction set that kIsa returns.
template <const cpu_kernels::BytesIsa& (*kIsa)()>
struct BrokenBytes {
  static void Advance(cpu_kernels::Workspace& workspace, std::int64_t steps) {
    workspace.next =
        (workspace.next + kIsa().step_floats * static_cast<std::size_t>(steps)) % workspace.floats;
  }

  // Trap: gcc turns the loop into a call of memcpy, which uses other stores than were asked for.
  static void CopyByMemcpy(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
    for (; iterations > 0; --iterations) {
      // memmove is what glibc's memcpy is, and defined where the arrays overlap.
      std::memmove(workspace.arrays[0] + workspace.next, workspace.arrays[1] + workspace.next,
                   kIsa().step_floats * sizeof(float));
      Advance(workspace, 1);
    }
  }

  // Trap: a sum that nobody uses is deleted with its loads; the walk remains.
  static void LoadNothing(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
    Advance(workspace, iterations);
  }

  // Trap: the compiler prefers vectors of half the width, twice as many. Nothing in the array
  // tells.
  template <cpu_kernels::BytesOperation kOperation>
  static void HalfWidth(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
    constexpr std::size_t kMax = 32;
    const auto step = kIsa().step_floats, half = kIsa().vector_floats / 2;
    const auto* from = workspace.arrays[kOperation == cpu_kernels::BytesOperation::kLoad ? 0 : 1];
    std::uint32_t folds[cpu_kernels::kFolds * kMax] = {};
    for (; iterations > 0; --iterations) {
      for (std::size_t i = 0; i < step; i += half) {
        std::uint32_t vector[kMax];
        const auto at = workspace.next + i;
        std::memcpy(vector, from + at, half * sizeof(float));
        // As faithful as it can be: bits as in the whole vector.
        for (std::size_t j = 0; kOperation == cpu_kernels::BytesOperation::kUpdate && j < half; ++j)
          vector[j] ^= cpu_kernels::kFlippedBits[(i + j) % (2 * half)];
        for (std::size_t j = 0; j < half; ++j)
          folds[i / half % cpu_kernels::kFolds * half + j] ^= vector[j];
        if (kOperation != cpu_kernels::BytesOperation::kLoad)
          std::memcpy(workspace.arrays[0] + at, vector, half * sizeof(float));
      }
      Advance(workspace, 1);
    }
    std::memcpy(workspace.folds.data(), folds, cpu_kernels::kFolds * half * sizeof(folds[0]));
  }
};

}  // namespace dlroof::fakes
