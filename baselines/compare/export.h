// Writes runs in the formats of other tools. To add a format, write its function and its row of the
// table in export.cpp.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/compare/paired_record.h"

namespace dlroof::compare {

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

// A record's time as every format writes it.
struct ExportedTime {
  double median = 0;                              // [s]
  std::optional<std::pair<double, double>> ci95;  // [s]
  std::optional<double> fraction;                 // [1] of the binding roof, if that is validated
  std::optional<double> fraction_at_most;  // [1] its upper limit, if the roof is not validated
  bool specified = false;                  // the binding roof is specified, not measured
  bool estimate = false;                   // too few repetitions were clean (record::TimeOf)
};
// Returns the time of a record, which may be an estimate, or nothing for a record without times.
std::optional<ExportedTime> TimeOf(const record::RunFile& file, const record::Record& record);

// Returns a CSV field (RFC 4180): quoted if the text has a quote, a comma or a line break, and with
// "'" before what a spreadsheet would take for a formula.
std::string CsvText(std::string_view text);

// Returns a CSV field with all digits, or an empty field.
std::string NumberField(const std::optional<double>& value);

}  // namespace dlroof::compare
