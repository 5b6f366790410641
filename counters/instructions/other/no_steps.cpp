#include "counters/instructions/instruction_count.h"

namespace dlroof::instructions {

std::optional<double> MeasureInstructionRate() { return std::nullopt; }

StepResult StepThrough(const std::function<void()>&, double, double) {
  return {.reason = Reason{"single steps are implemented only for x86"}};
}

}  // namespace dlroof::instructions
