// Runs in the formats of other tools. A new one is a function in a file export_*.cpp, its
// declaration here and its line in the table of export.cpp.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/compare/paired_record.h"

namespace dlroof::formats {

struct Exporter {
  std::string_view format;       // as --format spells it
  std::string_view description;  // for people
  bool several = false;          // holds more than one run
  // `runs` oldest first, at least one. Records without a time are left out where the format has no
  // place for their reason. `warnings` gets a sentence for anything else that is left out.
  void (*write)(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                std::ostream& warnings);
};

const std::vector<Exporter>& Exporters();

// Sorts by date and writes. Throws BadInput: unknown format, no run, several runs for a format that
// holds one, a name twice in a run, several runs and one without a date.
void Export(std::string_view format, std::vector<compare::NamedRun> runs, std::ostream& out,
            std::ostream& warnings);

// A record's time, as every format has it.
struct ExportedTime {
  double median = 0;                              // [s]
  std::optional<std::pair<double, double>> ci95;  // [s]
  std::optional<double> fraction;  // [1] of the binding roof, where nothing of it is in doubt
  bool specified = false;          // that roof is given, not measured
};
// Absent for a record that was not timed.
std::optional<ExportedTime> TimeOf(const record::RunFile& file, const record::Record& record);

// A text as a CSV field (RFC 4180): in quotes where it holds a quote, a comma or a line break.
std::string CsvText(std::string_view text);

// A number as a CSV field, with every digit; empty: unknown.
std::string NumberField(const std::optional<double>& value);

// Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format).
void WriteBencher(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                  std::ostream& warnings);
// github-action-benchmark's customSmallerIsBetter (its README, "Examples").
void WriteGithubAction(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                       std::ostream& warnings);
// OpenMetrics 1.0 text; with timestamps only where there are several runs, for backfilling.
void WriteOpenMetrics(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                      std::ostream& warnings);
// A line per benchmark and run, everything that the other formats have no place for.
void WriteCsv(const std::vector<compare::NamedRun>& runs, std::ostream& out,
              std::ostream& warnings);
void WriteCsvHeader(std::ostream& out);
void WriteCsvLines(const compare::NamedRun& run, std::ostream& out);
// Apache Otava (formerly Hunter): a line per run and a column per benchmark that all runs timed;
// and the otava.yaml that reads it as "otava.csv".
void WriteOtava(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                std::ostream& warnings);
void WriteOtavaConfig(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                      std::ostream& warnings);

}  // namespace dlroof::formats
