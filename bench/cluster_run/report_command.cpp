// dlroof cluster gather and report: join the files of all nodes to one cluster file, and show it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/node_effects.h"
#include "bench/cluster_run/commands.h"
#include "bench/cluster_run/node_folder.h"
#include "bench/runner/run_context.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "reporters/figure/cluster_figures.h"
#include "reporters/figure/figure.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

constexpr int kSlowNode = 1, kNotAllWhole = 3;  // exit codes
constexpr int kBadFile = 2;
constexpr std::size_t kMaxListed = 20;

struct GatherFlags {
  std::string folder, output = "cluster.json";
};

std::vector<cluster::NodeSummary> ReadAll(const NodeFolder& folder) {
  const auto files = folder.NodeFiles();
  const auto unfinished = folder.Unfinished();
  for (const auto& file : files) cluster::CheckNodeName(file.stem().string(), file.string());
  for (const auto& name : unfinished) cluster::CheckNodeName(name, folder.Facts(name).string());
  std::vector<cluster::NodeSummary> summaries;
  for (const auto& file : files) summaries.push_back(ReadNodeFile(file));
  for (const auto& name : unfinished) summaries.push_back(ReadUnfinished(folder, name));
  return summaries;
}

// Reads the re-measurements of suspect nodes in DIR/visits/. Skips invalid files with a message.
std::vector<std::vector<cluster::NodeSummary>> ReadVisits(const std::filesystem::path& path) {
  std::vector<std::vector<cluster::NodeSummary>> visits;
  for (const int number : NodeFolder(path).Visits()) {
    auto& visit = visits.emplace_back();
    const NodeFolder folder(path, number);
    for (const auto& file : folder.NodeFiles()) {
      auto summary = ReadNodeFile(file);
      if (summary.status == cluster::NodeStatus::kComplete)
        visit.push_back(std::move(summary));
      else
        std::cerr << fmt::format("visit {}: skipped: {}\n", number,
                                 text::Printable(summary.reason));
    }
  }
  return visits;
}

struct NotWhole {
  std::size_t count = 0;
  bool bad_file = false;  // the file of a node is invalid or incomplete
};

// Prints which nodes are incomplete, and why.
NotWhole PrintNotWhole(const cluster::Cluster& cluster) {
  NotWhole absent;
  for (const auto& node : cluster.nodes) {
    if (node.status == cluster::NodeStatus::kComplete) continue;
    absent.bad_file = absent.bad_file || node.status == cluster::NodeStatus::kFailed ||
                      (node.status == cluster::NodeStatus::kPartial && !IsJournal(node.file));
    if (++absent.count <= kMaxListed)
      std::cerr << fmt::format("{}: {}: {}\n", text::Printable(node.name()),
                               cluster::Key(node.status), text::Printable(node.reason));
  }
  if (absent.count > kMaxListed)
    std::cerr << fmt::format("and {} more nodes\n", absent.count - kMaxListed);
  return absent;
}

// Returns the hosts of the slow nodes, sorted, each once.
std::vector<std::string> HostsToDrain(const cluster::Cluster& cluster) {
  std::set<std::string> hosts;
  for (const auto& finding : cluster.findings)
    if (finding.verdict == cluster::NodeVerdict::kSlow)
      hosts.insert(cluster::HostOf(cluster.nodes[finding.node]));
  std::vector<std::string> sorted(hosts.begin(), hosts.end());
  std::ranges::sort(sorted, cluster::NodeNameLess);
  return sorted;
}

// Prints the slow nodes, and Slurm's command that drains them.
void PrintVerdicts(const cluster::Cluster& cluster, std::ostream& out) {
  for (const auto& finding : cluster.findings)
    if (finding.verdict == cluster::NodeVerdict::kSlow)
      out << fmt::format("{}: slow, by {:.1f} % ({})\n", cluster.nodes[finding.node].name(),
                         100 * (finding.ratio - 1), text::Printable(finding.what));
  if (const auto hosts = HostsToDrain(cluster); !hosts.empty())
    out << fmt::format(
        "to drain: scontrol update NodeName={} State=DRAIN Reason='slow by dlroof cluster'\n",
        fmt::join(hosts, ","));
}

// Returns kSlowNode if a node is slow, else kNotAllWhole if a node is not complete, else 0.
int ExitCodeOf(const cluster::Cluster& cluster) {
  if (!HostsToDrain(cluster).empty()) return kSlowNode;
  const bool whole = std::ranges::all_of(cluster.nodes, [](const cluster::ClusterNode& node) {
    return node.status == cluster::NodeStatus::kComplete;
  });
  return whole ? 0 : kNotAllWhole;
}

