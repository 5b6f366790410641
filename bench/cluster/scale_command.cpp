// dlroof cluster scale: how a model's training step scales over nodes, and what the network costs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <sstream>

#include "bench/cluster/commands.h"
#include "bench/cluster/scale_report.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/scale_figure.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

constexpr std::array kScaleOutputs = {".html", ".json", ".csv", ".md", ".svg", ".pdf", ".png"};

ScaleFigure ScaleFigureOf(const ScaleReport& report) {
  ScaleFigure figure{.bands = {}, .caption = "network: " + NetworkText(report.network)};
  const auto add = [&](const ScaleCase& one, const std::string& how,
                       const std::vector<ScaleRow>& rows) {
    if (rows.empty()) return;
    ScaleFigureBand band{.title = fmt::format("{} {} {}, {}", one.steps.model, one.steps.type,
                                              one.steps.library, how),
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
    auto found = std::ranges::find(figure.measured, label, &ScaleFigureMark::label);
    if (found == figure.measured.end())
      found = figure.measured.insert(found, ScaleFigureMark{label, {}});
    found->points.emplace_back(one.nodes, one.samples_per_second);
  }
  return figure;
}

void WriteScaleOutput(const ScaleReport& report, const std::string& path) {
  std::ostringstream text;
  if (path.ends_with(".html")) {
    std::string why;
    const auto figure =
        PageFigure([&] { return ScaleFigureScript(ScaleFigureOf(report), "svg"); }, why);
    WriteScalePage(report, figure, why, text);
    WriteFile(path, text.str());
  } else if (path.ends_with(".json")) {
    WriteFile(path, ScaleJson(report).dump(1) + '\n');
  } else if (path.ends_with(".csv") || path.ends_with(".md")) {
    (path.ends_with(".csv") ? WriteScaleCsv : WriteScaleMarkdown)(report, text);
    WriteFile(path, text.str());
  } else {
    WriteScaleFigure(ScaleFigureOf(report), path);
  }
  std::cerr << "wrote " << path << '\n';
}

int RunScale(const ScaleFlags& flags) {
  for (const auto& path : flags.outputs)
    if (!std::ranges::any_of(kScaleOutputs, [&](const char* end) { return path.ends_with(end); }))
      throw BadInput("-o {}: unknown extension, expected one of {}", path,
                     fmt::join(kScaleOutputs, ", "));
  if (flags.against.empty() && !flags.against_network.empty())
    throw BadInput("--against-network belongs to --against");
  const auto report = MakeScaleReport(flags);
  WriteScaleTable(report, TerminalColumns(), std::cout);
  std::cout << std::flush;
  for (const auto& path : flags.outputs) WriteScaleOutput(report, path);
  return 0;
}

void AddModelFlags(CLI::App& command, ScaleFlags& flags) {
  command
      .add_option("--suite", flags.suites,
                  "the model: a suite or a suite's file (default: those that the run names)")
      ->allow_extra_args(false);
  command.add_option("--type", flags.type, "this type alone, such as f32");
  command.add_option("--library", flags.library, "this library alone, such as onednn");
  command
      .add_option("--batch-per-node", flags.batch_per_node,
                  "samples of each node for weak scaling (default: the largest measured)")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--batch", flags.batch_of_all,
                  "samples of all nodes for strong scaling (default: the largest measured, where "
                  "several were)")
      ->check(CLI::PositiveNumber);
  command.add_option("--parameter-bytes", flags.parameter_bytes, "of one parameter's gradient")
      ->capture_default_str()
      ->check(CLI::IsMember({2, 4}));
}

void AddNetworkFlags(CLI::App& command, ScaleFlags& flags) {
  command
      .add_option("--network", flags.network,
                  "file of dlroof_net, or {\"latency_seconds\": 2e-5, \"bytes_per_second\": 1.2e9}")
      ->required();
  command
      .add_option("--allreduce", flags.allreduce,
                  "algorithm whose closed form counts; best: the fastest for each size")
      ->capture_default_str()
      ->check(CLI::IsMember({"best", "ring", "recursive-doubling", "tree", "rabenseifner"}));
  command.add_option("--bucket", flags.bucket_bytes, "bytes of gradients summed up together")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      .add_option("--nodes", flags.nodes, "numbers of nodes: 1,2,4, or 1:1024 for powers of two")
      ->capture_default_str();
  command.add_flag("--simulate", flags.simulate,
                   "also simulate the allreduces by SimGrid's SMPI (Debian: libsimgrid-dev)");
  command
      .add_option("--simulate-nodes", flags.most_simulated,
                  "rows of at most so many nodes; a ring of 1024 takes a minute")
      ->capture_default_str()
      ->check(CLI::Range(2, 4096));
  command.add_option("--against", flags.against,
                     "run or cluster file of another cluster: how many nodes equal it");
  command.add_option("--against-nodes", flags.against_nodes, "nodes of that one")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostNodes));
  command.add_option("--measured", flags.measured,
                     "CSV of a program that was measured: nodes,samples_per_second,label");
  command.add_option("--against-network", flags.against_network, "its network (default: the same)");
}

}  // namespace

void AddClusterScale(CLI::App& cluster, int& exit_code) {
  auto flags = std::make_shared<ScaleFlags>();
  auto* command = cluster.add_subcommand(
      "scale",
      "strong and weak scaling of a model's training step over nodes, by measured layers and a "
      "network; break-even with another cluster");
  command
      ->add_option("FILE", flags->files,
                   "run file, several of one machine with commas, or a cluster file")
      ->required();
  AddNetworkFlags(*command, *flags);
  AddModelFlags(*command, *flags);
  command
      ->add_option("-o,--output", flags->outputs,
                   "also write x.html (page), x.json, x.csv, x.md, or x.svg, x.pdf, x.png (band of "
                   "samples per second over nodes)")
      ->allow_extra_args(false);
  command->callback([flags, &exit_code] { exit_code = RunScale(*flags); });
}

}  // namespace dlroof
