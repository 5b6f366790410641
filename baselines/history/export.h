// Writes runs in the formats of other tools. To add a format, write its function and its row of the
// table in export.cpp.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

#include "baselines/compare/paired_record.h"

namespace dlroof::history {

struct Exporter {
  std::string_view format;       // as --format spells it
  std::string_view description;  // for people
  bool several = false;          // a file can contain more than one run
  // Writes `runs` (at least one, oldest first). Leaves out records without a time if the format has
  // no field for the reason; writes a sentence to `warnings` for anything else that it leaves out.
  void (*write)(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                std::ostream& warnings);
};

const std::vector<Exporter>& Exporters();

// Sorts the runs by date and writes them. Throws BadInput for an unknown format, no run, several
// runs in a format for one, a benchmark name that occurs twice in a run, and several runs of which
// one has no date.
void Export(std::string_view format, std::vector<compare::NamedRun> runs, std::ostream& out,
            std::ostream& warnings);

}  // namespace dlroof::history
