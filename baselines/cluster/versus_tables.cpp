// The tables and notes of `cluster versus`, which all outputs share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "baselines/cluster/versus_models.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

std::string TimeText(const record::Timing& timing) {
  return fmt::format("{}{}", roofline::MarkOf(timing.noisy), text::WithPrefix(timing.median, "s"));
}

std::string ShareText(const VersusSide& side) {
  if (!side.share) return side.bound_by_overhead ? "overhead" : "no roof";
  const auto& [share, at_most] = *side.share;
  return fmt::format("{}{}{:.{}f}{}", roofline::AtMostMark(at_most),
                     roofline::MarkOf(side.timing.noisy), 100 * share, share < 0.0995 ? 2 : 1,
                     side.specified ? " (specified)" : "");
}

std::string IntervalText(const std::optional<std::pair<double, double>>& ci95) {
  return ci95 ? fmt::format("{} to {}", text::ThreeDigits(ci95->first),
                            text::ThreeDigits(ci95->second))
              : "";
}

std::string NodesText(const VersusRow& row) {
  return fmt::format("{}{}", roofline::MarkOf(row.noisy), text::ThreeDigits(row.nodes_of_a));
}

std::string CostText(const std::optional<double>& cost) {
  return cost ? text::ThreeDigits(*cost) : "";
}

std::string JoulesText(const Energies& energies, EnergyClass kind) {
  const auto found = energies.find(kind);
  if (found == energies.end()) return "";
  return fmt::format("{}{}", roofline::MarkOf(found->second.noisy),
                     text::WithPrefix(found->second.joules, "J"));
}

std::string RatioText(const std::map<EnergyClass, EnergyRatio>& ratios, EnergyClass kind) {
  const auto found = ratios.find(kind);
  if (found == ratios.end()) return "";
  return fmt::format("{}{}", roofline::MarkOf(found->second.noisy),
                     text::ThreeDigits(found->second.a_over_b));
}

// Returns the energy classes that occur in at least one row.
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

// Returns what a cluster's energies include: "powercap: packages and DRAM; no fans".
std::string CoversText(const VersusReport& report, const VersusCluster& cluster,
                       const VersusSide VersusRow::*side) {
  std::set<std::string> covers;
  for (const auto& row : report.versus.rows)
    if (const auto& energy = cluster.run.file.records[(row.*side).record].energy)
      covers.insert(fmt::format("{}: {}", energy->from, energy->covers));
  return covers.empty() ? "not measured" : fmt::format("{}", fmt::join(covers, " or "));
}

void AddEnergyNotes(const VersusReport& report, std::vector<std::string>& notes) {
  const auto classes = ClassesOf(report);
  if (std::ranges::count(classes, EnergyClass::kMeasured) > 0)
    notes.push_back(fmt::format("energy: of one call, by counters. A: {}. B: {}",
                                CoversText(report, *report.a, &VersusRow::a),
                                CoversText(report, *report.b, &VersusRow::b)));
  if (std::ranges::count(classes, EnergyClass::kAssumed) > 0)
    notes.emplace_back(
        "energy (assumed): the watts of a node under load in the file of prices, times the call's "
        "seconds; not measured, and never compared with a measurement");
}

bool HasCosts(const VersusReport& report) { return !report.versus.currency.empty(); }

bool HasSeveralDevices(const VersusReport& report) {
  return report.a->devices > 1 || report.b->devices > 1;
}

std::string DeviceText(const VersusCluster& cluster) {
  return fmt::format("{} {}{}", cluster.devices, cluster.devices == 1 ? "device" : "devices",
                     cluster.devices > 1     ? " (its rate is that many times one device's)"
                     : cluster.devices_known ? ""
                                             : " (number assumed)");
}

void AddPriceNotes(const VersusReport& report, std::vector<std::string>& notes) {
  const auto& versus = report.versus;
  if (versus.currency.empty()) {
    notes.emplace_back("no prices were specified (--prices): no costs");
    return;
  }
  notes.push_back(fmt::format("cost: {} for 1e15 FLOP of this operator. A: {}. B: {}",
                              versus.currency, versus.price_a, versus.price_b));
}

// Returns the positions of `some` in `kinds`, from 1.
std::string NumbersText(const std::vector<std::string>& some,
                        const std::vector<std::string>& kinds) {
  std::vector<std::ptrdiff_t> numbers;
  for (const auto& one : some)
    numbers.push_back(1 + std::distance(kinds.begin(), std::ranges::find(kinds, one)));
  std::ranges::sort(numbers);
  return fmt::format("{}", fmt::join(numbers, ","));
}

// Returns the number of rows that are bound by overhead on the cluster `side`.
std::size_t BoundByOverhead(const VersusReport& report, const VersusSide VersusRow::*side) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.versus.rows, [&](const VersusRow& row) { return (row.*side).bound_by_overhead; }));
}

