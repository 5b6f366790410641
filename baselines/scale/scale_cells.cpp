#include "baselines/scale/scale_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "baselines/scale/scale_costs.h"
#include "reporters/text/text.h"
#include "reporters/text/units.h"

namespace dlroof {
namespace {

constexpr std::size_t kMostMissing = 5;  // names of a sentence

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
  if (steps.disturbed) text += "; ~ some times are estimates (disturbed)";
  notes.push_back(std::move(text));
}

void AddGoal(const ScaleCase& one, std::vector<std::string>& notes) {
  if (!one.goal) return;
  const auto& goal = *one.goal;
  const auto add = [&](const char* what,
                       const std::vector<std::pair<std::string, BreakEven>>& results) {
    std::vector<std::string> parts;
    std::string before;
    for (const auto& [overlap, result] : results) {
      const auto text = result.nodes ? fmt::format("{}", *result.nodes) : result.why;
      if (parts.empty() || text != before) parts.push_back(fmt::format("{}: {}", overlap, text));
      before = text;
    }
    notes.push_back(fmt::format(
        "  {}: {}", what, parts.size() == 1 ? before : fmt::format("{}", fmt::join(parts, "; "))));
  };
  notes.push_back(
      fmt::format("break-even with {} node{} of {} ({}, {:g} samples each, {} a step in buckets)",
                  goal.nodes, goal.nodes == 1 ? "" : "s", goal.where, goal.network, goal.batch,
                  WithPrefix(goal.step.bucketed, "s")));
  add("nodes for as many samples per second", goal.weak);
  add("nodes for the same samples of a step in no more time", goal.strong);
}

}  // namespace

std::string WeakTitle(const ScaleCase& one) {
  return fmt::format("{}: weak scaling, {:g} samples per node", CaseName(one), one.batch);
}

std::string StrongTitle(const ScaleCase& one) {
  return fmt::format("{}: strong scaling, {:g} samples of all nodes", CaseName(one),
                     one.batch_of_all.value_or(0));
}

Cells MeasuredCells(const ScaleReport& report) {
  Cells cells = {
      {"measured on nodes", "samples/s", "of", "beside", "none to full", "over buckets"}};
  for (const auto& measured : report.measured) {
    bool placed = false;
    const auto add = [&](const std::string& title, const ScaleRow* row) {
      if (row == nullptr) return;
      placed = true;
      cells.push_back(
          {std::to_string(measured.nodes), ThreeDigits(measured.samples_per_second), measured.label,
           title,
           fmt::format("{} to {}", ThreeDigits(row->samples_per_second_none),
                       ThreeDigits(row->samples_per_second_full)),
           ThreeDigits(measured.samples_per_second / row->samples_per_second_bucketed)});
    };
    for (const auto& one : report.cases) {
      add(WeakTitle(one), RowOfNodes(one.weak, measured.nodes));
      add(StrongTitle(one), RowOfNodes(one.strong, measured.nodes));
    }
    if (!placed)
      cells.push_back({std::to_string(measured.nodes), ThreeDigits(measured.samples_per_second),
                       measured.label, "no row of as many nodes", "", ""});
  }
  return cells;
}

Cells ScaleCells(const std::vector<ScaleRow>& rows) {
  Cells cells = {{"nodes", "samples/node", "compute", "allreduce", "by", "step: none", "bucketed",
                  "full", "samples/s: none", "bucketed", "full", "efficiency"}};
  for (const auto& row : rows) {
    const auto time = [](double seconds) { return WithPrefix(seconds, "s"); };
    cells.push_back(
        {std::to_string(row.nodes), fmt::format("{:g}", row.batch), time(row.step.compute),
         row.nodes > 1 ? time(row.step.allreduce) : "",
         row.nodes > 1 ? std::string(Key(row.step.algorithm)) : "", time(row.step.none),
         time(row.step.bucketed), time(row.step.full), ThreeDigits(row.samples_per_second_none),
         ThreeDigits(row.samples_per_second_bucketed), ThreeDigits(row.samples_per_second_full),
         row.efficiency ? fmt::format("{:.1f} %", 100 * *row.efficiency) : ""});
  }
  return cells;
}

Cells SimulatedCells(const ScaleReport& report) {
  Cells cells = {{"allreduce by SMPI", "nodes", "bytes", "closed form", "simulated", "differs"}};
  for (const auto& one : report.simulated)
    cells.push_back(
        {std::string(Key(one.algorithm)), std::to_string(one.nodes), WithPrefix(one.bytes, "B"),
         WithPrefix(one.closed_seconds, "s"), WithPrefix(one.simulated_seconds, "s"),
         fmt::format("{:+.2f} %", 100 * (one.simulated_seconds / one.closed_seconds - 1))});
  return cells;
}

std::vector<std::string> CaseNotes(const ScaleCase& one, const ScaleReport& report) {
  std::vector<std::string> notes;
  AddCoverage(one, notes);
  auto gradients = fmt::format("gradients: {} ({:g} bytes for each parameter)",
                               WithPrefix(GradientBytes(one.steps.at.begin()->second), "B"),
                               report.parameter_bytes);
  if (one.hiding_batch)
    gradients += fmt::format(
        "; from {} samples per node on, at the speed of {:g}, computing can hide their allreduce "
        "on many nodes",
        ThreeDigits(*one.hiding_batch), one.batch);
  notes.push_back(std::move(gradients));
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

std::vector<std::string> ScaleNotes(const ScaleReport& report) {
  std::vector<std::string> notes;
  notes.push_back(fmt::format(
      "network: {}{}", NetworkText(report.network),
      report.network.doubt.empty() ? "" : " (not proved: " + report.network.doubt + ")"));
  if (report.rules.algorithm)
    notes.push_back(fmt::format("allreduce: the closed form of {}", Key(*report.rules.algorithm)));
  else if (const auto ratio = report.network.allreduce_over_model)
    notes.push_back(fmt::format(
        "allreduce: the fastest closed form, times {:.2f}, as measured; never below 2(n-1)/n bytes "
        "/ bandwidth",
        *ratio));
  else
    notes.emplace_back("allreduce: the fastest closed form, which a library may not reach");
  notes.push_back(fmt::format(
      "none: the allreduce follows the backward pass; bucketed: buckets of {} overlap with it; "
      "full: the longer of the two. Efficiency is of bucketed. A node counts as one device",
      WithPrefix(report.rules.bucket_bytes, "B")));
  if (!report.node_ratios.empty())
    notes.push_back(fmt::format(
        "compute: of the slowest of n nodes, drawn from the {} measured (slowest: {:.1f} % more "
        "time than the median node)",
        report.node_ratios.size(), 100 * (std::ranges::max(report.node_ratios) - 1)));
  else
    notes.emplace_back("compute: one node was measured, so all count as equal");
  if (!report.currency.empty())
    notes.push_back(fmt::format("price: {}", report.price ? report.price->how : "none matches"));
  if (report.their_price) notes.push_back("price of the other cluster: " + report.their_price->how);
  return notes;
}

}  // namespace dlroof
