#include "baselines/versus/versus_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof::cluster {
namespace {

std::string TimeText(const record::Timing& timing) {
  return fmt::format("{}{}", roofline::MarkOf(timing.disturbed), text::WithPrefix(timing.median, "s"));
}

std::string ShareText(const VersusSide& side) {
  if (!side.fraction) return "";
  return fmt::format("{}{:.{}f}{}", roofline::MarkOf(side.timing.disturbed), 100 * *side.fraction,
                     *side.fraction < 0.0995 ? 2 : 1, side.given ? " (given)" : "");
}

std::string IntervalText(const std::optional<std::pair<double, double>>& ci95) {
  return ci95 ? fmt::format("{} to {}", text::ThreeDigits(ci95->first), text::ThreeDigits(ci95->second)) : "";
}

std::string NodesText(const VersusRow& row) {
  return fmt::format("{}{}", roofline::MarkOf(row.disturbed), text::ThreeDigits(row.nodes_of_a));
}

std::string CostText(const std::optional<double>& cost) { return cost ? text::ThreeDigits(*cost) : ""; }

std::string JoulesText(const Energies& energies, EnergyClass kind) {
  const auto found = energies.find(kind);
  if (found == energies.end()) return "";
  return fmt::format("{}{}", roofline::MarkOf(found->second.disturbed),
                     text::WithPrefix(found->second.joules, "J"));
}

std::string RatioText(const std::map<EnergyClass, EnergyRatio>& ratios, EnergyClass kind) {
  const auto found = ratios.find(kind);
  if (found == ratios.end()) return "";
  return fmt::format("{}{}", roofline::MarkOf(found->second.disturbed), text::ThreeDigits(found->second.a_over_b));
}

// The classes of which a row or a model has an energy.
std::vector<EnergyClass> ClassesOf(const VersusReport& report) {
  std::vector<EnergyClass> classes;
  for (const auto kind : kEnergyClasses)
    if (std::ranges::any_of(report.versus.rows, [&](const VersusRow& row) {
          return row.a.energies.contains(kind) || row.b.energies.contains(kind);
        }))
      classes.push_back(kind);
  return classes;
}

void AddEnergyHead(const VersusReport& report, std::vector<std::string>& head) {
  for (const auto kind : ClassesOf(report)) {
    const auto mark = kind == EnergyClass::kMeasured ? "" : fmt::format(" ({})", Key(kind));
    head.insert(head.end(), {fmt::format("A energy{}", mark), fmt::format("B energy{}", mark),
                             fmt::format("A/B energy{}", mark)});
  }
}

void AddEnergyCells(const VersusReport& report, const Energies& a, const Energies& b,
                    const std::map<EnergyClass, EnergyRatio>& ratios,
                    std::vector<std::string>& line) {
  for (const auto kind : ClassesOf(report))
    line.insert(line.end(), {JoulesText(a, kind), JoulesText(b, kind), RatioText(ratios, kind)});
}

// "powercap: packages and DRAM; no fans": of the records of one side.
std::string CoversText(const VersusReport& report, const VersusCluster& cluster,
                       const VersusSide VersusRow::*side) {
  std::set<std::string> covers;
  for (const auto& row : report.versus.rows)
    if (const auto& energy = cluster.run.file.records[(row.*side).record].energy)
      covers.insert(fmt::format("{}: {}", energy->from, energy->covers));
  return covers.empty() ? "not measured" : fmt::format("{}", fmt::join(covers, " or "));
}

// "watts.csv": the logs of one side's meters.
std::string MetersText(const VersusReport& report, const VersusCluster& cluster,
                       const VersusSide VersusRow::*side) {
  std::set<std::string> logs;
  for (const auto& row : report.versus.rows)
    if (const auto& metered = cluster.run.file.records[(row.*side).record].metered)
      logs.insert(metered->from);
  return logs.empty() ? "not metered" : fmt::format("{}", fmt::join(logs, " or "));
}

void AddEnergyNotes(const VersusReport& report, std::vector<std::string>& notes) {
  const auto classes = ClassesOf(report);
  if (std::ranges::count(classes, EnergyClass::kMeasured) > 0)
    notes.push_back(fmt::format("energy: of one call, by counters. A: {}. B: {}",
                                CoversText(report, *report.a, &VersusRow::a),
                                CoversText(report, *report.b, &VersusRow::b)));
  if (std::ranges::count(classes, EnergyClass::kMetered) > 0)
    notes.push_back(fmt::format(
        "energy (metered): of one call, by node meters: all that a node draws there, idle parts "
        "too. Nothing says if both sides' meters cover the same (power supply, fans). A: {}. B: {}",
        MetersText(report, *report.a, &VersusRow::a),
        MetersText(report, *report.b, &VersusRow::b)));
  if (std::ranges::count(classes, EnergyClass::kAssumed) > 0)
    notes.emplace_back(
        "energy (assumed): the watts of a working node in the file of prices, times the call's "
        "seconds; no measurement, and never compared with one");
}

bool HasCosts(const VersusReport& report) { return !report.versus.currency.empty(); }

bool HasSeveralDevices(const VersusReport& report) {
  return report.a->devices > 1 || report.b->devices > 1;
}

std::string DeviceText(const VersusCluster& cluster) {
  return fmt::format("{} {}{}", cluster.devices, cluster.devices == 1 ? "device" : "devices",
                     cluster.devices > 1     ? " that count as that many times one"
                     : cluster.devices_known ? ""
                                             : " (nothing says how many it has)");
}

void AddPriceNotes(const VersusReport& report, std::vector<std::string>& notes) {
  const auto& versus = report.versus;
  if (versus.currency.empty()) {
    notes.emplace_back("no prices were given (--prices): no costs");
    return;
  }
  notes.push_back(fmt::format("cost: {} for 1e15 FLOP of this operator. A: {}. B: {}",
                              versus.currency, versus.price_a, versus.price_b));
}

// Returns the places of `some` in `kinds`, from 1.
std::string NumbersText(const std::vector<std::string>& some,
                        const std::vector<std::string>& kinds) {
  std::vector<std::ptrdiff_t> numbers;
  for (const auto& one : some)
    numbers.push_back(1 + std::distance(kinds.begin(), std::ranges::find(kinds, one)));
  std::ranges::sort(numbers);
  return fmt::format("{}", fmt::join(numbers, ","));
}

// Returns how many rows of a side take longer to start than to compute.
std::size_t BoundByOverhead(const VersusReport& report, const VersusSide VersusRow::*side) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.versus.rows, [&](const VersusRow& row) { return (row.*side).bound_by_overhead; }));
}

