// Does a memory kernel do what its ceiling counts? Deterministic, without a clock: on small arrays,
// once per kernel.
#pragma once

#include <string>

#include "ceilings/cpu_bytes_probes.h"

namespace dlroof {

struct KernelProof {
  bool passed = false;
  std::string text;  // one sentence: what was held against what, or where it differs
};

// Three looks at `mix.kernel`, which is made for vectors and steps of `isa`:
// - Fresh pages become resident when they are touched, and only then (mincore(2)): so many as the
//   kernel's steps count, in each of its arrays, and none beside. Catches a loop that was deleted,
//   and one that walks through a part of its arrays.
// - The arrays end as a plain loop leaves them, over the end and the second begin of the walk. A
//   load leaves nothing: its twin `isa.sum` does, the same template with another end.
// - copy and triad into an array that begins half a vector behind the one they read: only vectors
// of
//   that width, one after the other, leave what a plain loop over such vectors leaves. Catches a
//   call of memcpy or memmove, and vectors of another width. Non-temporal stores need aligned
//   addresses: there, a whole vector behind.
// Where the system calls every page resident (some sandboxes), the first is left out and the text
// says so.
KernelProof ProveBytesKernel(const Mix& mix, const BytesIsa& isa);

}  // namespace dlroof
