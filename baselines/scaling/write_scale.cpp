#include "baselines/scaling/write_scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "baselines/cluster/network_file.h"
#include "baselines/formats/export.h"
#include "baselines/formats/page_text.h"
#include "reporters/text/text.h"

namespace dlroof::scaling {
namespace {

using nlohmann::json;

constexpr std::size_t kMostMissing = 5;  // names in a sentence

std::string CaseName(const ScaleCase& one) {
  return fmt::format("{}, {}, {}", one.steps.model, one.steps.type, one.steps.library);
}

void AddCoverage(const ScaleCase& one, std::vector<std::string>& notes) {
  const auto& steps = one.steps;
  auto names = steps.missing;
  const bool cut = names.size() > kMostMissing;
  if (cut) names.resize(kMostMissing);
  auto text = fmt::format(
      "{:g} of {:g} layers have all times of a training step{}{}{}", steps.timed, steps.layers,
      names.empty() ? "" : "; without: ", fmt::join(names, ", "), cut ? ", ..." : "");
  if (steps.noisy) text += "; ~ some times are estimates (noisy)";
  notes.push_back(std::move(text));
}

void AddGoal(const ScaleCase& one, std::vector<std::string>& notes) {
  if (!one.goal) return;
  const auto& goal = *one.goal;
  const auto add = [&](const char* what,
                       const std::vector<std::pair<std::string, BreakEven>>& results) {
    std::vector<std::string> texts;
    std::string last;
    for (const auto& [overlap, result] : results) {
      const auto text =
          result.nodes ? fmt::format("{}", *result.nodes) : result.reason.value_or(Reason{}).text;
      if (texts.empty() || text != last) texts.push_back(fmt::format("{}: {}", overlap, text));
      last = text;
    }
    notes.push_back(fmt::format(
        "  {}: {}", what, texts.size() == 1 ? last : fmt::format("{}", fmt::join(texts, "; "))));
  };
  notes.push_back(
      fmt::format("break-even with {} node{} of {} ({}, {:g} samples each, {} per step, bucketed)",
                  goal.nodes, goal.nodes == 1 ? "" : "s", goal.where, goal.network, goal.batch,
                  text::WithPrefix(goal.step.bucketed, "s")));
  add("nodes for the same samples per second", goal.weak);
  add("nodes for the same samples per step in at most the same time", goal.strong);
}

// Returns "resnet50, f32, onednn: weak scaling, 16 samples per node".
std::string WeakTitle(const ScaleCase& one) {
  return fmt::format("{}: weak scaling, {:g} samples per node", CaseName(one), one.batch);
}

std::string StrongTitle(const ScaleCase& one) {
  return fmt::format("{}: strong scaling, {:g} samples of all nodes", CaseName(one),
                     one.batch_of_all.value_or(0));
}

// Returns a table of the measured throughput with each case's predicted range at the same number of
// nodes; only its titles if nothing was measured.
formats::Cells MeasuredCells(const ScaleReport& report) {
  formats::Cells cells = {
      {"measured on nodes", "samples/s", "of", "compared with", "none to full", "over bucketed"}};
  for (const auto& measured : report.measured) {
    bool placed = false;
    const auto add = [&](const std::string& title, const ScaleRow* row) {
      if (row == nullptr) return;
      placed = true;
      cells.push_back(
          {std::to_string(measured.nodes), text::ThreeDigits(measured.samples_per_second),
           measured.label, title,
           fmt::format("{} to {}", text::ThreeDigits(row->samples_per_second_none),
                       text::ThreeDigits(row->samples_per_second_full)),
           text::ThreeDigits(measured.samples_per_second / row->samples_per_second_bucketed)});
    };
    for (const auto& one : report.cases) {
      add(WeakTitle(one), RowOfNodes(one.weak, measured.nodes));
      add(StrongTitle(one), RowOfNodes(one.strong, measured.nodes));
    }
    if (!placed)
      cells.push_back({std::to_string(measured.nodes),
                       text::ThreeDigits(measured.samples_per_second), measured.label,
                       "no row for this number of nodes", "", ""});
  }
  return cells;
}

formats::Cells ScaleCells(const std::vector<ScaleRow>& rows) {
  formats::Cells cells = {{"nodes", "samples/node", "compute", "allreduce", "by", "step: none",
                           "bucketed", "full", "samples/s: none", "bucketed", "full",
                           "efficiency"}};
  for (const auto& row : rows) {
    const auto time = [](double seconds) { return text::WithPrefix(seconds, "s"); };
    cells.push_back({std::to_string(row.nodes), fmt::format("{:g}", row.batch),
                     time(row.step.compute), row.nodes > 1 ? time(row.step.allreduce) : "",
                     row.nodes > 1 ? std::string(cluster::Key(row.step.algorithm)) : "",
                     time(row.step.none), time(row.step.bucketed), time(row.step.full),
                     text::ThreeDigits(row.samples_per_second_none),
                     text::ThreeDigits(row.samples_per_second_bucketed),
                     text::ThreeDigits(row.samples_per_second_full),
                     row.efficiency ? fmt::format("{:.1f} %", 100 * *row.efficiency) : ""});
  }
  return cells;
}

// Returns a table of the simulated allreduces; only its titles if nothing was simulated.
formats::Cells SimulatedCells(const ScaleReport& report) {
  formats::Cells cells = {
      {"allreduce by SMPI", "nodes", "bytes", "closed form", "simulated", "differs"}};
  for (const auto& one : report.simulated)
    cells.push_back(
        {std::string(cluster::Key(one.algorithm)), std::to_string(one.nodes),
         text::WithPrefix(one.bytes, "B"), text::WithPrefix(one.closed_seconds, "s"),
         one.simulated_seconds ? text::WithPrefix(*one.simulated_seconds, "s") : "",
         one.simulated_seconds
             ? fmt::format("{:+.2f} %", 100 * (*one.simulated_seconds / one.closed_seconds - 1))
             : ""});
  return cells;
}

// Bytes per parameter that SGD with momentum moves at least: it reads the parameter, its gradient
// and the momentum, and writes parameter and momentum, all f32.
constexpr double kOptimizerBytes = 5 * 4;

std::string OptimizerNote(const ScaleCase& one, const ScaleReport& report) {
  const double parameters = GradientBytes(one.steps.at.begin()->second) / report.parameter_bytes;
  const double seconds = kOptimizerBytes * parameters / report.dram_bytes_per_second.value_or(1);
  return fmt::format(
      "not in the step: the optimizer. SGD with momentum (20 bytes for each parameter) needs at "
      "least {} at the DRAM roof, {:.1f} % of the computing time above",
      text::WithPrefix(seconds, "s"),
      100 * seconds / ComputeSeconds(one.steps.at.rbegin()->second));
}

// Returns sentences on one case: coverage, gradients, the batch that hides the network, break-even.
std::vector<std::string> CaseNotes(const ScaleCase& one, const ScaleReport& report) {
  std::vector<std::string> notes;
  AddCoverage(one, notes);
  auto gradients = fmt::format("gradients: {} ({:g} bytes for each parameter)",
                               text::WithPrefix(GradientBytes(one.steps.at.begin()->second), "B"),
                               report.parameter_bytes);
  if (one.hiding_batch)
    gradients += fmt::format(
        "; from {} samples per node on, at the speed of {:g}, computing can hide their allreduce "
        "on many nodes",
        text::ThreeDigits(*one.hiding_batch), one.batch);
  notes.push_back(std::move(gradients));
  if (report.dram_bytes_per_second) notes.push_back(OptimizerNote(one, report));
  if (!one.batch_of_all)
    notes.push_back(fmt::format("strong scaling needs times at several batch sizes; the run has {}",
                                one.steps.least_batch()));
  else if (one.strong.empty())
    notes.push_back(fmt::format(
        "no number of nodes leaves each a batch size from {} to {}, which were measured",
        one.steps.least_batch(), one.steps.most_batch()));
  AddGoal(one, notes);
  for (auto& note : CostNotes(one, report)) notes.push_back(std::move(note));
  return notes;
}

// Returns sentences on all cases: network, overlap, stragglers.
std::vector<std::string> ScaleNotes(const ScaleReport& report) {
  std::vector<std::string> notes;
  notes.push_back(fmt::format(
      "network: {}{}", cluster::NetworkText(report.network),
      report.network.reason ? " (not validated: " + report.network.reason->text + ")" : ""));
  if (report.rules.algorithm)
    notes.push_back(
        fmt::format("allreduce: the closed form of {}", cluster::Key(*report.rules.algorithm)));
  else if (const auto ratio = report.network.allreduce_over_model)
    notes.push_back(fmt::format(
        "allreduce: the fastest closed form, times {:.2f}, as measured; never below 2(n-1)/n bytes "
        "/ bandwidth",
        *ratio));
  else
    notes.emplace_back("allreduce: the fastest closed form; a library may be slower");
  notes.emplace_back(
      "a step here is the forward and backward passes of the layers above, in calls that follow "
      "each "
      "other (on a GPU by the device's time). Not in it: normalization, activations, pooling, "
      "softmax and loss (no backward calls of these are measured), the optimizer, data loading: a "
      "program's step takes longer");
  if (report.not_simulated) notes.push_back("closed forms only: " + report.not_simulated->text);
  notes.push_back(fmt::format(
      "none: the allreduce follows the backward pass; bucketed: buckets of {} overlap with it; "
      "full: the longer of the two. Efficiency is that of bucketed. Each device counts as a node",
      text::WithPrefix(report.rules.bucket_bytes, "B")));
  if (!report.node_ratios.empty())
    notes.push_back(fmt::format(
        "compute: of the slowest of n nodes, drawn from the {} measured (slowest: {:.1f} % more "
        "time than the median node)",
        report.node_ratios.size(), 100 * (std::ranges::max(report.node_ratios) - 1)));
  else
    notes.emplace_back("compute: one node was measured; all are assumed equal");
  if (!report.currency.empty())
    notes.push_back(
        fmt::format("price: {}", report.price ? report.price->how : "no entry matches"));
  if (report.their_price) notes.push_back("price of the other cluster: " + report.their_price->how);
  return notes;
}

json StepJson(const StepSeconds& step) {
  return {
      {"compute_seconds", step.compute},
      {"allreduce_seconds", step.allreduce},
      {"allreduce", cluster::Key(step.algorithm)},
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
    object[overlap] = result.nodes ? json{{"nodes", *result.nodes}}
                                   : json{{"why_not", result.reason.value_or(Reason{}).text}};
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
  if (one.steps.noisy) object["disturbed"] = true;
  if (one.hiding_batch) object["hiding_batch"] = *one.hiding_batch;
  if (one.batch_of_all) {
    object["batch_of_all"] = *one.batch_of_all;
    object["strong"] = RowsJson(one.strong);
  }
  if (one.goal) object["break_even"] = GoalJson(*one.goal);
  if (auto costs = CostsJson(one, report); !costs.empty()) object["costs"] = std::move(costs);
  return object;
}

void WriteCsvRows(const ScaleCase& one, const char* scaling, const std::vector<ScaleRow>& rows,
                  std::ostream& out) {
  for (const auto& row : rows)
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                       formats::CsvText(one.steps.model), formats::CsvText(one.steps.type),
                       formats::CsvText(one.steps.library), scaling, row.nodes, row.batch,
                       row.step.compute, row.step.allreduce, cluster::Key(row.step.algorithm),
                       row.step.bound, row.step.none, row.step.bucketed, row.step.full,
                       row.samples_per_second_none, row.samples_per_second_bucketed,
                       row.samples_per_second_full, formats::NumberField(row.efficiency));
}

constexpr double kSamples = 1e6;

void AddLine(const std::string& title, const std::vector<ScaleRow>& rows,
             const std::optional<NodePrice>& price, std::vector<CostLine>& lines) {
  if (!price || rows.empty()) return;
  CostLine line{.title = title, .points = {}};
  for (const auto& row : rows) {
    const double seconds = kSamples / row.samples_per_second_bucketed;
    line.points.push_back({.nodes = row.nodes,
                           .seconds = seconds,
                           .cost = row.nodes * price->per_hour / 3600 * seconds});
  }
  lines.push_back(std::move(line));
}

bool Beats(const CostPoint& a, const CostPoint& b) {
  return a.seconds <= b.seconds && a.cost <= b.cost && (a.seconds < b.seconds || a.cost < b.cost);
}

void MarkBest(std::vector<CostLine>& lines) {
  for (auto& line : lines)
    for (auto& point : line.points)
      point.best = std::ranges::none_of(lines, [&](const CostLine& other) {
        return std::ranges::any_of(other.points,
                                   [&](const CostPoint& by) { return Beats(by, point); });
      });
}

}  // namespace

void WriteScaleTable(const ScaleReport& report, int width, std::ostream& out) {
  for (const auto& one : report.cases) {
    out << text::Printable(WeakTitle(one)) << '\n';
    text::WriteAligned(formats::PrintableCells(ScaleCells(one.weak)), width, out);
    if (!one.strong.empty()) {
      out << '\n' << text::Printable(StrongTitle(one)) << '\n';
      text::WriteAligned(formats::PrintableCells(ScaleCells(one.strong)), width, out);
    }
    for (const auto& note : CaseNotes(one, report)) out << "  " << text::Printable(note) << '\n';
    out << '\n';
  }
  for (const auto& cells : {SimulatedCells(report), MeasuredCells(report)}) {
    if (cells.size() == 1) continue;
    text::WriteAligned(formats::PrintableCells(cells), width, out);
    out << '\n';
  }
  for (const auto& note : ScaleNotes(report)) out << text::Printable(note) << '\n';
}

void WriteScaleMarkdown(const ScaleReport& report, std::ostream& out) {
  for (const auto& one : report.cases) {
    out << "**" << formats::MarkdownText(WeakTitle(one)) << "**\n\n";
    formats::WriteMarkdownTable(ScaleCells(one.weak), out);
    if (!one.strong.empty()) {
      out << "\n**" << formats::MarkdownText(StrongTitle(one)) << "**\n\n";
      formats::WriteMarkdownTable(ScaleCells(one.strong), out);
    }
    out << '\n';
    for (const auto& note : CaseNotes(one, report))
      out << "- " << formats::MarkdownText(note) << '\n';
    out << '\n';
  }
  for (const auto& cells : {SimulatedCells(report), MeasuredCells(report)}) {
    if (cells.size() == 1) continue;
    formats::WriteMarkdownTable(cells, out);
    out << '\n';
  }
  for (const auto& note : ScaleNotes(report)) out << "- " << formats::MarkdownText(note) << '\n';
}

void WriteScalePage(const ScaleReport& report,
                    const std::vector<std::pair<std::string, std::string>>& figures,
                    std::ostream& out) {
  formats::BeginPage(report.where + " over nodes", out);
  for (const auto& [figure, reason] : figures) formats::WritePageFigure(figure, reason, out);
  if (!report.measured.empty()) formats::WritePageTable("Measured", MeasuredCells(report), out);
  for (const auto& one : report.cases) {
    formats::WritePageTable(WeakTitle(one), ScaleCells(one.weak), out);
    if (!one.strong.empty()) formats::WritePageTable(StrongTitle(one), ScaleCells(one.strong), out);
    formats::WritePageList("Notes", "ul", CaseNotes(one, report), out);
  }
  if (!report.simulated.empty()) formats::WritePageTable("Simulated", SimulatedCells(report), out);
  formats::WritePageList("Sources and assumptions", "ul", ScaleNotes(report), out);
  formats::EndPage(out);
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
                 {"network", cluster::ToJson(report.network)},
                 {"bucket_bytes", report.rules.bucket_bytes},
                 {"parameter_bytes", report.parameter_bytes},
                 {"cases", json::array()}};
  if (report.rules.algorithm) object["allreduce"] = cluster::Key(*report.rules.algorithm);
  if (!report.node_ratios.empty()) object["node_ratios"] = report.node_ratios;
  for (const auto& one : report.cases) object["cases"].push_back(CaseJson(one, report));
  if (!report.currency.empty()) object["currency"] = report.currency;
  for (const auto& [key, price] :
       {std::pair("price", &report.price), {"their_price", &report.their_price}})
    if (*price) object[key] = {{"per_hour", (*price)->per_hour}, {"how", (*price)->how}};
  for (const auto& one : report.simulated) {
    json simulated = {{"nodes", one.nodes},
                      {"bytes", one.bytes},
                      {"allreduce", cluster::Key(one.algorithm)},
                      {"closed_seconds", one.closed_seconds}};
    if (one.simulated_seconds) simulated["simulated_seconds"] = *one.simulated_seconds;
    object["simulated"].push_back(std::move(simulated));
  }
  for (const auto& one : report.measured)
    object["measured"].push_back({{"nodes", one.nodes},
                                  {"samples_per_second", one.samples_per_second},
                                  {"label", one.label}});
  return object;
}

