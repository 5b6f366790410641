#include "counters/caches/simulated_instructions.h"

#include <exception>

#include "counters/base/process.h"
#include "counters/caches/callgrind.h"
#include "counters/caches/simulated_run.h"

namespace dlroof {

std::optional<InstructionCount> SimulateInstructions(const std::string& name, unsigned seed,
                                                     const std::string& algorithm,
                                                     const std::string& isa) {
  if (!IsInPath("valgrind")) return std::nullopt;
  try {
    const auto run = RunSimulated(name, seed, CallgrindWithoutCaches);
    if (run.said.value("algorithm", "") != algorithm || run.said.value("isa", "") != isa)
      return std::nullopt;
    return InstructionCount{.all = CallgrindInstructions(run.counts),
                            .from = Provenance::kSimulated,
                            .how = "callgrind"};
  } catch (const std::exception&) {  // an interrupt, or a program that valgrind cannot run
    return std::nullopt;
  }
}

}  // namespace dlroof
