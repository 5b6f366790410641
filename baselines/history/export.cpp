#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "baselines/history/history.h"
#include "counters/base/error.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::history {
namespace {

using compare::NamedRun, nlohmann::json, text::CsvCell;

// The time of a record, in the fields that all formats share.
struct ExportedTime {
  double median = 0;                              // [s]
  std::optional<std::pair<double, double>> ci95;  // [s]
  std::optional<double> fraction;          // [1] of the binding roof, if that roof is validated
  std::optional<double> fraction_at_most;  // [1] upper limit if it is not validated
  bool specified = false;                  // the binding roof comes from a data sheet
  bool estimate = false;                   // too few repetitions were clean (record::TimeOf)
};
// Returns the time of a record, which may be an estimate, or nullopt if it has none.
std::optional<ExportedTime> TimeOf(const record::RunFile& file, const record::Record& record) {
  if (record.status != record::Status::kOk) return std::nullopt;
  const auto timing = record::TimeOf(record.repetitions);
  if (!timing) return std::nullopt;
  ExportedTime time{.median = timing->median, .ci95 = timing->ci95, .estimate = timing->noisy};
  const auto* machine = record::MachineFor(file, record);
  if (machine == nullptr || record.work.empty()) return time;
  const auto placement = roofline::Place(record, machine);
  time.specified = placement.time && placement.time->specified;
  if (const auto share = roofline::RoofShareOf(placement))
    (share->at_most ? time.fraction_at_most : time.fraction) = share->value;
  return time;
}

// Returns two CSV fields.
std::string IntervalFields(const std::optional<std::pair<double, double>>& ci95) {
  return ci95 ? fmt::format("{},{}", ci95->first, ci95->second) : ",";
}

// Returns CSV fields: energy [J] per call, its interval, and its source.
std::string EnergyFields(const record::Record& record) {
  const auto& energy = record.energy;
  if (!energy) return ",,,";
  return fmt::format("{},{},{}", energy->joules, IntervalFields(energy->ci95),
                     CsvCell(energy->from));
}

constexpr int kLongestName = 1024;  // [characters] limit of Bencher

void WriteCsvLines(const NamedRun& run, std::ostream& out) {
  const auto date = CsvCell(record::Text(run.file.context, "date"));
  const auto commit = CsvCell(CommitOf(run.file));
  for (const auto& record : run.file.records) {
    const auto* machine = record::MachineFor(run.file, record);
    const auto time = TimeOf(run.file, record);
    const auto known = time.value_or(ExportedTime{});
    out << fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvCell(record.name), date,
        commit, machine == nullptr ? "" : CsvCell(machine->name),
        machine == nullptr ? "" : CsvCell(machine->fingerprint),
        record.threads ? std::to_string(*record.threads) : "", CsvCell(record.cache.value_or("")),
        record::Key(record.status), CsvCell(record.reason), CsvCell(record::AlgorithmText(record)),
        time ? fmt::format("{}", time->median) : "", IntervalFields(known.ci95),
        std::ranges::count(record.repetitions, false, &record::Repetition::noisy),
        record.repetitions.size(), CsvCell(known.fraction),
        known.fraction_at_most ? "not validated"
        : !known.fraction      ? ""
        : known.specified      ? "given"
                               : "validated",
        EnergyFields(record), CsvCell(known.fraction_at_most), roofline::MarkOf(known.estimate));
  }
}

void WriteCsv(const std::vector<NamedRun>& runs, std::ostream& out, std::ostream&) {
  out << "name,date,commit,machine,fingerprint,threads,cache,status,reason,algorithm,seconds,"
         "ci95_low,ci95_high,clean,repetitions,fraction_of_roof,roof,"
         "joules,joules_low,joules_high,energy_from,fraction_of_roof_at_most,mark\n";
  for (const auto& run : runs) WriteCsvLines(run, out);
}

void WriteRunFile(const std::vector<NamedRun>& runs, std::ostream& out, std::ostream&) {
  out << JsonText(roofline::ToJson(runs.front().file)) << '\n';
}

