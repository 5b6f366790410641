// Machines of schema 1, which kept typed values as sentences and as keys of `facts`.
#pragma once

#include <string>
#include <vector>

#include "ceilings/machine/machine.h"

namespace dlroof::machine {

// Splits the one text that schema 1 joined all reasons into.
std::vector<std::string> Schema1Reasons(const std::string& text);

// Moves "effort.<N>", "absent.<row>.threads.<N>", "sweep.<level>.threads.<N>", "sustained.<row>"
// and "<cost>.threads.<N>" from `facts` into the sets. Reads `mix` and removes the scaling's remark
// from `how`. Facts of thread counts without a set stay as they are.
void ConvertSchema1(Machine& machine);

}  // namespace dlroof::machine
