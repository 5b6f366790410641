// The document and JSON of `cluster versus`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/versus.h"
#include "counters/base/keys.h"
#include "reporters/document/document.h"
#include "reporters/record/record.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {

using document::Table, text::ThreeDigits;

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

namespace {

// The distinct VersusRow::differences, in the rows' order, by whether all rows or only some rows
// have them. The last cell of an operator's row numbers its differences by position in of_some.
struct DifferenceKinds {
  std::vector<std::string> of_all, of_some;
};

DifferenceKinds DifferenceKindsOf(const Versus& versus) {
  DifferenceKinds kinds;
  for (const auto& row : versus.rows)
    for (const auto& difference : row.differences) {
      const bool all = std::ranges::all_of(versus.rows, [&](const VersusRow& other) {
        return std::ranges::count(other.differences, difference) > 0;
      });
      auto& some = all ? kinds.of_all : kinds.of_some;
      if (std::ranges::find(some, difference) == some.end()) some.push_back(difference);
    }
  return kinds;
}

// Returns e.g. "~1.23 ms", or for a ratio (unit "") "~1.23"; "~" marks an estimate.
std::string QuantityText(const Quantity& quantity, const char* unit) {
  const std::string number =
      *unit == '\0' ? ThreeDigits(quantity.value) : text::WithPrefix(quantity.value, unit);
  return fmt::format("{}{}", roofline::MarkOf(quantity.noisy), number);
}

std::string ShareText(const VersusSide& side) {
  if (!side.share) return side.bound_by_overhead ? "overhead" : "no roof";
  const auto& [share, at_most] = *side.share;
  return fmt::format("{}{}{}{}{}", roofline::AtMostMark(at_most),
                     roofline::MarkOf(side.seconds.noisy), ThreeDigits(100 * share),
                     side.fallback ? "!" : "", side.specified ? " (specified)" : "");
}

std::string IntervalText(const std::optional<std::pair<double, double>>& ci95) {
  return ci95 ? fmt::format("{} to {}", ThreeDigits(ci95->first), ThreeDigits(ci95->second)) : "";
}

std::string CostText(const std::optional<double>& cost) { return cost ? ThreeDigits(*cost) : ""; }

std::string QuantityText(const std::optional<Quantity>& quantity, const char* unit) {
  return quantity ? QuantityText(*quantity, unit) : "";
}

bool HasEnergies(const VersusReport& report) {
  return std::ranges::any_of(report.versus.rows,
                             [](const VersusRow& row) { return row.a.energy || row.b.energy; });
}

void AddEnergyHead(const VersusReport& report, std::vector<std::string>& head) {
  if (HasEnergies(report)) head.insert(head.end(), {"A energy", "B energy", "A/B energy"});
}

void AddEnergyCells(const VersusReport& report, const std::optional<Quantity>& a,
                    const std::optional<Quantity>& b, const std::optional<Quantity>& ratio,
                    Table::Row& line) {
  if (HasEnergies(report))
    line.insert(line.end(), {QuantityText(a, "J"), QuantityText(b, "J"), QuantityText(ratio, "")});
}

// Returns the distinct results of `text` for the rows' records of A or of B, e.g. "x or y".
template <class Text>
std::string EachOnce(const VersusReport& report, bool of_a, const Text& text) {
  std::set<std::string> texts;
  for (const auto& row : report.versus.rows)
    if (auto said = of_a ? text(report.a->run.file.records[row.a.record])
                         : text(report.b->run.file.records[row.b.record]);
        !said.empty())
      texts.insert(std::move(said));
  return fmt::format("{}", fmt::join(texts, " or "));
}

// Returns what a side's energies cover, e.g. "powercap: packages and DRAM; no fans".
std::string CoversText(const VersusReport& report, bool of_a) {
  const auto covers = EachOnce(report, of_a, [](const record::Record& record) {
    return record.energy ? fmt::format("{}: {}", record.energy->from, record.energy->covers) : "";
  });
  return covers.empty() ? "not measured" : covers;
}

void AddEnergyNotes(const VersusReport& report, std::vector<std::string>& notes) {
  if (HasEnergies(report))
    notes.push_back(fmt::format("energy: of one call, by counters. A: {}. B: {}",
                                CoversText(report, true), CoversText(report, false)));
}

bool HasCosts(const VersusReport& report) { return !report.versus.currency.empty(); }

std::string DeviceText(const VersusCluster& cluster) {
  return fmt::format("{} {}{}", cluster.devices, cluster.devices == 1 ? "device" : "devices",
                     cluster.devices > 1     ? " (its rate is that many times one device's)"
                     : cluster.devices_known ? ""
                                             : " (number assumed; --devices says how many)");
}

void AddPriceNotes(const VersusReport& report, std::vector<std::string>& notes) {
  const auto& versus = report.versus;
  if (versus.currency.empty()) {
    notes.emplace_back("no prices were specified (--prices): no costs");
    return;
  }
  notes.push_back(fmt::format("cost: {} for 1e15 FLOP of this operator. A: {}. B: {}",
                              versus.currency, versus.price_a, versus.price_b));
  if (versus.price_ratio)
    notes.push_back(fmt::format(
        "a node of B costs as much as {} of A{}: B pays off above these nodes of A for one of B",
        ThreeDigits(*versus.price_ratio),
        versus.watts_ratio
            ? fmt::format(", and draws as much power as {}", ThreeDigits(*versus.watts_ratio))
            : ""));
}

// Returns the positions (from 1) of `some` in `kinds`, e.g. "1,3".
std::string NumbersText(const std::vector<std::string>& some,
                        const std::vector<std::string>& kinds) {
  std::vector<std::ptrdiff_t> numbers;
  for (const auto& kind : some)
    if (const auto found = std::ranges::find(kinds, kind); found != kinds.end())
      numbers.push_back(1 + std::distance(kinds.begin(), found));
  std::ranges::sort(numbers);
  return fmt::format("{}", fmt::join(numbers, ","));
}

void AddOverheadNotes(const VersusReport& report, std::vector<std::string>& notes) {
  for (const auto& [name, cluster, side] :
       {std::tuple("A", report.a, &VersusRow::a), {"B", report.b, &VersusRow::b}}) {
    std::size_t count = 0;
    std::set<std::string_view> kinds;
    for (const auto& row : report.versus.rows) {
      if (!(row.*side).bound_by_overhead) continue;
      ++count;
      const auto& record = cluster->run.file.records[(row.*side).record];
      kinds.insert(record.timed == record::timed::kGraph ? "gaps between kernels"
                                                         : "starting calls and kernels");
    }
    if (count > 0)
      notes.push_back(fmt::format(
          "{} row{} of {} bound by overhead ({}): more work per call, such as a larger batch, "
          "changes the ratio",
          count, count == 1 ? "" : "s", name, fmt::join(kinds, ", ")));
  }
}

void AddFallbackNotes(const VersusReport& report, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const auto& row : report.versus.rows)
    if (row.a.fallback || row.b.fallback) names.push_back(row.key);
  if (names.empty()) return;
  notes.push_back(fmt::format(
      "!: below {:g} % of its roof: a fallback of the library, in place of which a framework would "
      "pad, or take another type; {} such rows are in no total: {}",
      100 * kFallbackShare, names.size(), Named(names)));
}