void AddOverheadNotes(const VersusReport& report, std::vector<std::string>& notes) {
  for (const auto& [name, side] : {std::pair("A", &VersusRow::a), {"B", &VersusRow::b}})
    if (const auto count = BoundByOverhead(report, side))
      notes.push_back(fmt::format(
          "{} rows of {} are bound by overhead: their times are those of starting calls, and say "
          "little about the device",
          count, name));
}

}  // namespace

std::string MachinesText(const VersusCluster& cluster) {
  std::vector<std::string> texts;
  for (const auto& machine : cluster.run.file.machines) {
    auto text = machine.name;
    if (machine.device == "cpu" && !machine.by_threads.empty())
      text += fmt::format(" ({} threads)", machine.by_threads.rbegin()->first);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts.empty() ? "machine not known" : fmt::format("{}", fmt::join(texts, " + "));
}

formats::Cells OperatorCells(const VersusReport& report) {
  const bool several = HasSeveralDevices(report), costs = HasCosts(report);
  std::vector<std::string> head = {"operator", "A", "B"};
  if (several) head.insert(head.end(), {"A calls/s node", "B calls/s node"});
  head.insert(head.end(),
              {"A % roof", "B % roof", "A bound", "B bound", "nodes of A for one of B", "95 %"});
  if (costs) head.insert(head.end(), {"A cost", "B cost"});
  AddEnergyHead(report, head);
  head.insert(head.end(), {"libraries", "differs"});
  const auto kinds = DifferenceKinds(report.versus);
  formats::Cells cells = {head};
  for (const auto& row : report.versus.rows) {
    std::vector<std::string> line = {row.key, TimeText(row.a.timing), TimeText(row.b.timing)};
    if (several)
      line.insert(line.end(), {text::ThreeDigits(row.a.node_calls_per_second),
                               text::ThreeDigits(row.b.node_calls_per_second)});
    line.insert(line.end(), {ShareText(row.a), ShareText(row.b), row.a.bound, row.b.bound,
                             NodesText(row), IntervalText(row.nodes_ci95)});
    if (costs) line.insert(line.end(), {CostText(row.a.cost), CostText(row.b.cost)});
    AddEnergyCells(report, row.a.energies, row.b.energies, row.energy_ratios, line);
    line.push_back(fmt::format("{} | {}", report.a->run.file.records[row.a.record].library,
                               report.b->run.file.records[row.b.record].library));
    line.push_back(NumbersText(row.differences, kinds));
    cells.push_back(std::move(line));
  }
  return cells;
}

formats::Cells ModelCells(const VersusReport& report) {
  std::vector<std::string> head = {
      "model", "pass", "type", "layers", "A", "B", "nodes of A for one of B", "95 %", "libraries"};
  AddEnergyHead(report, head);
  formats::Cells cells = {head};
  for (const auto& model : report.models) {
    const bool both = model.a && model.b;
    cells.push_back({model.model, model.pass, model.type,
                     fmt::format("{:.0f} of {:.0f}", model.in_both, model.layers),
                     both ? TimeText(*model.a) : "", both ? TimeText(*model.b) : "",
                     model.nodes_of_a
                         ? fmt::format("{}{}", roofline::MarkOf(model.a->disturbed || model.b->disturbed),
                                       text::ThreeDigits(*model.nodes_of_a))
                         : "",
                     IntervalText(model.nodes_ci95),
                     both ? fmt::format("{} | {}", model.library_a, model.library_b) : ""});
    AddEnergyCells(report, model.energies_a, model.energies_b, model.energy_ratios, cells.back());
  }
  return cells;
}

std::vector<std::string> VersusNotes(const VersusReport& report) {
  const auto& versus = report.versus;
  std::vector<std::string> notes = {
      fmt::format("A: {} ({}), a node has {}", MachinesText(*report.a), report.a->where,
                  DeviceText(*report.a)),
      fmt::format("B: {} ({}), a node has {}", MachinesText(*report.b), report.b->where,
                  DeviceText(*report.b)),
      fmt::format("{} operators are on both sides; {} with a time are on A's alone, {} on B's",
                  versus.operators, versus.only_a, versus.only_b)};
  AddPriceNotes(report, notes);
  AddEnergyNotes(report, notes);
  AddOverheadNotes(report, notes);
  const bool given = std::ranges::any_of(
      versus.rows, [](const VersusRow& row) { return row.a.given || row.b.given; });
  if (given) notes.emplace_back("(given): the roof is of a data sheet or a paper, not measured");
  const bool disturbed = std::ranges::any_of(versus.rows, &VersusRow::disturbed);
  if (disturbed) notes.emplace_back(roofline::kDisturbedMeaning);
  const bool absent =
      std::ranges::any_of(versus.rows, [](const VersusRow& row) { return !row.nodes_ci95; });
  if (absent)
    notes.emplace_back("without 95 %: one of the two times has no interval (too few repetitions)");
  for (const auto& model : report.models)
    if (!model.missing.empty())
      notes.push_back(fmt::format("{} {}: {} problem{} of the model not on both sides, such as {}",
                                  model.model, model.pass, model.missing.size(),
                                  model.missing.size() == 1 ? "" : "s", model.missing.front()));
  return notes;
}

std::vector<std::string> DifferenceKinds(const Versus& versus) {
  std::vector<std::string> kinds;
  for (const auto& row : versus.rows)
    for (const auto& difference : row.differences)
      if (std::ranges::find(kinds, difference) == kinds.end()) kinds.push_back(difference);
  return kinds;
}

}  // namespace dlroof::cluster
