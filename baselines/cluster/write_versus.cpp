#include <fmt/format.h>

#include <ostream>
#include <tuple>

#include "baselines/cluster/versus_models.h"
#include "baselines/formats/export.h"
#include "baselines/formats/page_text.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

// Returns one cluster's CSV fields of a row, from name to cost.
std::vector<std::string> CsvSide(const VersusCluster& cluster, const VersusSide& side) {
  const auto& record = cluster.run.file.records[side.record];
  const auto& ci95 = side.timing.ci95;
  const bool at_most = side.share && side.share->at_most;
  const auto share = side.share ? formats::NumberField(side.share->value) : "";
  return {record.name,
          record.library,
          formats::NumberField(side.timing.median),
          ci95 ? formats::NumberField(ci95->first) : "",
          ci95 ? formats::NumberField(ci95->second) : "",
          formats::NumberField(side.calls_per_second),
          formats::NumberField(side.node_calls_per_second),
          at_most ? "" : share,
          at_most          ? "not validated"
          : side.specified ? "given"
                           : "",
          side.bound,
          formats::NumberField(side.cost),
          at_most ? share : ""};
}

// Returns the CSV fields of one energy class: ",A,B,A / B" [J], [J], [1].
std::string CsvEnergy(const VersusRow& row, EnergyClass kind) {
  const auto joules = [&](const Energies& energies) {
    const auto found = energies.find(kind);
    return found == energies.end() ? "" : fmt::format("{}", found->second.joules);
  };
  const auto ratio = row.energy_ratios.find(kind);
  return fmt::format(
      ",{},{},{}", joules(row.a.energies), joules(row.b.energies),
      ratio == row.energy_ratios.end() ? "" : fmt::format("{}", ratio->second.a_over_b));
}

// Returns an object: energy class -> the Joules or EnergyRatio, whose `number` has the key `name`.
template <class Value>
nlohmann::json ByClassJson(const std::map<EnergyClass, Value>& values, const char* name,
                           double Value::*number) {
  nlohmann::json written;
  for (const auto& [kind, value] : values) {
    auto& object = written[std::string(Key(kind))] = {{name, value.*number}};
    if (value.ci95) object["ci95"] = {value.ci95->first, value.ci95->second};
    if (value.noisy) object["disturbed"] = true;
  }
  return written;
}

nlohmann::json EnergiesJson(const Energies& energies) {
  return ByClassJson(energies, "joules", &Joules::joules);
}

nlohmann::json RatiosJson(const std::map<EnergyClass, EnergyRatio>& ratios) {
  return ByClassJson(ratios, "a_over_b", &EnergyRatio::a_over_b);
}

nlohmann::json SideJson(const VersusCluster& cluster, const VersusSide& side) {
  const auto& record = cluster.run.file.records[side.record];
  nlohmann::json written = {{"name", record.name},
                            {"seconds", side.timing.median},
                            {"calls_per_second", side.calls_per_second},
                            {"node_calls_per_second", side.node_calls_per_second}};
  if (record.timed) written["timed"] = *record.timed;
  if (side.timing.ci95) written["ci95"] = {side.timing.ci95->first, side.timing.ci95->second};
  if (side.timing.noisy) written["disturbed"] = true;
  if (side.share)
    written[side.share->at_most ? "fraction_at_most" : "fraction"] = side.share->value;
  if (side.specified) written["given"] = true;
  if (!side.bound.empty()) written["bound"] = side.bound;
  if (side.counted_flops) written["counted_flops"] = *side.counted_flops;
  if (side.cost) written["cost_per_1e15_flop"] = *side.cost;
  if (!side.energies.empty()) written["energy"] = EnergiesJson(side.energies);
  if (record.energy) written["energy"]["measured"]["covers"] = record.energy->covers;
  return written;
}