void AddOverheadNotes(const VersusReport& report, std::vector<std::string>& notes) {
  for (const auto& [name, side] : {std::pair("A", &VersusRow::a), {"B", &VersusRow::b}})
    if (const auto count = BoundByOverhead(report, side))
      notes.push_back(fmt::format(
          "{} rows of {} are bound by overhead: their times are those of launching calls, and say "
          "little about the device",
          count, name));
}

std::string LibrariesText(const VersusReport& report, const VersusRow& row) {
  return fmt::format("{} | {}", report.a->run.file.records[row.a.record].library,
                     report.b->run.file.records[row.b.record].library);
}

// Returns the libraries of A and B if they are the same in every row.
std::optional<std::string> LibrariesOf(const VersusReport& report) {
  const auto& rows = report.versus.rows;
  if (rows.empty()) return std::nullopt;
  const auto first = LibrariesText(report, rows.front());
  const bool same = std::ranges::all_of(
      rows, [&](const VersusRow& row) { return LibrariesText(report, row) == first; });
  return same ? std::optional(first) : std::nullopt;
}

// Returns "A: queued calls (the device's own time)" for the records of a cluster's rows.
std::string TimesText(const VersusReport& report, const VersusCluster& cluster,
                      const VersusSide VersusRow::*side) {
  std::set<std::string> kinds;
  for (const auto& row : report.versus.rows) {
    const auto& record = cluster.run.file.records[(row.*side).record];
    const auto text = TimedText(record);
    kinds.insert(text.empty()             ? "calls back to back on the CPU"
                 : text == "queued calls" ? "queued calls by the GPU's clock"
                                          : text + " on the GPU");
  }
  return fmt::format("{}", fmt::join(kinds, " or "));
}

void AddTimesNotes(const VersusReport& report, std::vector<std::string>& notes) {
  notes.push_back(fmt::format(
      "times{}: A: {}. B: {}", report.versus.times == CallTime::kLatency ? " (latency)" : "",
      TimesText(report, *report.a, &VersusRow::a), TimesText(report, *report.b, &VersusRow::b)));
  for (const auto& [name, cluster] : {std::pair("A", report.a), {"B", report.b}})
    if (const auto& count = cluster->node_times)
      notes.push_back(fmt::format(
          "{}: each time is the median over nodes; {} of {} times of nodes are estimates", name,
          count->estimates, count->times));
  if (const auto libraries = LibrariesOf(report))
    notes.push_back(fmt::format("libraries (A | B): {}", *libraries));
}

}  // namespace

std::string MachinesText(const VersusCluster& cluster) {
  std::vector<std::string> texts;
  for (const auto& machine : cluster.run.file.machines) {
    auto text = machine.name;
    if (machine.device == "cpu" && !machine.by_threads.empty())
      text += fmt::format(" ({} threads)", machine.by_threads.rbegin()->first);
    const auto nodes = machine.facts.find("cluster.nodes");
    if (nodes != machine.facts.end())
      text += fmt::format(", median of {} node{}", nodes->second, nodes->second == "1" ? "" : "s");
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts.empty() ? "unknown machine" : fmt::format("{}", fmt::join(texts, " + "));
}

formats::Cells OperatorCells(const VersusReport& report) {
  const bool several = HasSeveralDevices(report), costs = HasCosts(report);
  std::vector<std::string> head = {"operator", "A", "B"};
  if (several) head.insert(head.end(), {"A calls/s node", "B calls/s node"});
  head.insert(head.end(),
              {"A % roof", "B % roof", "A bound", "B bound", "nodes of A for one of B", "95 %"});
  if (costs) head.insert(head.end(), {"A cost", "B cost"});
  AddEnergyHead(report, head);
  const bool libraries = !LibrariesOf(report);
  if (libraries) head.emplace_back("libraries");
  head.emplace_back("differs");
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
    if (libraries) line.push_back(LibrariesText(report, row));
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
                         ? fmt::format("{}{}", roofline::MarkOf(model.a->noisy || model.b->noisy),
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
      fmt::format("{} operators are on both sides; {} with a time are only on A's, {} only on B's",
                  versus.operators, versus.only_a, versus.only_b)};
  AddTimesNotes(report, notes);
  AddPriceNotes(report, notes);
  AddEnergyNotes(report, notes);
  AddOverheadNotes(report, notes);
  const bool specified = std::ranges::any_of(
      versus.rows, [](const VersusRow& row) { return row.a.specified || row.b.specified; });
  if (specified)
    notes.emplace_back("(specified): the roof is from a data sheet or a paper, not measured");
  const auto lacks_share = [](const VersusRow& row) { return !row.a.share || !row.b.share; };
  if (std::ranges::any_of(versus.rows, lacks_share))
    notes.emplace_back(
        "in place of a % of roof: overhead: the time is that of launching calls; no roof: the run "
        "has no FLOPs and bytes of the call, or no roof for its type");
  const bool noisy = std::ranges::any_of(versus.rows, &VersusRow::noisy);
  if (noisy) notes.emplace_back(roofline::kNoisyMeaning);
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
