// Does a memory kernel do what its ceiling counts? Deterministic, without a clock: on small arrays,
// once per kernel.
#pragma once

#include <string>

#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof::cpu_kernels {

struct KernelValidation {
  bool passed = false;
  std::string text;  // one sentence: what was held against what, or where it differs
};

// Looks at `mix.kernel`, which is made for vectors and steps of `isa`:
// - The arrays end as a plain loop leaves them, over the end and the second begin of the walk; all
//   elements of a vector that is stored, or whose bits are flipped, differ. Catches bytes that are
//   not written, or not read; a fill by a library; a vector that is half of the wide one, repeated.
// - A load leaves the vectors that it loaded, folded (kFolds): every element once, in its vector's
//   place. Catches loads that were deleted, left out, or of another width.
// - copy, triad and update into an array that begins half a vector behind the one they read: only
//   vectors of that width, one after the other, leave what a plain loop over such vectors leaves.
//   Catches a call of memcpy or memmove, and vectors of another width. Non-temporal stores need
//   aligned addresses: there, a whole vector behind.
// - Fresh pages become resident when they are touched, and only then (mincore(2)): so many as the
//   kernel's steps count, in each of its arrays, and none beside. Catches a kernel that touches
//   more. Where the system calls every page resident (some sandboxes) this one is left out, and the
//   text says so: that all that is counted is touched follows from the others.
// Only machine code shows whether two stores of half the width replace one store.
KernelValidation ProveBytesKernel(const Mix& mix, const BytesIsa& isa);

}  // namespace dlroof::cpu_kernels