std::string TimesText(const record::Record& record) {
  const auto text = TimedText(record);
  if (text.empty()) return "calls back to back on the CPU";
  return text == "queued calls" ? "queued calls by the GPU's clock" : text + " on the GPU";
}

// Adds a note on each f32 total whose operator also has a tf32 total. The two totals are of
// different problems: the GPU's file has the problems of the f32 total in f32 only.
void AddTf32Notes(const VersusReport& report, std::vector<std::string>& notes) {
  std::set<std::string> totals;
  for (const auto& total : report.versus.totals) totals.insert(total.of);
  for (const auto& total : totals)
    if (total.ends_with(" f32") &&
        (totals.contains(total + "|tf32") ||
         totals.contains(total.substr(0, total.size() - 3) + "tf32|f32")))
      notes.push_back(fmt::format(
          "{}: the GPU has no tf32 time of these problems, although frameworks use tf32: do not "
          "compare this total with that of tf32",
          total));
}

void AddTimesNotes(const VersusReport& report, std::vector<std::string>& notes) {
  notes.push_back(fmt::format(
      "times{}: A: {}. B: {}", report.versus.times == CallTime::kLatency ? " (latency)" : "",
      EachOnce(report, true, TimesText), EachOnce(report, false, TimesText)));
  for (const auto& [name, cluster] : {std::pair("A", report.a), {"B", report.b}})
    if (const auto& count = cluster->node_times)
      notes.push_back(fmt::format(
          "{}: each time is the median over nodes; {} of {} times of nodes are estimates", name,
          count->estimates, count->times));
}

