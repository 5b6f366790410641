// A chain of dependent integer multiplications inside the loop of an arithmetic kernel. If the
// chain takes longer than the rest of an iteration, the loop's time counts the core's cycles while
// the kernel's own instructions load it (load_clock.h).
#pragma once

#include <vector>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {

// Inlined into functions with a target attribute.
template <int kMultiplications>
[[gnu::always_inline]] inline void MultiplyBeside(unsigned& chain) {
  if constexpr (kMultiplications > 0)
    asm volatile(".rept %c1\n\timull %0, %0\n\t.endr" : "+r"(chain) : "i"(kMultiplications));
}

// Numbers of multiplications of a kernel's clocks, rising.
template <int... kMultiplications>
struct ChainLengths {};
// For iterations of 7 to 72 cycles: 14 or 16 accumulators.
using ShortChains = ChainLengths<3, 4, 6, 8, 12, 24>;

// Returns a clock per length; make.operator()<length>() returns its kernel.
template <int... kMultiplications, class Make>
std::vector<ClockKernel> ClocksOf(ChainLengths<kMultiplications...> /*lengths*/, const Make& make) {
  return {ClockKernel{kMultiplications, make.template operator()<kMultiplications>()}...};
}

}  // namespace dlroof::cpu_kernels
