// Checks that a memory kernel does the accesses that its ceiling counts. Deterministic and without
// a clock, on small arrays, once per kernel.
#pragma once

#include <string>

#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof::cpu_kernels {

struct KernelValidation {
  bool passed = false;
  std::string text;  // one sentence: what was compared, or what differs
};

// Checks `mix.kernel`, which uses vectors and steps of `isa`:
// - The arrays are the same as after a plain loop, also after the walk has wrapped around. All
//   elements of a stored vector, and of one whose bits are flipped, differ. Finds bytes that are
//   not read or written, a fill by a library, and half a vector stored twice.
// - A load kernel's folds (kFolds) have every element once, in the place of its vector. Finds loads
//   that were deleted, left out, or of another width.
// - copy, triad and update write to an array that begins half a vector after the one that they
// read:
//   only vectors of that width, one after the other, give the result of a plain loop over such
//   vectors. Finds a call of memcpy or memmove and vectors of another width. Non-temporal stores
//   need aligned addresses, so there the array begins a whole vector later.
// - New pages become resident only when they are accessed (mincore(2)): as many as the kernel's
// steps
//   count, in each of its arrays, and no others. Finds a kernel that accesses more memory. Skipped,
//   which the text says, if the system reports every page as resident (some sandboxes); the other
//   checks then still show that all counted memory is accessed.
// Two stores of half the width in place of one store can only be found in the machine code.
KernelValidation ValidateBytesKernel(const Mix& mix, const BytesIsa& isa);

}  // namespace dlroof::cpu_kernels
