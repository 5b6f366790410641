// A program's log of oneDNN as a run file: its primitives placed on a machine's roofs.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "ceilings/machine/machine.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

// Facts about the program that the log does not have.
struct ProgramFacts {
  std::string command;                 // as it was typed; empty: unknown
  std::optional<double> wall_seconds;  // [s] from the program's start to its end; absent: unknown
  std::optional<int> threads;          // of its library; absent: as the log says
  std::optional<int> steps;            // into which the program is divided; absent: they are found
};

// Returns true for a text that has a line of oneDNN's verbose mode near its beginning.
bool LooksLikeOneDnnLog(std::string_view text);

// Returns a run file of the log's distinct primitives: a record each, and what the log says of the
// whole program under context.dlroof.program, which reporters/program/program_report.h shows.
// `warnings` gets a sentence for threads without ceilings. Throws BadInput for a log that cannot be
// read, and for one without an executed primitive.
record::RunFile ProgramRun(const std::string& log_path, const ProgramFacts& facts,
                   const std::optional<machine::Machine>& machine, std::ostream& warnings);

}  // namespace dlroof::profile