int RunGather(const GatherFlags& flags) {
  const NodeFolder folder(flags.folder);
  if (!std::filesystem::is_directory(folder.path() / "nodes"))
    throw BadInput("{}: expected the folder of `dlroof cluster node --out`, which has 'nodes'",
                   flags.folder);
  auto cluster = cluster::Gather(ReadAll(folder), folder.Asked(), ReadNodeRun);
  cluster::AddFindings(ReadVisits(flags.folder), cluster::OutlierRules(), cluster);
  const std::vector<std::string> command = {"dlroof",     "cluster", "gather",
                                            flags.folder, "-o",      flags.output};
  WriteFile(flags.output, JsonText(cluster::ToJson(cluster, runner::CommandLine(command))) + '\n',
            OnDisk::kNow);
  const auto absent = PrintNotWhole(cluster);
  for (const auto& remark : cluster.remarks) std::cerr << text::Printable(remark) << '\n';
  PrintVerdicts(cluster, std::cerr);
  std::cerr << fmt::format("{} of {} nodes are complete; {} benchmarks\nwrote {}\n",
                           cluster.nodes.size() - absent.count, cluster.nodes.size(),
                           cluster.run.records.size(), flags.output);
  return absent.bad_file ? kBadFile : ExitCodeOf(cluster);
}

constexpr std::array kClusterOutputs = {".html", ".md", ".csv", ".svg", ".pdf", ".png"};

struct ClusterReportFlags {
  std::string file;
  std::vector<std::string> outputs;
  bool verbose = false;
};

std::string ClusterPage(const cluster::Cluster& cluster, const cluster::NodeEffects& effects) {
  const auto [figure, reason] = figure::DrawForPage(
      [&] { return figure::NodeMapScript(cluster::MapOf(cluster, effects), "svg"); });
  std::ostringstream page;
  document::WriteHtml(cluster::ClusterDocument(cluster, effects, true),
                      cluster::ClusterTitle(cluster), {figure, reason.value_or(Reason{}).text},
                      page);
  return page.str();
}

void WriteClusterOutput(const cluster::Cluster& cluster, const cluster::NodeEffects& effects,
                        const std::string& path) {
  std::ostringstream text;
  if (path.ends_with(".html")) {
    WriteFile(path, ClusterPage(cluster, effects));
  } else if (path.ends_with(".md") || path.ends_with(".csv")) {
    if (path.ends_with(".md"))
      document::WriteMarkdown(cluster::ClusterDocument(cluster, effects, true), text);
    else
      cluster::WriteClusterCsv(cluster, effects, text);
    WriteFile(path, text.str());
  } else {
    figure::WriteDrawing(path, [&](const std::string& extension) {
      return figure::NodeMapScript(cluster::MapOf(cluster, effects), extension);
    });
  }
  std::cerr << "wrote " << path << '\n';
}

int ReportCluster(const ClusterReportFlags& flags) {
  for (const auto& path : flags.outputs)
    if (!std::ranges::any_of(kClusterOutputs, [&](const char* end) { return path.ends_with(end); }))
      throw BadInput("-o {}: unknown extension, expected one of {}", path,
                     fmt::join(kClusterOutputs, ", "));
  const auto cluster = cluster::ReadClusterFile(flags.file);
  const auto effects = cluster::MakeNodeEffects(cluster);
  document::Write(cluster::ClusterDocument(cluster, effects, flags.verbose),
                  text::TerminalColumns(), std::cout);
  PrintVerdicts(cluster, std::cout);
  std::cout << std::flush;
  for (const auto& path : flags.outputs) WriteClusterOutput(cluster, effects, path);
  return ExitCodeOf(cluster);
}

}  // namespace

runner::Command MakeClusterGather() {
  auto flags = std::make_shared<GatherFlags>();
  return {
      .name = "gather",
      .about =
          "join the files of all nodes to one cluster file; exit code 1: a node is slow, 3: some "
          "nodes are incomplete, 2: a node's file is invalid",
      .options = {{"DIR",
                   &flags->folder,
                   "the nodes' shared folder",
                   {.type = runner::kFolder, .required = true}},
                  {"-o,--output",
                   &flags->output,
                   "cluster file to write (default cluster.json)",
                   {.type = runner::kFile}}},
      .run = [flags] { return RunGather(*flags); }};
}

runner::Command MakeClusterReport() {
  auto flags = std::make_shared<ClusterReportFlags>();
  return {
      .name = "report",
      .about =
          "show a cluster file: nodes, and roofs and benchmarks over nodes; exit code 1: a node is "
          "slow, 3: some nodes are incomplete",
      .options =
          {{"FILE",
            &flags->file,
            "file of `dlroof cluster gather`",
            {.type = runner::kFile, .required = true}},
           {"-o,--output",
            &flags->outputs,
            "also write x.html (page), x.md, x.csv (every time), or x.svg, x.pdf, x.png (map of "
            "nodes and benchmarks)",
            {.type = runner::kFile, .one_each = true}},
           {"--verbose", &flags->verbose, "show all rows, not only the first 20"}},
      .run = [flags] { return ReportCluster(*flags); }};
}

}  // namespace dlroof::cluster_run
