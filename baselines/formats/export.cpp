#include "baselines/formats/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <tuple>

#include "baselines/compare/stored_run.h"
#include "counters/base/error.h"
#include "reporters/record/context.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::formats {
namespace {

// Joules of a call, their interval, and the source.
std::string EnergyFields(const record::Record& record) {
  const auto& energy = record.energy;
  if (!energy) return ",,,";
  std::optional<double> low, high;
  if (energy->ci95) std::tie(low, high) = *energy->ci95;
  return fmt::format("{},{},{},{}", energy->joules, NumberField(low), NumberField(high),
                     CsvText(energy->from));
}

int CleanOf(const record::Record& record) {
  int clean = 0;
  for (const auto& repetition : record.repetitions) clean += repetition.disturbed ? 0 : 1;
  return clean;
}

}  // namespace

std::string NumberField(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

void WriteCsvHeader(std::ostream& out) {
  out << "name,date,commit,machine,fingerprint,threads,cache,status,reason,algorithm,seconds,"
         "ci95_low,ci95_high,clean,repetitions,fraction_of_roof,roof,"
         "joules,joules_low,joules_high,energy_from\n";
}

void WriteCsvLines(const compare::NamedRun& run, std::ostream& out) {
  const auto date = CsvText(record::Text(run.file.context, "date"));
  const auto commit = CsvText(record::Text(record::Member(run.file.context, "dlroof"), "commit"));
  for (const auto& record : run.file.records) {
    const auto* machine = record::MachineFor(run.file, record);
    const auto time = TimeOf(run.file, record);
    std::optional<double> seconds, low, high, fraction;
    if (time) {
      seconds = time->median;
      fraction = time->fraction;
      if (time->ci95) std::tie(low, high) = *time->ci95;
    }
    out << fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvText(record.name), date,
        commit, machine == nullptr ? "" : CsvText(machine->name),
        machine == nullptr ? "" : CsvText(machine->fingerprint),
        record.threads > 0 ? std::to_string(record.threads) : "", CsvText(record.cache),
        record::Key(record.status), CsvText(record.reason), CsvText(record::AlgorithmText(record)),
        NumberField(seconds), NumberField(low), NumberField(high), CleanOf(record),
        record.repetitions.size(), NumberField(fraction),
        !fraction     ? ""
        : time->given ? "given"
                      : "proved",
        EnergyFields(record));
  }
}

void WriteCsv(const std::vector<compare::NamedRun>& runs, std::ostream& out, std::ostream&) {
  WriteCsvHeader(out);
  for (const auto& run : runs) WriteCsvLines(run, out);
}

const std::vector<Exporter>& Exporters() {
  static const std::vector<Exporter> table = {
      {"bencher", "Bencher Metric Format, JSON", false, WriteBencher},
      {"csv", "one line per benchmark and run", true, WriteCsv},
      {"github-action", "github-action-benchmark's customSmallerIsBetter, JSON", false,
       WriteGithubAction},
      {"openmetrics", "OpenMetrics text, as Prometheus reads it", true, WriteOpenMetrics},
      {"otava", "CSV for Apache Otava: a line per run, a column per benchmark", true, WriteOtava},
      {"otava-config", "the otava.yaml that reads it as otava.csv", true, WriteOtavaConfig}};
  return table;
}

void Export(std::string_view format, std::vector<compare::NamedRun> runs, std::ostream& out,
            std::ostream& warnings) {
  const auto& table = Exporters();
  const auto found = std::ranges::find(table, format, &Exporter::format);
  if (found == table.end()) {
    std::string known;
    for (const auto& one : table)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", one.format);
    throw BadInput("--format={}: expected one of {}", format, known);
  }
  if (runs.empty()) throw BadInput("export: no run to export");
  if (runs.size() > 1 && !found->several)
    throw BadInput("--format={} holds one run, but {} were given", format, runs.size());
  for (const auto& run : runs) compare::CheckNames(run);
  std::ranges::stable_sort(
      runs, [](const auto& a, const auto& b) { return compare::Moment(a.file) < compare::Moment(b.file); });
  if (runs.size() > 1 && compare::Moment(runs.front().file) == 0)
    throw BadInput(runs.front().where +
                   ": has no date, so its place among other runs is not known");
  found->write(runs, out, warnings);
}

std::optional<ExportedTime> TimeOf(const record::RunFile& file, const record::Record& record) {
  if (record.status != record::Status::kOk) return std::nullopt;
  const auto timing = record::Summarize(record.repetitions);
  if (!timing) return std::nullopt;
  ExportedTime time{timing->median, timing->ci95, std::nullopt, false};
  const auto* machine = record::MachineFor(file, record);
  if (machine == nullptr || record.work.empty()) return time;
  if (const auto placed = roofline::Place(record, machine).time; placed && placed->gap) {
    time.fraction = 1 / *placed->gap;
    time.given = placed->given;
  }
  return time;
}

std::string CsvText(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

}  // namespace dlroof::formats
