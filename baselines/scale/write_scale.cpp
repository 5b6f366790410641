#include "baselines/scale/write_scale.h"

#include <fmt/format.h>

#include <ostream>

#include "baselines/formats/export.h"
#include "baselines/formats/markdown_text.h"
#include "baselines/scale/scale_cells.h"
#include "baselines/scale/scale_costs.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

using nlohmann::json;

json StepJson(const StepSeconds& step) {
  return {
      {"compute_seconds", step.compute},
      {"allreduce_seconds", step.allreduce},
      {"allreduce", Key(step.algorithm)},
      {"bound_seconds", step.bound},
      {"step_seconds", {{"none", step.none}, {"bucketed", step.bucketed}, {"full", step.full}}}};
}

json RowsJson(const std::vector<ScaleRow>& rows) {
  auto list = json::array();
  for (const auto& row : rows) {
    auto object = StepJson(row.step);
    object["nodes"] = row.nodes;
    object["batch_per_node"] = row.batch;
    object["samples_per_second"] = {{"none", row.samples_per_second_none},
                                    {"bucketed", row.samples_per_second_bucketed},
                                    {"full", row.samples_per_second_full}};
    if (row.efficiency) object["efficiency"] = *row.efficiency;
    list.push_back(std::move(object));
  }
  return list;
}

json BreakEvenJson(const std::vector<std::pair<std::string, BreakEven>>& results) {
  auto object = json::object();
  for (const auto& [overlap, result] : results)
    object[overlap] = result.nodes ? json{{"nodes", *result.nodes}} : json{{"why_not", result.why}};
  return object;
}

json CostsJson(const ScaleCase& one, const ScaleReport& report) {
  auto list = json::array();
  for (const auto& line : CostLines(one, report)) {
    list.push_back({{"title", line.title}, {"points", json::array()}});
    for (const auto& point : line.points)
      list.back()["points"].push_back({{"nodes", point.nodes},
                                       {"seconds_per_million_samples", point.seconds},
                                       {"cost_per_million_samples", point.cost},
                                       {"best", point.best}});
  }
  return list;
}

json GoalJson(const ScaleGoal& goal) {
  json object = {{"files", goal.where},
                 {"nodes", goal.nodes},
                 {"batch_per_node", goal.batch},
                 {"step", StepJson(goal.step)},
                 {"weak", BreakEvenJson(goal.weak)},
                 {"strong", BreakEvenJson(goal.strong)},
                 {"rows",
                  {{"ours_weak", RowsJson(goal.ours_weak)},
                   {"ours_strong", RowsJson(goal.ours_strong)},
                   {"theirs_weak", RowsJson(goal.theirs_weak)},
                   {"theirs_strong", RowsJson(goal.theirs_strong)}}}};
  if (goal.floor_seconds) object["floor_seconds"] = *goal.floor_seconds;
  return object;
}

json CaseJson(const ScaleCase& one, const ScaleReport& report) {
  json object = {{"model", one.steps.model},
                 {"type", one.steps.type},
                 {"library", one.steps.library},
                 {"layers", one.steps.layers},
                 {"layers_timed", one.steps.timed},
                 {"missing", one.steps.missing},
                 {"gradient_bytes", GradientBytes(one.steps.at.begin()->second)},
                 {"weak", RowsJson(one.weak)}};
  for (const auto& [batch, layers] : one.steps.at) object["batches"].push_back(batch);
  if (one.steps.disturbed) object["disturbed"] = true;
  if (one.hiding_batch) object["hiding_batch"] = *one.hiding_batch;
  if (one.batch_of_all) {
    object["batch_of_all"] = *one.batch_of_all;
    object["strong"] = RowsJson(one.strong);
  }
  if (one.goal) object["break_even"] = GoalJson(*one.goal);
  if (auto costs = CostsJson(one, report); !costs.empty()) object["costs"] = std::move(costs);
  return object;
}

json NetworkJson(const Network& network) {
  json object = {{"pieces", json::array()}};
  if (!network.name.empty()) object["name"] = network.name;
  for (const auto& piece : network.pieces) {
    object["pieces"].push_back(
        {{"latency_seconds", piece.latency_seconds}, {"bytes_per_second", piece.bytes_per_second}});
    if (piece.up_to_bytes) object["pieces"].back()["up_to_bytes"] = *piece.up_to_bytes;
  }
  if (network.allreduce_over_model) object["allreduce_over_model"] = *network.allreduce_over_model;
  return object;
}

void WriteCsvRows(const ScaleCase& one, const char* scaling, const std::vector<ScaleRow>& rows,
                  std::ostream& out) {
  for (const auto& row : rows)
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                       CsvText(one.steps.model), CsvText(one.steps.type),
                       CsvText(one.steps.library), scaling, row.nodes, row.batch, row.step.compute,
                       row.step.allreduce, Key(row.step.algorithm), row.step.bound, row.step.none,
                       row.step.bucketed, row.step.full, row.samples_per_second_none,
                       row.samples_per_second_bucketed, row.samples_per_second_full,
                       row.efficiency ? fmt::format("{}", *row.efficiency) : "");
}

}  // namespace

