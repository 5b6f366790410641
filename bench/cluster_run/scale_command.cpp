// dlroof cluster scale: predicts how a model's training step scales over nodes, and the network's
// cost.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <sstream>

#include "baselines/scaling/write_scale.h"
#include "bench/cluster_run/commands.h"
#include "bench/cluster_run/scale_report.h"
#include "bench/command_line/description.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "reporters/figure/cluster_figures.h"
#include "reporters/figure/figure.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

constexpr std::string_view kBucketedName = "bucketed";
constexpr std::array kScaleOutputs = {".html", ".json", ".csv", ".md", ".svg", ".pdf", ".png"};

figure::ScaleFigure ScaleFigureOf(const scaling::ScaleReport& report) {
  figure::ScaleFigure figure{.bands = {},
                             .caption = "network: " + cluster::NetworkText(report.network)};
  const auto add = [&](const scaling::ScaleCase& one, const std::string& how,
                       const std::vector<scaling::ScaleRow>& rows) {
    if (rows.empty()) return;
    figure::ScaleFigureBand band{.title = fmt::format("{} {} {}, {}", one.steps.model,
                                                      one.steps.type, one.steps.library, how),
                                 .points = {}};
    for (const auto& row : rows)
      band.points.push_back({row.nodes, row.samples_per_second_none,
                             row.samples_per_second_bucketed, row.samples_per_second_full});
    figure.bands.push_back(std::move(band));
  };
  for (const auto& one : report.cases) {
    add(one, fmt::format("weak, {:g} per node", one.batch), one.weak);
    add(one, fmt::format("strong, {:g} of all", one.batch_of_all.value_or(0)), one.strong);
  }
  for (const auto& one : report.measured) {
    const auto label = one.label.empty() ? "measured" : "measured: " + one.label;
    auto found = std::ranges::find(figure.measured, label, &figure::ScaleFigureMark::label);
    if (found == figure.measured.end())
      found = figure.measured.insert(found, figure::ScaleFigureMark{label, {}});
    found->points.emplace_back(one.nodes, one.samples_per_second);
  }
  return figure;
}

std::vector<figure::BreakEvenPoint> PointsOf(const std::vector<scaling::ScaleRow>& rows,
                                             bool seconds) {
  std::vector<figure::BreakEvenPoint> points;
  for (const auto& row : rows)
    points.push_back(
        seconds
            ? figure::BreakEvenPoint{row.nodes, row.step.full, row.step.bucketed, row.step.none}
            : figure::BreakEvenPoint{row.nodes, row.samples_per_second_none,
                                     row.samples_per_second_bucketed, row.samples_per_second_full});
  return points;
}

// Marks the break-even with bucketed gradients in the figure. `results` are by kind of overlap.
void SetBreakEven(const std::vector<std::pair<std::string, scaling::BreakEven>>& results,
                  figure::BreakEvenPanel& panel) {
  for (const auto& [overlap, result] : results)
    if (overlap == kBucketedName) {
      panel.nodes = result.nodes;
      panel.reason = result.reason;
    }
}

figure::BreakEvenRow BreakEvenRowOf(const scaling::ScaleCase& one, const scaling::ScaleGoal& goal) {
  const double samples = goal.nodes * goal.batch;
  const auto model = fmt::format("{} {}", one.steps.model, one.steps.type);
  const auto per_node = goal.batch == one.batch
                            ? fmt::format("{:g}", one.batch)
                            : fmt::format("{:g} and {:g}", one.batch, goal.batch);
  figure::BreakEvenRow row{
      .ours = one.steps.library,
      .theirs = "other cluster: " + goal.library,
      .goal = fmt::format("{} node{} of the other cluster", goal.nodes, goal.nodes == 1 ? "" : "s"),
      .rate = {.title = fmt::format("{}: {} samples per node", model, per_node),
               .ours = PointsOf(goal.ours_weak, false),
               .theirs = PointsOf(goal.theirs_weak, false),
               .goal = samples / goal.step.bucketed,
               .reason = std::nullopt},
      .time = {.title = fmt::format("{}: {:g} samples of all nodes", model, samples),
               .ours = PointsOf(goal.ours_strong, true),
               .theirs = PointsOf(goal.theirs_strong, true),
               .goal = goal.step.bucketed,
               .reason = std::nullopt,
               .floor = goal.floor_seconds}};
  SetBreakEven(goal.weak, row.rate);
  SetBreakEven(goal.strong, row.time);
  return row;
}

