// Two programs side by side, for people and for machines.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

#include "baselines/programs/program_pair.h"

namespace dlroof {

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

// Where a step's time goes, the kinds, the problems of both with the largest differences, and the
// longest ones without a partner. `width` [columns] of the terminal; 0: no limit.
void WritePairTable(const ProgramPairReport& report, int width, std::ostream& out);
// The same with every row.
void WritePairMarkdown(const ProgramPairReport& report, std::ostream& out);
// One JSON object; unknown is absent. Seconds are of a step where "per_step" is true.
void WritePairJson(const ProgramPairReport& report, std::ostream& out);
// A line per problem.
void WritePairCsv(const ProgramPairReport& report, std::ostream& out);

}  // namespace dlroof