Table OperatorTable(const VersusReport& report) {
  const bool several = report.a->devices > 1 || report.b->devices > 1, costs = HasCosts(report);
  std::vector<std::string> head = {"operator", "A", "B"};
  if (several) head.insert(head.end(), {"A calls/s node", "B calls/s node"});
  head.insert(head.end(),
              {"A % roof", "B % roof", "A bound", "B bound", "nodes of A for one of B", "95 %"});
  if (costs) head.insert(head.end(), {"A cost", "B cost"});
  AddEnergyHead(report, head);
  head.emplace_back("differs");
  const auto kinds = DifferenceKindsOf(report.versus).of_some;
  Table table{.title = "Operators", .columns = std::move(head)};
  for (const auto& row : report.versus.rows) {
    Table::Row line = {row.key, QuantityText(row.a.seconds, "s"), QuantityText(row.b.seconds, "s")};
    if (several)
      line.insert(line.end(), {ThreeDigits(row.a.node_calls_per_second),
                               ThreeDigits(row.b.node_calls_per_second)});
    line.insert(line.end(), {ShareText(row.a), ShareText(row.b), row.a.bound, row.b.bound,
                             QuantityText(row.nodes_of_a, ""), IntervalText(row.nodes_of_a.ci95)});
    if (costs) line.insert(line.end(), {CostText(row.a.cost), CostText(row.b.cost)});
    AddEnergyCells(report, row.a.energy, row.b.energy, row.energy_ratio, line);
    line.emplace_back(NumbersText(row.differences, kinds));
    table.rows.push_back(std::move(line));
  }
  return table;
}

// Adds the cells of A, B, the nodes of A for one of B with their interval, and the cost.
void AddSums(const VersusReport& report, const VersusSums& sums, Table::Row& line) {
  line.insert(line.end(), {QuantityText(sums.a, "s"), QuantityText(sums.b, "s"),
                           QuantityText(sums.nodes_of_a, ""),
                           IntervalText(sums.nodes_of_a ? sums.nodes_of_a->ci95 : std::nullopt)});
  if (HasCosts(report)) line.emplace_back(CostText(sums.cost_ratio));
}

Table TotalTable(const VersusReport& report) {
  Table table{.title = "Totals",
              .columns = {"all rows of", "number", "A", "B", "nodes of A for one of B", "95 %"}};
  if (HasCosts(report)) table.columns.emplace_back("A/B cost");
  for (const auto& total : report.versus.totals) {
    table.rows.push_back({total.of, fmt::format("{:.0f}", total.operators)});
    AddSums(report, total, table.rows.back());
  }
  return table;
}

Table ModelTable(const VersusReport& report) {
  std::vector<std::string> head = {
      "model", "pass", "type", "layers", "A", "B", "nodes of A for one of B", "95 %"};
  if (HasCosts(report)) head.emplace_back("A/B cost");
  AddEnergyHead(report, head);
  Table table{.title = "Models", .columns = std::move(head)};
  for (const auto& model : report.models) {
    auto& line = table.rows.emplace_back(
        Table::Row{model.model, model.pass, model.type,
                   fmt::format("{:.0f} of {:.0f}", model.in_both, model.layers)});
    AddSums(report, model, line);
    AddEnergyCells(report, model.energy_a, model.energy_b, model.energy_ratio, line);
  }
  return table;
}

std::size_t Number(const std::map<std::string, std::size_t>& by_type) {
  std::size_t sum = 0;
  for (const auto& [type, count] : by_type) sum += count;
  return sum;
}

// Returns e.g. "67 on A only (38 bf16, 29 int8)".
std::string OnlyText(const std::map<std::string, std::size_t>& by_type, const char* name) {
  const auto types = VectorOf<std::string>(
      by_type, [](const auto& row) { return fmt::format("{} {}", row.second, row.first); });
  return fmt::format("{} on {} only{}", Number(by_type), name,
                     types.empty() ? "" : fmt::format(" ({})", fmt::join(types, ", ")));
}