std::optional<NodePrice> DevicePrice(const cluster::Prices& prices,
                                     const std::vector<machine::Machine>& machines, int devices) {
  for (const auto& machine : machines) {
    const auto* price = cluster::PriceOf(prices, machine);
    if (price == nullptr) continue;
    const int count = price->devices.value_or(devices);
    return NodePrice{price->per_node_hour / count,
                     count == 1 ? price->how : fmt::format("{}, of {} devices", price->how, count)};
  }
  return std::nullopt;
}

std::vector<CostLine> CostLines(const ScaleCase& one, const ScaleReport& report) {
  std::vector<CostLine> lines;
  const auto model = fmt::format("{} {}", one.steps.model, one.steps.type);
  const auto name = fmt::format("{} {}", model, one.steps.library);
  AddLine(fmt::format("{}, weak, {:g} per node", name, one.batch), one.weak, report.price, lines);
  AddLine(fmt::format("{}, strong, {:g} of all", name, one.batch_of_all.value_or(0)), one.strong,
          report.price, lines);
  if (one.goal)
    AddLine(fmt::format("other cluster: {} {}, weak, {:g} per node", model, one.goal->library,
                        one.goal->batch),
            one.goal->theirs_weak, report.their_price, lines);
  MarkBest(lines);
  return lines;
}

std::vector<std::string> CostNotes(const ScaleCase& one, const ScaleReport& report) {
  std::vector<std::string> notes;
  for (const auto& line : CostLines(one, report)) {
    const auto text = [&](const CostPoint& point) {
      return fmt::format("{} {} in {} on {} node{}", text::ThreeDigits(point.cost), report.currency,
                         text::WithPrefix(point.seconds, "s"), point.nodes,
                         point.nodes == 1 ? "" : "s");
    };
    notes.push_back(
        fmt::format("a million samples ({}), bucketed: cheapest {}; fastest {}", line.title,
                    text(*std::ranges::min_element(line.points, {}, &CostPoint::cost)),
                    text(*std::ranges::min_element(line.points, {}, &CostPoint::seconds))));
  }
  return notes;
}

}  // namespace dlroof::scaling
