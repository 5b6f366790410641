// dlroof cluster gather: joins all nodes' files to one cluster file. cluster report: shows it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/node_effects.h"
#include "bench/cluster_run/commands.h"
#include "bench/cluster_run/node_folder.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "reporters/figure/outputs.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

constexpr int kSlowNode = 1, kBadFile = 2, kIncompleteNode = 3;  // exit codes
constexpr std::size_t kMaxListed = 20;

struct GatherFlags {
  std::string folder, output = "cluster.json";
};

std::vector<cluster::NodeSummary> ReadAll(const NodeFolder& folder) {
  const auto files = folder.NodeFiles();
  const auto unfinished = folder.Unfinished();
  for (const auto& file : files) cluster::CheckNodeName(file.stem().string(), file.string());
  for (const auto& name : unfinished) cluster::CheckNodeName(name, folder.Facts(name).string());
  std::vector<cluster::NodeSummary> summaries(files.size());
  const std::size_t parts = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::future<void>> readers;
  for (std::size_t part = 0; part < parts; ++part)
    readers.push_back(std::async(std::launch::async, [&, part] {
      for (std::size_t i = part; i < files.size(); i += parts)
        summaries[i] = ReadNodeFile(files[i]);
    }));
  for (auto& reader : readers) reader.get();
  for (const auto& name : unfinished) summaries.push_back(ReadUnfinished(folder, name));
  return summaries;
}

// Reads the re-measurements of suspect nodes in PATH/visits/. Skips invalid and incomplete files
// with a message.
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

struct Incomplete {
  std::size_t count = 0;
  bool bad_file = false;  // the file of a node is invalid or incomplete
};