std::vector<std::string> VersusNotes(const VersusReport& report) {
  const auto& versus = report.versus;
  std::vector<std::string> notes = {
      fmt::format("A: {} ({}), a node has {}", MachinesText(*report.a), report.a->where,
                  DeviceText(*report.a)),
      fmt::format("B: {} ({}), a node has {}", MachinesText(*report.b), report.b->where,
                  DeviceText(*report.b)),
      fmt::format("{} operators have a time on both clusters; {}, {}", versus.rows.size(),
                  OnlyText(versus.only_a, "A"), OnlyText(versus.only_b, "B"))};
  if (const auto all = DifferenceKindsOf(versus).of_all; !all.empty())
    notes.push_back(fmt::format("in every row (A | B): {}", fmt::join(all, "; ")));
  AddTimesNotes(report, notes);
  AddFallbackNotes(report, notes);
  AddTf32Notes(report, notes);
  AddPriceNotes(report, notes);
  AddEnergyNotes(report, notes);
  AddOverheadNotes(report, notes);
  const auto any = [&](bool (*of_row)(const VersusRow&)) {
    return std::ranges::any_of(versus.rows, of_row);
  };
  if (any([](const auto& row) { return row.a.specified || row.b.specified; }))
    notes.emplace_back("(specified): the roof is from a data sheet or a paper, not measured");
  if (any([](const auto& row) { return !row.a.share || !row.b.share; }))
    notes.emplace_back(
        "in place of a % of roof: overhead: most of the time is between kernels or calls; no roof: "
        "the run has no FLOPs and bytes of the call, or no roof for its type");
  if (any([](const auto& row) { return row.nodes_of_a.noisy; }))
    notes.emplace_back(record::kEstimateMeaning);
  notes.emplace_back(
      "95 %: by the scatter within these runs; other processes and hours can differ by more (give "
      "several runs of a side, separated by commas: the faster time counts)");
  if (any([](const auto& row) { return !row.nodes_of_a.ci95; }))
    notes.emplace_back("without 95 %: one of the two times has no interval (too few repetitions)");
  std::set<std::string> incomplete;
  for (const auto& model : report.models)
    if (model.in_both == 0 && incomplete.insert(model.model).second)
      notes.push_back(fmt::format(
          "{0}: no layer is on both sides; measure it on each: dlroof_bench --dlroof_suite={0}",
          model.model));
    else if (!model.missing.empty() && incomplete.insert(model.model).second)
      notes.push_back(fmt::format(
          "{}: layers are left out that are not on both sides, or a fallback (!) there, such as {}",
          model.model, model.missing.front()));
  return notes;
}

// Returns an object with `name`: the value, "ci95" if known, and "disturbed" if noisy.
nlohmann::json QuantityJson(const Quantity& quantity, const char* name) {
  nlohmann::json object = {{name, quantity.value}};
  if (quantity.ci95) object["ci95"] = {quantity.ci95->first, quantity.ci95->second};
  if (quantity.noisy) object["disturbed"] = true;
  return object;
}

// Returns {"measured": QuantityJson}.
nlohmann::json MeasuredJson(const Quantity& quantity, const char* name) {
  return {{"measured", QuantityJson(quantity, name)}};
}

void AddNodes(const Quantity& nodes_of_a, nlohmann::json& object) {
  object["nodes_of_a"] = nodes_of_a.value;
  if (const auto& ci95 = nodes_of_a.ci95) object["nodes_ci95"] = {ci95->first, ci95->second};
}

nlohmann::json SideJson(const VersusCluster& cluster, const VersusSide& side) {
  const auto& record = cluster.run.file.records[side.record];
  auto written = QuantityJson(side.seconds, "seconds");
  written["name"] = record.name;
  written["calls_per_second"] = 1 / side.seconds.value;
  written["node_calls_per_second"] = side.node_calls_per_second;
  if (record.timed) written["timed"] = *record.timed;
  if (side.share)
    written[side.share->at_most ? "fraction_at_most" : "fraction"] = side.share->value;
  if (side.specified) written["given"] = true;
  if (side.fallback) written["fallback"] = true;
  if (!side.bound.empty()) written["bound"] = side.bound;
  if (side.counted_flops) written["counted_flops"] = *side.counted_flops;
  if (side.cost) written["cost_per_1e15_flop"] = *side.cost;
  if (side.energy) written["energy"] = MeasuredJson(*side.energy, "joules");
  if (record.energy) written["energy"]["measured"]["covers"] = record.energy->covers;
  return written;
}

