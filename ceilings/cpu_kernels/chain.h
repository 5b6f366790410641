// The loop of an arithmetic kernel, with a chain of dependent integer multiplications inside. If
// the chain takes longer than the rest of an iteration, the loop's time counts the core's cycles
// while the kernel's own instructions load it (flops.h).
#pragma once

#include <cstdint>
#include <cstring>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {

// Executes a chain of dependent 32-bit multiplications. Inlined into functions of any target.
template <int kMultiplications>
[[gnu::always_inline]] inline void MultiplyBeside(unsigned& chain) {
  if constexpr (kMultiplications > 0)
    asm volatile(".rept %c1\n\timull %0, %0\n\t.endr" : "+r"(chain) : "i"(kMultiplications));
}

// Executes step(a, x, y) on kCount independent accumulators per iteration. Inlined into functions
// with the target attribute of `step`. `step` must not be always_inline, because compilers would
// then require the target attribute here; kernel_code_test.cpp checks that it is inlined anyway.
template <class Vector, int kCount, int kChain, class Step>
[[gnu::always_inline]] inline void RunSteps(Workspace& workspace, std::int64_t iterations,
                                            const Step& step) {
  unsigned chain = 3;
  Vector x, y, a[kCount];
  std::memcpy(&x, workspace.operands.data() + kFirstOperand, sizeof x);
  std::memcpy(&y, workspace.operands.data() + kSecondOperand, sizeof y);
  auto* memory = workspace.accumulators.data();
  for (int i = 0; i < kCount; ++i) std::memcpy(&a[i], memory + sizeof x * i, sizeof x);
  for (; iterations > 0; --iterations) {
    for (auto& each : a) {
      Vector next = each;  // a copy: assembler would store the array element to memory
      step(next, x, y);
      each = next;
    }
    MultiplyBeside<kChain>(chain);
  }
  for (int i = 0; i < kCount; ++i) std::memcpy(memory + sizeof x * i, &a[i], sizeof x);
}

// Numbers of chained multiplications in the clock kernels of a kernel, in rising order.
template <int... kMultiplications>
struct ChainLengths {};
// For kernels with 14 or 16 accumulators, whose iterations take 7 to 72 cycles.
using ShortChains = ChainLengths<3, 4, 6, 8, 12, 24>;

// Returns the probe with its kernel and a clock kernel per chain length. make.operator()<length>()
// must return the kernel with a chain of this length.
template <int... kMultiplications, class Make>
FlopsProbe WithKernels(FlopsProbe probe, const Make& make,
                       ChainLengths<kMultiplications...> /*lengths*/) {
  probe.kernel = make.template operator()<0>();
  probe.clocks = {ClockKernel{kMultiplications, make.template operator()<kMultiplications>()}...};
  return probe;
}

template <class Make>
FlopsProbe WithKernels(const FlopsProbe& probe, const Make& make) {
  return WithKernels(probe, make, ShortChains());
}

}  // namespace dlroof::cpu_kernels
