#include <fmt/format.h>

#include <ostream>
#include <tuple>

#include "baselines/formats/export.h"
#include "reporters/record/context.h"

namespace dlroof {
namespace {

std::string NumberField(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

// Joules of a call, their interval, and the source.
std::string EnergyFields(const Record& record) {
  const auto& energy = record.energy;
  if (!energy) return ",,,";
  std::optional<double> low, high;
  if (energy->ci95) std::tie(low, high) = *energy->ci95;
  return fmt::format("{},{},{},{}", energy->joules, NumberField(low), NumberField(high),
                     CsvText(energy->from));
}

int CleanOf(const Record& record) {
  int clean = 0;
  for (const auto& repetition : record.repetitions) clean += repetition.disturbed ? 0 : 1;
  return clean;
}

}  // namespace

void WriteCsvHeader(std::ostream& out) {
  out << "name,date,commit,machine,fingerprint,threads,cache,status,reason,algorithm,seconds,"
         "ci95_low,ci95_high,clean,repetitions,fraction_of_roof,roof,"
         "joules,joules_low,joules_high,energy_from\n";
}

void WriteCsvLines(const NamedRun& run, std::ostream& out) {
  const auto date = CsvText(Text(run.file.context, "date"));
  const auto commit = CsvText(Text(Member(run.file.context, "dlroof"), "commit"));
  for (const auto& record : run.file.records) {
    const auto* machine = MachineFor(run.file, record);
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
        Key(record.status), CsvText(record.reason), CsvText(AlgorithmText(record)),
        NumberField(seconds), NumberField(low), NumberField(high), CleanOf(record),
        record.repetitions.size(), NumberField(fraction),
        !fraction     ? ""
        : time->given ? "given"
                      : "proved",
        EnergyFields(record));
  }
}

void WriteCsv(const std::vector<NamedRun>& runs, std::ostream& out, std::ostream&) {
  WriteCsvHeader(out);
  for (const auto& run : runs) WriteCsvLines(run, out);
}

}  // namespace dlroof