nlohmann::json RowJson(const VersusReport& report, const VersusRow& row) {
  nlohmann::json written = {{"operator", row.key},
                            {"a", SideJson(*report.a, row.a)},
                            {"b", SideJson(*report.b, row.b)},
                            {"nodes_of_a", row.nodes_of_a},
                            {"differences", row.differences}};
  if (row.flops) written["flops"] = *row.flops;
  if (row.nodes_ci95) written["nodes_ci95"] = {row.nodes_ci95->first, row.nodes_ci95->second};
  if (!row.energy_ratios.empty()) written["energy_ratio"] = RatiosJson(row.energy_ratios);
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
  for (const auto& [key, library, timing] :
       {std::tuple("a", &model.library_a, &model.a), {"b", &model.library_b, &model.b}}) {
    if (!*timing) continue;
    written[key] = {{"library", *library}, {"seconds", (*timing)->median}};
    if ((*timing)->ci95) written[key]["ci95"] = {(*timing)->ci95->first, (*timing)->ci95->second};
    if ((*timing)->noisy) written[key]["disturbed"] = true;
  }
  if (model.nodes_of_a) written["nodes_of_a"] = *model.nodes_of_a;
  if (model.nodes_ci95) written["nodes_ci95"] = {model.nodes_ci95->first, model.nodes_ci95->second};
  for (const auto& [key, energies] : {std::pair("a", &model.energies_a), {"b", &model.energies_b}})
    if (!energies->empty()) written[key]["energy"] = EnergiesJson(*energies);
  if (!model.energy_ratios.empty()) written["energy_ratio"] = RatiosJson(model.energy_ratios);
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

void WriteVersusTable(const VersusReport& report, int width, std::ostream& out) {
  text::WriteAligned(formats::PrintableCells(OperatorCells(report)), width, out);
  if (!report.models.empty()) {
    out << '\n';
    text::WriteAligned(formats::PrintableCells(ModelCells(report)), width, out);
  }
  out << '\n';
  for (const auto& note : VersusNotes(report)) out << text::Printable(note) << '\n';
  const auto kinds = DifferenceKinds(report.versus);
  if (!kinds.empty()) out << "\ndiffers (A | B):\n";
  for (std::size_t i = 0; i < kinds.size(); ++i)
    out << fmt::format("{:>3}  {}\n", i + 1, text::Printable(kinds[i]));
}

void WriteVersusMarkdown(const VersusReport& report, std::ostream& out) {
  formats::WriteMarkdownTable(OperatorCells(report), out);
  if (!report.models.empty()) {
    out << '\n';
    formats::WriteMarkdownTable(ModelCells(report), out);
  }
  out << '\n';
  for (const auto& note : VersusNotes(report)) formats::WriteMarkdownItem("-", note, out);
  const auto kinds = DifferenceKinds(report.versus);
  if (!kinds.empty()) out << "\nDiffers (A | B):\n\n";
  for (std::size_t i = 0; i < kinds.size(); ++i)
    formats::WriteMarkdownItem(fmt::format("{}.", i + 1), kinds[i], out);
}

void WriteVersusCsv(const VersusReport& report, std::ostream& out) {
  out << "operator";
  for (const char side : {'a', 'b'})
    for (const char* field : {"name", "library", "seconds", "ci95_low", "ci95_high",
                              "calls_per_second", "node_calls_per_second", "fraction_of_roof",
                              "roof", "bound", "cost_per_1e15_flop", "fraction_of_roof_at_most"})
      out << fmt::format(",{}_{}", side, field);
  out << ",flops,nodes_of_a,nodes_low,nodes_high,currency,differences";
  for (const auto kind : kEnergyClasses)
    out << fmt::format(",a_{0}_joules,b_{0}_joules,{0}_joules_a_over_b", Key(kind));
  out << ",timed_a,timed_b\n";
  for (const auto& row : report.versus.rows) {
    out << formats::CsvText(row.key);
    for (const auto& field : CsvSide(*report.a, row.a)) out << ',' << formats::CsvText(field);
    for (const auto& field : CsvSide(*report.b, row.b)) out << ',' << formats::CsvText(field);
    std::string differences;
    for (const auto& one : row.differences) differences += (differences.empty() ? "" : "; ") + one;
    out << fmt::format(",{},{},{},{},{},{}", formats::NumberField(row.flops),
                       formats::NumberField(row.nodes_of_a),
                       row.nodes_ci95 ? formats::NumberField(row.nodes_ci95->first) : "",
                       row.nodes_ci95 ? formats::NumberField(row.nodes_ci95->second) : "",
                       formats::CsvText(report.versus.currency), formats::CsvText(differences));
    for (const auto kind : kEnergyClasses) out << CsvEnergy(row, kind);
    for (const auto* record :
         {&report.a->run.file.records[row.a.record], &report.b->run.file.records[row.b.record]})
      out << ',' << record->timed.value_or("");
    out << '\n';
  }
}

void WriteVersusPage(const VersusReport& report, const std::string& figure,
                     const std::string& no_figure_reason, std::ostream& out) {
  formats::BeginPage(
      fmt::format("A: {} and B: {}", MachinesText(*report.a), MachinesText(*report.b)), out);
  formats::WritePageFigure(figure, no_figure_reason, out);
  formats::WritePageList("Sources and assumptions", "ul", VersusNotes(report), out);
  if (!report.models.empty()) formats::WritePageTable("Models", ModelCells(report), out);
  formats::WritePageTable("Operators", OperatorCells(report), out);
  formats::WritePageList("Differs (A | B)", "ol", DifferenceKinds(report.versus), out);
  formats::EndPage(out);
}

nlohmann::json VersusJson(const VersusReport& report) {
  const auto& versus = report.versus;
  nlohmann::json written = {
      {"versus", 1},
      {"a", ClusterJson(*report.a, versus.price_a)},
      {"b", ClusterJson(*report.b, versus.price_b)},
      {"times", versus.times == CallTime::kLatency ? "latency" : "throughput"},
      {"operators", versus.operators},
      {"only_a", versus.only_a},
      {"only_b", versus.only_b},
      {"rows", nlohmann::json::array()}};
  if (!versus.currency.empty()) written["currency"] = versus.currency;
  for (const auto& row : versus.rows) written["rows"].push_back(RowJson(report, row));
  for (const auto& model : report.models) written["models"].push_back(ModelJson(model));
  return written;
}

}  // namespace dlroof::cluster
