#include "baselines/formats/export.h"

#include <fmt/format.h>

#include <algorithm>

#include "baselines/compare/run_date.h"
#include "counters/base/error.h"
#include "reporters/roofline/roofline.h"

namespace dlroof {

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

void Export(std::string_view format, std::vector<NamedRun> runs, std::ostream& out,
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
  for (const auto& run : runs) CheckNames(run);
  std::ranges::stable_sort(
      runs, [](const auto& a, const auto& b) { return Moment(a.file) < Moment(b.file); });
  if (runs.size() > 1 && Moment(runs.front().file) == 0)
    throw BadInput(runs.front().where +
                   ": has no date, so its place among other runs is not known");
  found->write(runs, out, warnings);
}

std::optional<ExportedTime> TimeOf(const RunFile& file, const Record& record) {
  if (record.status != Status::kOk) return std::nullopt;
  const auto timing = Summarize(record.repetitions);
  if (!timing) return std::nullopt;
  ExportedTime time{timing->median, timing->ci95, std::nullopt, false};
  const auto* machine = MachineFor(file, record);
  if (machine == nullptr || record.work.empty()) return time;
  if (const auto placed = Place(record, machine).time; placed && placed->gap) {
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

}  // namespace dlroof