figure::BreakEvenFigure BreakEvenFigureOf(const scaling::ScaleReport& report) {
  figure::BreakEvenFigure figure{
      .rows = {},
      .caption =
          "band: no overlap of network and computing to all of it; line: buckets; network: " +
          cluster::NetworkText(report.network)};
  for (const auto& one : report.cases)
    if (one.goal) figure.rows.push_back(BreakEvenRowOf(one, *one.goal));
  return figure;
}

figure::CostFigure CostFigureOf(const scaling::ScaleReport& report) {
  figure::CostFigure figure{
      .lines = {}, .work = "a million samples", .currency = report.currency, .caption = ""};
  for (const auto& one : report.cases)
    for (const auto& line : scaling::CostLines(one, report)) {
      auto& drawn = figure.lines.emplace_back(figure::CostFigureLine{line.title, {}});
      for (const auto& point : line.points)
        drawn.points.push_back({point.nodes, point.seconds, point.cost, point.best});
    }
  for (const auto* price : {&report.price, &report.their_price})
    if (*price) figure.caption += (figure.caption.empty() ? "" : "; ") + (*price)->how;
  return figure;
}

std::string FigureScript(const scaling::ScaleReport& report, const std::string& name,
                         const std::string& extension) {
  if (name == "break-even") return figure::BreakEvenScript(BreakEvenFigureOf(report), extension);
  if (name == "cost") return figure::CostFigureScript(CostFigureOf(report), extension);
  return figure::ScaleFigureScript(ScaleFigureOf(report), extension);
}

std::string ScalePage(const ScaleFlags& flags, const scaling::ScaleReport& report) {
  std::vector<std::pair<std::string, std::string>> figures;
  const auto add = [&](const std::string& name) {
    const auto [svg, reason] =
        figure::DrawForPage([&] { return FigureScript(report, name, "svg"); });
    figures.emplace_back(svg, reason.value_or(Reason{}).text);
  };
  add("scaling");
  if (flags.against) add("break-even");
  if (flags.prices) add("cost");
  std::ostringstream page;
  scaling::WriteScalePage(report, figures, page);
  return page.str();
}

void WriteScaleOutput(const ScaleFlags& flags, const scaling::ScaleReport& report,
                      const std::string& path) {
  std::ostringstream text;
  if (path.ends_with(".html")) {
    WriteFile(path, ScalePage(flags, report));
  } else if (path.ends_with(".json")) {
    WriteFile(path, JsonText(scaling::ScaleJson(report), 1) + '\n');
  } else if (path.ends_with(".csv") || path.ends_with(".md")) {
    (path.ends_with(".csv") ? scaling::WriteScaleCsv : scaling::WriteScaleMarkdown)(report, text);
    WriteFile(path, text.str());
  } else {
    WriteFile(path, figure::RunGnuplot(
                        FigureScript(report, flags.figure, figure::FigureExtension(path))));
  }
  std::cerr << "wrote " << path << '\n';
}

void CheckScaleFlags(const ScaleFlags& flags) {
  for (const auto& path : flags.outputs)
    if (!std::ranges::any_of(kScaleOutputs, [&](const char* end) { return path.ends_with(end); }))
      throw BadInput("-o {}: unknown extension, expected one of {}", path,
                     fmt::join(kScaleOutputs, ", "));
  if (!flags.against && flags.against_network)
    throw BadInput("--against-network: expected --against, the other cluster");
  if (flags.figure == "break-even" && !flags.against)
    throw BadInput("--figure=break-even: expected --against, the other cluster");
  if (flags.figure == "cost" && !flags.prices)
    throw BadInput("--figure=cost: expected --prices, which has no default");
}

void RunScale(const ScaleFlags& flags) {
  CheckScaleFlags(flags);
  const auto report = MakeScaleReport(flags);
  scaling::WriteScaleTable(report, text::TerminalColumns(), std::cout);
  std::cout << std::flush;
  for (const auto& path : flags.outputs) WriteScaleOutput(flags, report, path);
  if (report.simulation_failure) throw BadInput(report.simulation_failure->text);
}

