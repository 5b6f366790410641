#include "reporters/terminal/energy_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

// Half the interval's width over the mean.
std::string EnergySpreadText(const Energy& energy) {
  if (!energy.ci95) return "";
  return fmt::format("{:.1f} %", 50 * (energy.ci95->second - energy.ci95->first) / energy.joules);
}

// "package-0 12.3 J, psys 15 J (beside)"
std::string DomainsText(const Energy& energy) {
  std::string text;
  const auto add = [&](const auto& domains, std::string_view mark) {
    for (const auto& [name, joules] : domains)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", Printable(name),
                          WithPrefix(joules, "J"), mark);
  };
  add(energy.domains, "");
  add(energy.beside, " (not added)");
  return text;
}

std::vector<std::string> EnergyRow(const Record& record, const Energy& energy) {
  const auto rate = FlopsPerJoule(record);
  const auto mark = MarkOf(HasOthersEnergy(energy));
  return {Printable(record.name),
          fmt::format("{}{}", mark, WithPrefix(energy.joules, "J")),
          EnergySpreadText(energy),
          rate ? fmt::format("{}{}", mark, WithPrefix(*rate, "FLOP/J")) : "",
          fmt::format("{}{}", mark, WithPrefix(energy.joules / energy.seconds, "W")),
          DomainsText(energy)};
}

}  // namespace

std::optional<double> FlopsPerJoule(const Record& record) {
  if (!record.energy) return std::nullopt;
  for (const Provenance from : AllProvenances())
    if (const auto work = record.work.find(from); work != record.work.end())
      if (const auto flops = TotalFlops(work->second); flops && *flops > 0)
        return *flops / record.energy->joules;
  return std::nullopt;
}

void WriteEnergy(const std::vector<Record>& records, int width, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {
      {"energy of a call", "energy", "±", "FLOP/J", "power", "by domain"}};
  std::set<std::string> sources;
  std::map<std::string, std::vector<const Record*>> missing;
  for (const auto& record : records) {
    if (record.energy) {
      rows.push_back(EnergyRow(record, *record.energy));
      sources.insert(fmt::format("{}: {}", record.energy->from, record.energy->covers));
    }
    for (const auto& note : record.counting)
      if (note.source == "energy") missing[note.text].push_back(&record);
  }
  if (rows.size() == 1 && missing.empty()) return;
  out << '\n';
  if (rows.size() > 1) WriteAligned(rows, width, out);
  const bool disturbed = std::ranges::any_of(records, [](const Record& record) {
    return record.energy && HasOthersEnergy(*record.energy);
  });
  if (disturbed) out << "  ~ other programs kept CPUs busy meanwhile, and their energy is in it\n";
  for (const auto& source : sources) out << "  by " << Printable(source) << '\n';
  for (const auto& [why, without] : missing) {
    out << "  energy of " << Printable(without.front()->name);
    if (without.size() > 1) out << " and " << without.size() - 1 << " more";
    out << ' ' << Printable(why) << '\n';
  }
}

}  // namespace dlroof
