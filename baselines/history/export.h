// Writes runs in the file formats of other tools. To add a format, write its function and add a row
// to the table in export.cpp.
#pragma once

#include <iosfwd>
#include <string_view>
#include <vector>

#include "baselines/compare/paired_record.h"

namespace dlroof::history {

struct Exporter {
  std::string_view format;       // value of --format
  std::string_view description;  // shown in help
  bool several = false;          // a file can contain more than one run
  // Writes `runs` (at least one, oldest first). Silently omits records without a time if the format
  // has no field for the reason; names anything else that it omits in `warnings`.
  void (*write)(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                std::ostream& warnings);
};

const std::vector<Exporter>& Exporters();

// Sorts the runs by date and writes them. Throws BadInput for an unknown format, no runs, several
// runs in a format that can contain only one, a benchmark name that occurs twice in a run, and
// a run without a date among several.
void Export(std::string_view format, std::vector<compare::NamedRun> runs, std::ostream& out,
            std::ostream& warnings);

}  // namespace dlroof::history