void AddModelFlags(CLI::App& command, ScaleFlags& flags) {
  command
      .add_option("--suite", flags.suites,
                  "the model, a suite or a suite's file (default: the models that the run names)")
      ->type_name(command_line::kSuite)
      ->allow_extra_args(false);
  command.add_option("--type", flags.type, "use only this data type, such as f32");
  command.add_option("--library", flags.library, "use only this library, such as onednn");
  command
      .add_option("--batch-per-node", flags.batch_per_node,
                  "samples per node for weak scaling (default: the largest measured batch)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--batch", flags.batch_of_all,
                  "samples of all nodes for strong scaling (default: the largest measured batch, "
                  "if there are several)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--parameter-bytes", flags.parameter_bytes,
                  "size of one parameter's gradient in bytes")
      ->capture_default_str()
      ->check(CLI::IsMember({2, 4}));
}

void AddNetworkFlags(CLI::App& command, ScaleFlags& flags) {
  command
      .add_option("--network", flags.network,
                  "file of dlroof_net, or {\"latency_seconds\": 2e-5, \"bytes_per_second\": 1.2e9}")
      ->type_name(command_line::kFile)
      ->required();
  command
      .add_option("--allreduce", flags.allreduce,
                  "algorithm of the allreduce; best: the fastest one for each size")
      ->capture_default_str()
      ->check(CLI::IsMember({"best", "ring", "recursive-doubling", "tree", "rabenseifner"}));
  command
      .add_option("--bucket", flags.bucket_bytes, "bytes of gradients that one allreduce sums up")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      .add_option("--nodes", flags.nodes, "numbers of nodes: 1,2,4, or 1:1024 for powers of two")
      ->capture_default_str();
  command.add_flag("--simulate", flags.simulate,
                   "also simulate the allreduces by SimGrid's SMPI (Debian: libsimgrid-dev)");
  command
      .add_option("--simulate-nodes", flags.most_simulated,
                  "largest number of nodes to simulate; a ring of 1024 takes a minute")
      ->capture_default_str()
      ->check(CLI::Range(2, 4096));
  command
      .add_option("--against", flags.against,
                  "run or cluster file of another cluster; the report has the number of nodes "
                  "that equal it")
      ->type_name(command_line::kFile);
  command
      .add_option("--against-nodes", flags.against_nodes, "number of nodes of the other cluster")
      ->capture_default_str()
      ->check(CLI::Range(1, scaling::kMostNodes));
  command
      .add_option("--measured", flags.measured,
                  "CSV file of a program's measured throughput: nodes,samples_per_second,label")
      ->type_name(command_line::kFile);
  command
      .add_option("--against-network", flags.against_network,
                  "file of the other cluster's network (default: the same network)")
      ->type_name(command_line::kFile);
  command
      .add_option("--prices", flags.prices,
                  "file of prices, as for `cluster versus`, for the costs of a million samples")
      ->type_name(command_line::kFile);
  command
      .add_option("--figure", flags.figure,
                  "content of x.svg, x.pdf and x.png: scaling, break-even (with --against) or cost "
                  "(with --prices); a page has all of them")
      ->capture_default_str()
      ->check(CLI::IsMember({"scaling", "break-even", "cost"}));
}

}  // namespace

void AddClusterScale(CLI::App& cluster) {
  auto flags = std::make_shared<ScaleFlags>();
  auto* command = cluster.add_subcommand(
      "scale",
      "predict strong and weak scaling of a model's training step over nodes from measured layers "
      "and a network, and the break-even with another cluster");
  command
      ->add_option("FILE", flags->files,
                   "run file, several of one machine separated by commas, or a cluster file")
      ->type_name(command_line::kFile)
      ->required();
  AddNetworkFlags(*command, *flags);
  AddModelFlags(*command, *flags);
  command
      ->add_option("-o,--output", flags->outputs,
                   "also write x.html (page), x.json, x.csv, x.md, or x.svg, x.pdf, x.png (band of "
                   "samples per second over nodes)")
      ->type_name(command_line::kFile)
      ->allow_extra_args(false);
  command->callback([flags] { RunScale(*flags); });
}

}  // namespace dlroof::cluster_run
