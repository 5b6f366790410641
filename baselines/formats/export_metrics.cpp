#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_map>

#include "baselines/compare/compare_stored.h"
#include "baselines/formats/export.h"
#include "reporters/record/run_file.h"

namespace dlroof::formats {
namespace {

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

std::optional<double> MedianSeconds(const ExportedTime& time) { return time.median; }
std::optional<double> LowSeconds(const ExportedTime& time) {
  return time.ci95 ? std::optional(time.ci95->first) : std::nullopt;
}
std::optional<double> HighSeconds(const ExportedTime& time) {
  return time.ci95 ? std::optional(time.ci95->second) : std::nullopt;
}
std::optional<double> FractionOfRoof(const ExportedTime& time) {
  return time.specified ? std::nullopt : time.fraction;
}
std::optional<double> FractionOfSpecifiedRoof(const ExportedTime& time) {
  return time.specified ? time.fraction : std::nullopt;
}

std::optional<double> FractionOfRoofAtMost(const ExportedTime& time) {
  return time.fraction_at_most;
}

std::optional<double> IsEstimate(const ExportedTime& time) {
  return time.estimate ? std::optional(1.0) : std::nullopt;
}

constexpr Family kFamilies[] = {
    {"dlroof_median_seconds", "seconds",
     "Median of the clean repetitions of one call; an estimate where dlroof_estimate_ratio is 1.",
     MedianSeconds},
    {"dlroof_low_seconds", "seconds", "Lower end of the 95 percent interval of the median.",
     LowSeconds},
    {"dlroof_high_seconds", "seconds", "Upper end of the 95 percent interval of the median.",
     HighSeconds},
    {"dlroof_roof_ratio", "ratio", "Fraction of its binding roof that the benchmark reaches.",
     FractionOfRoof},
    {"dlroof_given_roof_ratio", "ratio",
     "Fraction of its binding roof, which is specified and not measured, that the benchmark "
     "reaches.",
     FractionOfSpecifiedRoof},
    {"dlroof_roof_at_most_ratio", "ratio",
     "Upper limit of the fraction of its binding roof, which is not validated, that the benchmark "
     "reaches.",
     FractionOfRoofAtMost},
    {"dlroof_estimate_ratio", "ratio",
     "1 where too few repetitions were clean, so that the time is an estimate.", IsEstimate}};

struct Sample {
  double moment = 0;  // [s] since 1970
  ExportedTime time;
};
using Seconds = std::unordered_map<std::string_view, record::Timing>;

std::vector<Seconds> SecondsOf(const std::vector<compare::NamedRun>& runs) {
  std::vector<Seconds> all;
  for (const auto& run : runs) {
    auto& seconds = all.emplace_back();
    for (const auto& record : run.file.records)
      if (record.status == record::Status::kOk)
        if (const auto timing = record::TimeOf(record.repetitions)) seconds[record.name] = *timing;
  }
  return all;
}

// Returns the benchmarks that all runs timed, since Otava cannot read a line with an empty field.
std::vector<std::string_view> NamesInAll(const std::vector<compare::NamedRun>& runs,
                                         const std::vector<Seconds>& seconds,
                                         std::ostream& warnings) {
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, std::size_t> count;
  for (const auto& one : seconds)
    for (const auto& [name, timing] : one) ++count[name];
  for (const auto& record : runs.back().file.records)
    if (const auto found = count.find(record.name);
        found != count.end() && found->second == runs.size())
      names.push_back(record.name);
  if (names.size() < count.size())
    warnings << fmt::format("left out: {} of {} benchmarks, which some run did not time\n",
                            count.size() - names.size(), count.size());
  return names;
}

// Returns the names of the times that are estimates: "all", "none", or a list.
std::string EstimatesText(const std::vector<std::string_view>& names, const Seconds& seconds) {
  std::vector<std::string_view> marked;
  for (const auto name : names)
    if (seconds.at(name).noisy) marked.push_back(name);
  if (marked.empty()) return "none";
  return marked.size() == names.size() ? "all" : fmt::format("{}", fmt::join(marked, " "));
}

// Returns the text as a YAML string: a JSON string, except that JSON escapes characters beyond 16
// bits as surrogate pairs.
std::string Quoted(std::string_view text) {
  const auto escaped =
      nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string yaml;
  const auto unit = [&](std::size_t at) {
    return std::stoul(escaped.substr(at + 2, 4), nullptr, 16);
  };
  for (std::size_t at = 0; at < escaped.size(); ++at) {
    const bool escape = escaped[at] == '\\';
    if (escape && escaped[at + 1] == 'u' && unit(at) >= 0xD800 && unit(at) < 0xDC00) {
      yaml +=
          fmt::format("\\U{:08X}", 0x10000 + ((unit(at) - 0xD800) << 10) + unit(at + 6) - 0xDC00);
      at += 11;
      continue;
    }
    yaml += escaped[at];
    if (escape) yaml += escaped[++at];
  }
  return yaml;
}

// Replaces line breaks, which Otava's report cannot show.
std::string OneLine(std::string_view name) {
  std::string line(name);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return line;
}

}  // namespace

// OpenMetrics requires that all samples of a metric are consecutive, by rising timestamps.
void WriteOpenMetrics(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                      std::ostream&) {
  std::map<std::string, std::vector<Sample>> samples;
  for (const auto& run : runs)
    for (const auto& record : run.file.records)
      if (const auto time = TimeOf(run.file, record))
        samples[LabelsOf(run.file, record)].push_back(
            {compare::Moment(run.file).value_or(0), *time});
  for (const auto& family : kFamilies) {
    out << fmt::format("# TYPE {0} gauge\n# UNIT {0} {1}\n# HELP {0} {2}\n", family.name,
                       family.unit, family.help);
    for (const auto& [labels, all] : samples)
      for (std::size_t i = 0; i < all.size(); ++i) {
        // Of two runs in the same second only the later one is written.
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

void WriteOtava(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                std::ostream& warnings) {
  const auto seconds = SecondsOf(runs);
  const auto names = NamesInAll(runs, seconds, warnings);
  out << "time,commit,estimates";
  for (const auto name : names) out << ',' << CsvText(name);
  out << '\n';
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& context = runs[i].file.context;
    out << CsvText(record::Text(context, "date")) << ','
        << CsvText(record::Text(record::Member(context, "dlroof"), "commit")) << ','
        << CsvText(EstimatesText(names, seconds[i]));
    for (const auto name : names) out << fmt::format(",{}", seconds[i].at(name).median);
    out << '\n';
  }
}

void WriteOtavaConfig(const std::vector<compare::NamedRun>& runs, std::ostream& out,
                      std::ostream& warnings) {
  out << "tests:\n  dlroof:\n    type: csv\n    file: otava.csv\n    time_column: time\n"
         "    attributes: [commit, estimates]\n    metrics:\n";
  for (const auto name : NamesInAll(runs, SecondsOf(runs), warnings))
    out << fmt::format("      {}: {{column: {}, direction: -1, scale: 1}}\n", Quoted(OneLine(name)),
                       Quoted(name));
}

}  // namespace dlroof::formats
