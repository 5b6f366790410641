// One run of a program, for its ledger alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reporters/program/program_ledger.h"

namespace dlroof {

// Runs the program with oneDNN's lines, which it does not show, and returns where the time of a
// step (of the whole program, where it has none) goes. Without a machine's roofs the primitives'
// time is one part. Absent: the program fails, is interrupted, or executes no primitive of oneDNN.
// Throws CannotStart.
std::optional<ProgramLedger> RunForLedger(const std::vector<std::string>& command);

}  // namespace dlroof