void WriteScaleTable(const ScaleReport& report, int width, std::ostream& out) {
  for (const auto& one : report.cases) {
    out << Printable(WeakTitle(one)) << '\n';
    WriteAligned(PrintableCells(ScaleCells(one.weak)), width, out);
    if (!one.strong.empty()) {
      out << '\n' << Printable(StrongTitle(one)) << '\n';
      WriteAligned(PrintableCells(ScaleCells(one.strong)), width, out);
    }
    for (const auto& note : CaseNotes(one, report)) out << "  " << Printable(note) << '\n';
    out << '\n';
  }
  if (!report.simulated.empty()) {
    WriteAligned(PrintableCells(SimulatedCells(report)), width, out);
    out << '\n';
  }
  if (!report.measured.empty()) {
    WriteAligned(PrintableCells(MeasuredCells(report)), width, out);
    out << '\n';
  }
  for (const auto& note : ScaleNotes(report)) out << Printable(note) << '\n';
}

void WriteScaleMarkdown(const ScaleReport& report, std::ostream& out) {
  for (const auto& one : report.cases) {
    out << "**" << MarkdownText(WeakTitle(one)) << "**\n\n";
    WriteMarkdownTable(ScaleCells(one.weak), out);
    if (!one.strong.empty()) {
      out << "\n**" << MarkdownText(StrongTitle(one)) << "**\n\n";
      WriteMarkdownTable(ScaleCells(one.strong), out);
    }
    out << '\n';
    for (const auto& note : CaseNotes(one, report)) out << "- " << MarkdownText(note) << '\n';
    out << '\n';
  }
  if (!report.simulated.empty()) {
    WriteMarkdownTable(SimulatedCells(report), out);
    out << '\n';
  }
  if (!report.measured.empty()) {
    WriteMarkdownTable(MeasuredCells(report), out);
    out << '\n';
  }
  for (const auto& note : ScaleNotes(report)) out << "- " << MarkdownText(note) << '\n';
}

void WriteScalePage(const ScaleReport& report,
                    const std::vector<std::pair<std::string, std::string>>& figures,
                    std::ostream& out) {
  BeginPage(report.where + " over nodes", out);
  for (const auto& [figure, why_not] : figures) WritePageFigure(figure, why_not, out);
  if (!report.measured.empty()) WritePageTable("Measured", MeasuredCells(report), out);
  for (const auto& one : report.cases) {
    WritePageTable(WeakTitle(one), ScaleCells(one.weak), out);
    if (!one.strong.empty()) WritePageTable(StrongTitle(one), ScaleCells(one.strong), out);
    WritePageList("About it", "ul", CaseNotes(one, report), out);
  }
  if (!report.simulated.empty()) WritePageTable("Simulated", SimulatedCells(report), out);
  WritePageList("What this rests on", "ul", ScaleNotes(report), out);
  EndPage(out);
}

void WriteScaleCsv(const ScaleReport& report, std::ostream& out) {
  out << "model,type,library,scaling,nodes,batch_per_node,compute_seconds,allreduce_seconds,"
         "allreduce,bound_seconds,step_seconds_none,step_seconds_bucketed,step_seconds_full,"
         "samples_per_second_none,samples_per_second_bucketed,samples_per_second_full,efficiency\n";
  for (const auto& one : report.cases) {
    WriteCsvRows(one, "weak", one.weak, out);
    WriteCsvRows(one, "strong", one.strong, out);
  }
}

json ScaleJson(const ScaleReport& report) {
  json object = {{"files", report.where},
                 {"network", NetworkJson(report.network)},
                 {"bucket_bytes", report.rules.bucket_bytes},
                 {"parameter_bytes", report.parameter_bytes},
                 {"cases", json::array()}};
  if (report.rules.algorithm) object["allreduce"] = Key(*report.rules.algorithm);
  if (!report.node_ratios.empty()) object["node_ratios"] = report.node_ratios;
  for (const auto& one : report.cases) object["cases"].push_back(CaseJson(one, report));
  if (!report.currency.empty()) object["currency"] = report.currency;
  for (const auto& [key, price] :
       {std::pair("price", &report.price), {"their_price", &report.their_price}})
    if (*price) object[key] = {{"per_hour", (*price)->per_hour}, {"how", (*price)->how}};
  for (const auto& one : report.simulated)
    object["simulated"].push_back({{"nodes", one.nodes},
                                   {"bytes", one.bytes},
                                   {"allreduce", Key(one.algorithm)},
                                   {"closed_seconds", one.closed_seconds},
                                   {"simulated_seconds", one.simulated_seconds}});
  for (const auto& one : report.measured)
    object["measured"].push_back({{"nodes", one.nodes},
                                  {"samples_per_second", one.samples_per_second},
                                  {"label", one.label}});
  return object;
}

}  // namespace dlroof
