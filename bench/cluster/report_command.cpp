// dlroof cluster report: a cluster file for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <sstream>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/node_effects.h"
#include "baselines/cluster/write_cluster.h"
#include "bench/cluster/commands.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

constexpr std::array kClusterOutputs = {".html", ".md", ".csv", ".svg", ".pdf", ".png"};

struct ClusterReportFlags {
  std::string file, network, alone;
  std::vector<std::string> outputs;
  bool verbose = false;
};

std::string ClusterPage(const cluster::Cluster& cluster, const cluster::NodeEffects& effects) {
  std::string why;
  const auto figure =
      figure::PageFigure([&] { return figure::NodeMapScript(cluster::MapOf(cluster, effects), "svg"); }, why);
  std::ostringstream page;
  cluster::WriteClusterPage(cluster, effects, figure, why, page);
  return page.str();
}

void WriteClusterOutput(const cluster::Cluster& cluster, const cluster::NodeEffects& effects,
                        const std::string& path) {
  std::ostringstream text;
  if (path.ends_with(".html")) {
    WriteFile(path, ClusterPage(cluster, effects));
  } else if (path.ends_with(".md") || path.ends_with(".csv")) {
    (path.ends_with(".md") ? cluster::WriteClusterMarkdown : cluster::WriteClusterCsv)(cluster, effects, text);
    WriteFile(path, text.str());
  } else {
    figure::WriteNodeMap(cluster::MapOf(cluster, effects), path);
  }
  std::cerr << "wrote " << path << '\n';
}

std::vector<cluster::OrderEffect> EffectsBeside(const ClusterReportFlags& flags, const cluster::Cluster& together) {
  try {
    return cluster::OrderEffects(together, cluster::ReadClusterFile(flags.alone));
  } catch (const BadInput& refusal) {
    throw BadInput("--alone={}: {}", flags.alone, refusal.what());
  }
}

void ReportCluster(const ClusterReportFlags& flags) {
  for (const auto& path : flags.outputs)
    if (!std::ranges::any_of(kClusterOutputs, [&](const char* end) { return path.ends_with(end); }))
      throw BadInput("-o {}: unknown extension, expected one of {}", path,
                     fmt::join(kClusterOutputs, ", "));
  auto cluster = cluster::ReadClusterFile(flags.file);
  if (!flags.network.empty()) cluster.network = cluster::ReadMeasuredNetwork(flags.network);
  auto effects = cluster::MakeNodeEffects(cluster);
  if (!flags.alone.empty()) effects.order = EffectsBeside(flags, cluster);
  cluster::WriteClusterTable(cluster, effects, text::TerminalColumns(), flags.verbose, std::cout);
  std::cout << std::flush;
  for (const auto& path : flags.outputs) WriteClusterOutput(cluster, effects, path);
}

}  // namespace

void AddClusterReport(CLI::App& cluster) {
  auto flags = std::make_shared<ClusterReportFlags>();
  auto* command = cluster.add_subcommand(
      "report", "a cluster file for people: nodes, roofs and benchmarks over nodes");
  command->add_option("FILE", flags->file, "file of `dlroof cluster gather`")->required();
  command
      ->add_option("-o,--output", flags->outputs,
                   "also write x.html (page), x.md, x.csv (every time), or x.svg, x.pdf, x.png "
                   "(map of nodes and benchmarks)")
      ->allow_extra_args(false);
  command->add_option("--network", flags->network,
                      "file of dlroof_net: rates of the links, and which are slow");
  command->add_option("--alone", flags->alone,
                      "file of the same nodes measured one by one: what they take from each other");
  command->add_flag("--verbose", flags->verbose, "all rows, not the first 20");
  command->callback([flags] { ReportCluster(*flags); });
}

}  // namespace dlroof::cluster_run
