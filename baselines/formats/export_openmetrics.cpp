#include <fmt/format.h>

#include <map>
#include <ostream>

#include "baselines/compare/stored_run.h"
#include "baselines/formats/export.h"

namespace dlroof::formats {
namespace {

// Inside a label's quotes (OpenMetrics 1.0, "Escaping").
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
  if (!record.cache.empty()) labels += fmt::format(",cache=\"{}\"", LabelText(record.cache));
  if (record.threads > 0) labels += fmt::format(",threads=\"{}\"", record.threads);
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
  return time.given ? std::nullopt : time.fraction;
}
std::optional<double> FractionOfGivenRoof(const ExportedTime& time) {
  return time.given ? time.fraction : std::nullopt;
}

constexpr Family kFamilies[] = {
    {"dlroof_median_seconds", "seconds", "Median of the undisturbed repetitions of one call.",
     MedianSeconds},
    {"dlroof_low_seconds", "seconds", "Lower end of the 95 percent interval of the median.",
     LowSeconds},
    {"dlroof_high_seconds", "seconds", "Upper end of the 95 percent interval of the median.",
     HighSeconds},
    {"dlroof_roof_ratio", "ratio", "Part of its binding roof that the benchmark reaches.",
     FractionOfRoof},
    {"dlroof_given_roof_ratio", "ratio",
     "Part of its binding roof, which is given and not measured, that the benchmark reaches.",
     FractionOfGivenRoof}};

struct Sample {
  double moment = 0;  // [s]
  ExportedTime time;
};

}  // namespace

// All samples of one metric stand together, with rising timestamps.
void WriteOpenMetrics(const std::vector<compare::NamedRun>& runs, std::ostream& out, std::ostream&) {
  std::map<std::string, std::vector<Sample>> samples;
  for (const auto& run : runs)
    for (const auto& record : run.file.records)
      if (const auto time = TimeOf(run.file, record))
        samples[LabelsOf(run.file, record)].push_back({compare::Moment(run.file), *time});
  for (const auto& family : kFamilies) {
    out << fmt::format("# TYPE {0} gauge\n# UNIT {0} {1}\n# HELP {0} {2}\n", family.name,
                       family.unit, family.help);
    for (const auto& [labels, all] : samples)
      for (std::size_t i = 0; i < all.size(); ++i) {
        // Two runs of one second: the later one counts.
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

}  // namespace dlroof::formats