nlohmann::json RowJson(const VersusReport& report, const VersusRow& row) {
  nlohmann::json written = {{"operator", row.key},
                            {"a", SideJson(*report.a, row.a)},
                            {"b", SideJson(*report.b, row.b)},
                            {"differences", row.differences}};
  if (row.flops) written["flops"] = *row.flops;
  AddNodes(row.nodes_of_a, written);
  if (row.energy_ratio) written["energy_ratio"] = MeasuredJson(*row.energy_ratio, "a_over_b");
  return written;
}

void AddSums(const VersusSums& sums, nlohmann::json& object) {
  for (const auto& [key, seconds, energy] :
       {std::tuple("a", &sums.a, &sums.energy_a), {"b", &sums.b, &sums.energy_b}}) {
    if (!*seconds) continue;
    object[key] = QuantityJson(**seconds, "seconds");
    if (*energy) object[key]["energy"] = MeasuredJson(**energy, "joules");
  }
  if (sums.nodes_of_a) AddNodes(*sums.nodes_of_a, object);
  if (sums.cost_ratio) object["cost_a_over_b"] = *sums.cost_ratio;
  if (sums.energy_ratio) object["energy_ratio"] = MeasuredJson(*sums.energy_ratio, "a_over_b");
}

nlohmann::json TotalJson(const VersusTotal& total) {
  nlohmann::json written = {
      {"of", total.of}, {"operators", total.operators}, {"fallbacks", total.fallbacks}};
  AddSums(total, written);
  return written;
}

nlohmann::json ModelJson(const VersusModel& model) {
  nlohmann::json written = {{"model", model.model},
                            {"layers", model.layers},
                            {"layers_of_a", model.in_a},
                            {"layers_of_b", model.in_b},
                            {"layers_of_both", model.in_both}};
  if (!model.pass.empty()) written["pass"] = model.pass;
  if (!model.type.empty()) written["type"] = model.type;
  AddSums(model, written);
  if (!model.missing.empty()) written["missing"] = model.missing;
  return written;
}

nlohmann::json ClusterJson(const VersusCluster& cluster, const std::string& price) {
  nlohmann::json written = {{"files", cluster.where},
                            {"machines", MachinesText(cluster)},
                            {"devices_per_node", cluster.devices}};
  if (!cluster.devices_known) written["devices_assumed"] = true;
  if (!price.empty()) written["price"] = price;
  return written;
}

}  // namespace

document::Document VersusDocument(const VersusReport& report) {
  document::Document document;
  document.Add(TotalTable(report));
  document.Add(ModelTable(report));
  document.Add(OperatorTable(report));
  document.Add(document::Sentences{.texts = VersusNotes(report)});
  document::List differences{.title = "differs (A | B):", .numbered = true};
  for (const auto& kind : DifferenceKindsOf(report.versus).of_some)
    differences.items.push_back({kind});
  document.Add(std::move(differences));
  return document;
}

std::string VersusTitle(const VersusReport& report) {
  return fmt::format("A: {} and B: {}", MachinesText(*report.a), MachinesText(*report.b));
}

nlohmann::json VersusJson(const VersusReport& report) {
  const auto& versus = report.versus;
  nlohmann::json written = {
      {"versus", 1},
      {"a", ClusterJson(*report.a, versus.price_a)},
      {"b", ClusterJson(*report.b, versus.price_b)},
      {"times", versus.times == CallTime::kLatency ? "latency" : "throughput"},
      {"operators", versus.rows.size()},
      {"only_a", Number(versus.only_a)},
      {"only_b", Number(versus.only_b)},
      {"rows", nlohmann::json::array()}};
  if (!versus.currency.empty()) written["currency"] = versus.currency;
  if (versus.price_ratio) written["price_b_over_a"] = *versus.price_ratio;
  if (versus.watts_ratio) written["watts_b_over_a"] = *versus.watts_ratio;
  for (const auto& row : versus.rows) written["rows"].push_back(RowJson(report, row));
  for (const auto& total : versus.totals) written["totals"].push_back(TotalJson(total));
  for (const auto& model : report.models) written["models"].push_back(ModelJson(model));
  return written;
}

}  // namespace dlroof::cluster
