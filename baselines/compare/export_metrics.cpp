#include <fmt/format.h>

#include <map>
#include <ostream>

#include "baselines/compare/compare_stored.h"
#include "baselines/compare/export.h"
#include "reporters/record/run_file.h"

namespace dlroof::compare {
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

}  // namespace dlroof::compare