// Bencher Metric Format (bencher.dev/docs/reference/bencher-metric-format).
void WriteBencher(const std::vector<NamedRun>& runs, std::ostream& out, std::ostream& warnings) {
  json all = json::object();
  for (const auto& record : runs.front().file.records) {
    const auto time = TimeOf(runs.front().file, record);
    if (!time) continue;
    const auto characters = std::ranges::count_if(
        record.name, [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
    if (characters > kLongestName) {
      warnings << fmt::format("left out: '{}', Bencher accepts names of up to {} characters\n",
                              text::ShortenMiddle(record.name, 60), kLongestName);
      continue;
    }
    json& measures = all[record.name];
    json& latency = measures["latency"] = {{"value", time->median * 1e9}};
    if (time->ci95) {
      latency["lower_value"] = time->ci95->first * 1e9;
      latency["upper_value"] = time->ci95->second * 1e9;
    }
    if (time->estimate) measures["estimate"] = {{"value", 1}};
    if (time->fraction)
      measures[time->specified ? "fraction-of-given-roof" : "fraction-of-roof"] = {
          {"value", *time->fraction}};
    if (time->fraction_at_most)
      measures["fraction-of-roof-at-most"] = {{"value", *time->fraction_at_most}};
  }
  out << all.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

// github-action-benchmark's customSmallerIsBetter (its README, "Examples").
void WriteGithubAction(const std::vector<NamedRun>& runs, std::ostream& out, std::ostream&) {
  json all = json::array();
  for (const auto& record : runs.front().file.records) {
    const auto time = TimeOf(runs.front().file, record);
    if (!time) continue;
    json entry = {{"name", record.name}, {"unit", "ns"}, {"value", time->median * 1e9}};
    if (time->ci95)
      entry["range"] =
          fmt::format("{:.6g} to {:.6g}", time->ci95->first * 1e9, time->ci95->second * 1e9);
    std::vector<std::string> extra;
    if (auto algorithm = record::AlgorithmText(record); !algorithm.empty())
      extra.push_back(std::move(algorithm));
    if (time->fraction)
      extra.push_back(fmt::format("{} of its {}roof", text::PercentText(*time->fraction),
                                  time->specified ? "specified " : ""));
    if (time->fraction_at_most)
      extra.push_back(fmt::format("at most {} of its roof, which is not validated",
                                  text::PercentText(*time->fraction_at_most)));
    if (time->estimate) extra.emplace_back("~ an estimate: too few repetitions were clean");
    if (!extra.empty()) entry["extra"] = fmt::format("{}", fmt::join(extra, "\n"));
    all.push_back(std::move(entry));
  }
  out << all.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
}

// Escapes a label's value (OpenMetrics 1.0, "Escaping").
std::string LabelText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string LabelsOf(const record::RunFile& file, const record::Record& record) {
  std::string labels = fmt::format("benchmark=\"{}\"", LabelText(record.name));
  if (const auto* machine = record::MachineFor(file, record))
    labels += fmt::format(",fingerprint=\"{}\"", LabelText(machine->fingerprint));
  if (record.cache) labels += fmt::format(",cache=\"{}\"", LabelText(*record.cache));
  if (record.threads) labels += fmt::format(",threads=\"{}\"", *record.threads);
  return labels;
}

struct Family {
  const char* name;
  const char* unit;
  const char* help;
  std::optional<double> (*value)(const ExportedTime& time);
};

constexpr Family kFamilies[] = {
    {"dlroof_median_seconds", "seconds",
     "Median of the clean repetitions of one call; an estimate where dlroof_estimate_ratio is 1.",
     [](const ExportedTime& time) { return std::optional(time.median); }},
    {"dlroof_low_seconds", "seconds", "Lower end of the 95 percent interval of the median.",
     [](const ExportedTime& time) {
       return time.ci95 ? std::optional(time.ci95->first) : std::nullopt;
     }},
    {"dlroof_high_seconds", "seconds", "Upper end of the 95 percent interval of the median.",
     [](const ExportedTime& time) {
       return time.ci95 ? std::optional(time.ci95->second) : std::nullopt;
     }},
    {"dlroof_roof_ratio", "ratio", "Fraction of its binding roof that the benchmark reaches.",
     [](const ExportedTime& time) { return time.specified ? std::nullopt : time.fraction; }},
    {"dlroof_given_roof_ratio", "ratio",
     "Fraction of its binding roof, which is specified and not measured, that the benchmark "
     "reaches.",
     [](const ExportedTime& time) { return time.specified ? time.fraction : std::nullopt; }},
    {"dlroof_roof_at_most_ratio", "ratio",
     "Upper limit of the fraction of its binding roof, which is not validated, that the benchmark "
     "reaches.",
     [](const ExportedTime& time) { return time.fraction_at_most; }},
    {"dlroof_estimate_ratio", "ratio",
     "1 where too few repetitions were clean, so that the time is an estimate.",
     [](const ExportedTime& time) { return time.estimate ? std::optional(1.0) : std::nullopt; }}};

struct Sample {
  double moment = 0;  // [s] since 1970
  ExportedTime time;
};

// OpenMetrics 1.0 text. With several runs, samples get timestamps, so that old data can be
// imported. The format requires the samples of a metric to be consecutive and sorted by timestamp.
void WriteOpenMetrics(const std::vector<NamedRun>& runs, std::ostream& out, std::ostream&) {
  std::map<std::string, std::vector<Sample>> samples;
  for (const auto& run : runs)
    for (const auto& record : run.file.records)
      if (const auto time = TimeOf(run.file, record))
        samples[LabelsOf(run.file, record)].push_back({Moment(run.file).value_or(0), *time});
  for (const auto& family : kFamilies) {
    out << fmt::format("# TYPE {0} gauge\n# UNIT {0} {1}\n# HELP {0} {2}\n", family.name,
                       family.unit, family.help);
    for (const auto& [labels, all] : samples)
      for (std::size_t i = 0; i < all.size(); ++i) {
        // Of several runs in the same second only the last is written: timestamps must differ.
        if (i + 1 < all.size() && all[i + 1].moment == all[i].moment) continue;
        const auto value = family.value(all[i].time);
        if (!value) continue;
        out << fmt::format("{}{{{}}} {}", family.name, labels, *value);
        if (runs.size() > 1) out << fmt::format(" {:.0f}", all[i].moment);
        out << '\n';
      }
  }
  out << "# EOF\n";
}

}  // namespace

const std::vector<Exporter>& Exporters() {
  static const std::vector<Exporter> table = {
      {"bencher", "Bencher Metric Format, JSON", false, WriteBencher},
      {"csv", "one line per benchmark and run", true, WriteCsv},
      {"github-action", "github-action-benchmark's customSmallerIsBetter, JSON", false,
       WriteGithubAction},
      {"openmetrics", "OpenMetrics text, as Prometheus reads it", true, WriteOpenMetrics},
      {"run", "the run file, as dlroof_bench wrote it", false, WriteRunFile}};
  return table;
}

void Export(std::string_view format, std::vector<NamedRun> runs, std::ostream& out,
            std::ostream& warnings) {
  const auto& table = Exporters();
  const auto found = std::ranges::find(table, format, &Exporter::format);
  if (found == table.end())
    throw BadInput("--format={}: expected one of {}", format,
                   fmt::join(VectorOf<std::string_view>(table, &Exporter::format), ", "));
  if (runs.empty()) throw BadInput("export: no run to export");
  if (runs.size() > 1 && !found->several)
    throw BadInput("--format={} takes one run, but {} were given", format, runs.size());
  for (const auto& run : runs) compare::CheckNames(run);
  std::ranges::stable_sort(
      runs, [](const auto& a, const auto& b) { return Moment(a.file) < Moment(b.file); });
  if (runs.size() > 1 && !Moment(runs.front().file))
    throw BadInput(runs.front().where + ": has no date, so its order among the runs is unknown");
  found->write(runs, out, warnings);
}

}  // namespace dlroof::history
