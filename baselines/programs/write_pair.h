// Two programs side by side, for people and for machines.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

#include "baselines/programs/program_pair.h"

namespace dlroof::programs {

struct ProgramPairReport {
  const ComparedProgram& a;
  const ComparedProgram& b;
  ProgramPair pair;
};

struct ProgramPairWriter {
  std::string_view format;  // as --format spells it
  void (*write)(const ProgramPairReport& report, std::ostream& out);
};

// Returns the default format first. The table is as wide as the terminal.
const std::vector<ProgramPairWriter>& ProgramPairWriters();

}  // namespace dlroof::programs
