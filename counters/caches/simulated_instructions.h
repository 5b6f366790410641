// A call's instructions as callgrind counts them.
#pragma once

#include <optional>
#include <string>

#include "counters/parallel_time.h"

namespace dlroof {

// The instructions of one call of the benchmark on one thread, in a child process under valgrind,
// in some seconds and fifty times the call's own. Absent where valgrind is missing or fails, and
// where the library makes another call of it there than `algorithm` with `isa`: valgrind knows no
// AVX-512.
std::optional<InstructionCount> SimulateInstructions(const std::string& name, unsigned seed,
                                                     const std::string& algorithm,
                                                     const std::string& isa);

}  // namespace dlroof
