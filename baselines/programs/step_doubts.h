// Doubts about the number of a program's steps. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "baselines/programs/step_division.h"
#include "baselines/programs/steps.h"
#include "reporters/verbose/verbose_log.h"

namespace dlroof::programs {

// The executions of a log's main process.
struct CheckedLog {
  const verbose::VerboseLog& log;
  const std::vector<std::size_t>& main;      // their indices in VerboseLog::executions
  const std::vector<Pass>& passes;           // by primitive
  const std::vector<std::uint32_t>& stream;  // of each, its primitive whatever its batch
};

// Sets Steps::doubt and Steps::other of steps that were found, if
// - equal segments could follow one another in any order (layers of fewer steps?),
// - the same layers follow with other sizes within a step (images of several sizes?),
// - layers go backward, and then forward and backward again with other sizes, within a step,
// - many layers of a step, or a product, do not occur in the log as often as there are steps,
// - a layer occurs more often than there are steps, whatever its sizes,
// - backward calls of at least a step are in no step (steps with other sizes?),
// - each batch size comes twice, three times, ... in a row,
// - segments of another loop follow or precede the steps,
// - every second, third, ... step has another batch size, many times (parts of longer steps?),
// - the layers of a step often occur outside of the steps,
// - a step calls a single layer once (what if the program calls it several times?),
// - there are only two or three, or
// - the program's own output counts otherwise. Its equal count confirms the steps.
void CheckSteps(const CheckedLog& checked, Steps& steps);

}  // namespace dlroof::programs
