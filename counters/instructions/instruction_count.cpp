#include "counters/instructions/instruction_count.h"

#include <stdexcept>
#include <utility>

#include "counters/perf/perf_events.h"

namespace dlroof::instructions {
namespace {

// Event 0xC0 without a unit mask is INST_RETIRED.ANY_P on Intel (SDM volume 3, "Architectural
// Performance Events") and PMCx0C0 on AMD (Processor Programming References).
const perf::PmuEvent kRetired = {.name = "instructions retired", .config = 0xC0};

std::optional<InstructionCount> ByHardware(const std::function<void()>& run) {
  if (perf::AskPerf().error != 0) return std::nullopt;
  try {
    InstructionCount count{.how = "hardware counter, user space"};
    const auto readings = perf::CountInKernel({kRetired}, run);
    for (const auto& reading : readings.at(0)) {
      if (reading.running < reading.enabled) return std::nullopt;
      count.all += perf::Difference(reading);
    }
    if (count.all > 0) return count;
  } catch (const std::exception&) {  // without counters the caller uses single steps
  }
  return std::nullopt;
}

}  // namespace

CountedInstructions CountInstructions(const std::function<void()>& run, double step_seconds,
                                      double wall_seconds) {
  if (auto counted = ByHardware(run)) return {.count = std::move(counted)};
  if (step_seconds <= 0)
    return {.reason = Reason{"there is no hardware counter, and single steps are disabled"}};
  const auto steps = StepThrough(run, step_seconds, wall_seconds);
  if (!steps.counts) return {.reason = steps.reason};
  return {.count = InstructionCount{.all = static_cast<double>(steps.counts->all),
                                    .arithmetic = static_cast<double>(steps.counts->arithmetic),
                                    .generated = static_cast<double>(steps.counts->generated),
                                    .how = "single steps"}};
}

}  // namespace dlroof::instructions