Incomplete PrintIncomplete(const cluster::Cluster& cluster) {
  Incomplete absent;
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

std::string SentenceOf(const cluster::Cluster& cluster, const cluster::Finding& finding) {
  const auto& node = cluster.nodes[finding.node];
  const auto& name = node.name();
  if (finding.verdict == cluster::NodeVerdict::kSlow)
    return fmt::format("{}: slow, by {:.1f} % ({})", name, 100 * (finding.ratio - 1), finding.what);
  if (finding.verdict == cluster::NodeVerdict::kLimited) {
    const auto& load = node.facts.load;
    auto text = fmt::format("{}: limited by a quota", name);
    if (load.quota_cpus && node.facts.cpus_specified)
      text += fmt::format(" of {:g} of {} CPUs", *load.quota_cpus, *node.facts.cpus_specified);
    if (load.throttled && load.periods)
      text += fmt::format(", stopped in {:.0f} of {:.0f} periods", *load.throttled, *load.periods);
    return text;
  }
  return fmt::format(
      "{}: disturbed by {}: {:.0f} % of its repetitions are noisy, they took {:.2f} "
      "times the time of clean ones",
      name, finding.what, 100 * node.interference.NoisyShare(), finding.ratio);
}

bool IsTold(const cluster::Finding& finding) {
  return finding.verdict != cluster::NodeVerdict::kSuspect &&
         finding.verdict != cluster::NodeVerdict::kNotConfirmed;
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

// Prints a sentence for each finding but suspicions, and Slurm's command that drains slow nodes.
void PrintVerdicts(const cluster::Cluster& cluster, std::ostream& out) {
  for (const auto& finding : cluster.findings)
    if (IsTold(finding)) out << text::Printable(SentenceOf(cluster, finding)) << '\n';
  const auto hosts = HostsToDrain(cluster);
  if (!hosts.empty())
    out << fmt::format(
        "to drain: scontrol update NodeName={} State=DRAIN Reason='slow by dlroof cluster'\n",
        fmt::join(hosts, ","));
}

int ExitCodeOf(const cluster::Cluster& cluster) {
  if (!HostsToDrain(cluster).empty()) return kSlowNode;
  const bool whole = std::ranges::all_of(cluster.nodes, [](const cluster::ClusterNode& node) {
    return node.status == cluster::NodeStatus::kComplete;
  });
  return whole ? 0 : kIncompleteNode;
}

int RunGather(const GatherFlags& flags) {
  const NodeFolder folder(flags.folder);
  if (!std::filesystem::is_directory(folder.path() / "nodes"))
    throw BadInput("{}: expected the folder of `dlroof cluster node --out`, which has 'nodes'",
                   flags.folder);
  RefuseInputs({flags.output}, VectorOf<std::string>(folder.NodeFiles(), [](const auto& file) {
                 return file.string();
               }));
  auto cluster = cluster::Gather(ReadAll(folder), folder.Asked(), ReadNodeRun);
  cluster::AddFindings(ReadVisits(flags.folder), cluster);
  const std::vector<std::string> command = {"dlroof",     "cluster", "gather",
                                            flags.folder, "-o",      flags.output};
  WriteFile(flags.output, JsonText(cluster::ToJson(cluster, text::CommandLine(command))) + '\n',
            OnDisk::kNow);
  const auto absent = PrintIncomplete(cluster);
  for (const auto& remark : cluster.remarks) std::cerr << text::Printable(remark) << '\n';
  PrintVerdicts(cluster, std::cerr);
  std::cerr << fmt::format("{} of {} nodes are complete; {} benchmarks\nwrote {}\n",
                           cluster.nodes.size() - absent.count, cluster.nodes.size(),
                           cluster.run.records.size(), flags.output);
  return absent.bad_file ? kBadFile : ExitCodeOf(cluster);
}

struct ClusterReportFlags {
  std::string file;
  std::vector<std::string> outputs;
  bool verbose = false;
};

std::string PageOf(const cluster::Cluster& cluster, const cluster::NodeEffects& effects,
                   const std::string&) {
  const auto [svg, why_none] = figure::DrawForPage(
      [&] { return figure::NodeMapScript(cluster::MapOf(cluster, effects), "svg"); });
  std::ostringstream page;
  document::WriteHtml(cluster::ClusterDocument(cluster, effects, true),
                      cluster::ClusterTitle(cluster), svg, why_none, page);
  return page.str();
}

std::string TextOf(const cluster::Cluster& cluster, const cluster::NodeEffects& effects,
                   const std::string& extension) {
  std::ostringstream text;
  if (extension == "md")
    document::WriteMarkdown(cluster::ClusterDocument(cluster, effects, true), text);
  else
    cluster::WriteClusterCsv(cluster, effects, text);
  return text.str();
}

std::string ScriptOf(const cluster::Cluster& cluster, const cluster::NodeEffects& effects,
                     const std::string& extension) {
  return figure::NodeMapScript(cluster::MapOf(cluster, effects), extension);
}

int ReportCluster(const ClusterReportFlags& flags) {
  const figure::Outputs<cluster::Cluster, cluster::NodeEffects> outputs(
      {{"html", PageOf}, {"md", TextOf}, {"csv", TextOf}}, ScriptOf);
  outputs.Check(flags.outputs, {flags.file});
  auto cluster = cluster::ReadClusterFile(flags.file);
  const auto effects = cluster::MakeNodeEffects(cluster);
  document::Write(cluster::ClusterDocument(cluster, effects, flags.verbose),
                  text::TerminalColumns(), std::cout);
  PrintVerdicts(cluster, std::cout);
  std::cout << std::flush;
  outputs.Write(flags.outputs, cluster, effects);
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
      .options = {runner::Ruled("DIR", {.type = runner::kFolder, .required = true}, &flags->folder,
                                "the nodes' shared folder"),
                  runner::Ruled("-o,--output", {.type = runner::kFile}, &flags->output,
                                "cluster file to write (default cluster.json)")},
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
          {runner::Ruled("FILE", {.type = runner::kFile, .required = true}, &flags->file,
                         "file of `dlroof cluster gather`"),
           runner::Ruled(
               "-o,--output", {.type = runner::kFile, .one_each = true}, &flags->outputs,
               "also write x.html (page), x.md, x.csv (every time), or x.svg, x.pdf, x.png (map of "
               "nodes and benchmarks)"),
           {"--verbose", &flags->verbose, "show all rows, not only the first 20"}},
      .run = [flags] { return ReportCluster(*flags); }};
}

}  // namespace dlroof::cluster_run
