// Checks that a memory kernel does the loads and stores that its ceiling counts. Deterministic,
// without a clock, on small arrays.
#pragma once

#include <string>

#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof::cpu_kernels {

struct KernelValidation {
  bool passed = false;
  std::string text;  // one sentence: what was checked, or what is wrong
};

// Checks `mix.kernel`, whose vectors and steps are those of `isa`:
// - Results: the arrays equal those of a reference loop, also when the kernel passes the end of the
//   arrays. The elements of a stored or flipped vector all differ. Finds skipped bytes, a library's
//   fill, and half a vector stored twice.
// - Loads: a load kernel's registers (kFolds) contain the exclusive or of exactly the vectors that
//   belong to each. Finds loads that were deleted, skipped, or of another width.
// - Width: copy, triad and update write to an array that begins half a vector after the array that
//   they read (non-temporal stores: a whole vector, as they need aligned addresses). Only vectors
//   of that width, in order, give the reference result. Finds memcpy, memmove and other widths.
// - Pages: exactly the counted pages of each array become resident (mincore(2)). Finds accesses to
//   other memory. Skipped, as the text then says, if the system reports every page as resident
//   (some sandboxes); the other checks still show that all counted memory is accessed.
// These checks cannot find a store that is split into two stores of half the width.
KernelValidation ValidateBytesKernel(const Mix& mix, const BytesIsa& isa);

}  // namespace dlroof::cpu_kernels
