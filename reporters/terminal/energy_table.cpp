#include "reporters/terminal/energy_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

// Half the interval's width over the mean.
std::string EnergySpreadText(const std::optional<std::pair<double, double>>& ci95, double joules) {
  if (!ci95) return "";
  return fmt::format("{:.1f} %", 50 * (ci95->second - ci95->first) / joules);
}

// [flop] of one call by the most trusted count; absent where none is known.
std::optional<double> FlopsOfCall(const Record& record) {
  for (const Provenance from : AllProvenances())
    if (const auto work = record.work.find(from); work != record.work.end())
      if (const auto flops = TotalFlops(work->second); flops && *flops > 0) return flops;
  return std::nullopt;
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
          EnergySpreadText(energy.ci95, energy.joules),
          rate ? fmt::format("{}{}", mark, WithPrefix(*rate, "FLOP/J")) : "",
          fmt::format("{}{}", mark, WithPrefix(energy.joules / energy.seconds, "W")),
          DomainsText(energy)};
}

// Writes a row for each record with energy by counters, and what the joules are of.
void WriteCounted(const std::vector<Record>& records, int width, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {
      {"energy of a call", "energy", "±", "FLOP/J", "power", "by domain"}};
  std::set<std::string> sources;
  for (const auto& record : records) {
    if (!record.energy) continue;
    rows.push_back(EnergyRow(record, *record.energy));
    sources.insert(fmt::format("{}: {}", record.energy->from, record.energy->covers));
  }
  if (rows.size() == 1) return;
  WriteAligned(rows, width, out);
  const bool disturbed = std::ranges::any_of(records, [](const Record& record) {
    return record.energy && HasOthersEnergy(*record.energy);
  });
  if (disturbed) out << "  ~ other programs kept CPUs busy meanwhile, and their energy is in it\n";
  for (const auto& source : sources) out << "  by " << Printable(source) << '\n';
}

// The same by meters of nodes.
void WriteMetered(const std::vector<Record>& records, int width, std::ostream& out) {
  std::vector<std::vector<std::string>> rows = {
      {"metered energy of a call", "energy", "±", "FLOP/J", "power", "nodes"}};
  std::set<std::string> sources;
  for (const auto& record : records) {
    if (!record.metered) continue;
    const auto& metered = *record.metered;
    const auto flops = FlopsOfCall(record);
    rows.push_back({Printable(record.name), WithPrefix(metered.joules, "J"),
                    EnergySpreadText(metered.ci95, metered.joules),
                    flops ? WithPrefix(*flops / metered.joules, "FLOP/J") : "",
                    WithPrefix(metered.joules / metered.seconds, "W"),
                    fmt::format("{:g}", metered.nodes)});
    sources.insert(fmt::format("node meter {}: {}", metered.from, metered.covers));
  }
  if (rows.size() == 1) return;
  WriteAligned(rows, width, out);
  for (const auto& source : sources) out << "  by " << Printable(source) << '\n';
}

// Says how many calls have a window.
void WriteWindows(const std::vector<Record>& records, std::ostream& out) {
  if (const auto count = std::ranges::count_if(
          records, [](const Record& record) { return record.metered_window.has_value(); }))
    out << fmt::format(
        "  windows for a node's meter: {}; a log of its watts tells their energy (dlroof cluster "
        "gather --meter)\n",
        count);
}

}  // namespace

std::optional<double> FlopsPerJoule(const Record& record) {
  const auto flops = FlopsOfCall(record);
  if (!record.energy || !flops) return std::nullopt;
  return *flops / record.energy->joules;
}

void WriteEnergy(const std::vector<Record>& records, int width, std::ostream& out) {
  std::map<std::string, std::vector<const Record*>> missing;
  for (const auto& record : records)
    for (const auto& note : record.counting)
      if (note.source == "energy") missing[note.text].push_back(&record);
  const bool any = std::ranges::any_of(records, [](const Record& record) {
    return record.energy || record.metered || record.metered_window;
  });
  if (!any && missing.empty()) return;
  out << '\n';
  WriteCounted(records, width, out);
  WriteMetered(records, width, out);
  WriteWindows(records, out);
  for (const auto& [why, without] : missing) {
    out << "  energy of " << Printable(without.front()->name);
    if (without.size() > 1) out << " and " << without.size() - 1 << " more";
    out << ' ' << Printable(why) << '\n';
  }
}

}  // namespace dlroof
