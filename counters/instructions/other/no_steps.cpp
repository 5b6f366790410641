#include "counters/instructions/instruction_count.h"

namespace dlroof::instructions {

std::optional<double> MeasureInstructionRate() { return std::nullopt; }

Stepped StepThrough(const std::function<void()>&, double) {
  return {std::nullopt, "this program steps through calls on x86 alone"};
}

}  // namespace dlroof::instructions
