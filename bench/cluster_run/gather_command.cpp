// dlroof cluster gather: joins the files of all nodes to one cluster file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <iostream>
#include <memory>
#include <thread>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/node_effects.h"
#include "bench/cluster_run/commands.h"
#include "bench/cluster_run/node_folder.h"
#include "bench/cluster_run/verdict.h"
#include "bench/command_line/description.h"
#include "bench/runner/run_context.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {
namespace {

constexpr int kBadFile = 2;  // exit code
constexpr std::size_t kMostListed = 20;

struct GatherFlags {
  std::string folder, output = "cluster.json";
  std::vector<std::string> without;  // nodes to leave out
  bool mix_unlike = false;
  std::optional<std::string> drain_list;  // file
};

bool IsLeftOut(const GatherFlags& flags, const std::string& name, const std::string& host) {
  return std::ranges::any_of(flags.without, [&](const std::string& node) {
    return node == name || node == host || name.starts_with(node + "-gpu");
  });
}

// Removes the nodes of --without. Throws BadInput for a name that is none of a node.
void LeaveOut(const GatherFlags& flags, std::vector<cluster::NodeSummary>& summaries,
              std::optional<std::vector<std::string>>& asked) {
  for (const auto& node : flags.without) {
    GatherFlags one;
    one.without = {node};
    const bool known =
        std::ranges::any_of(summaries,
                            [&](const cluster::NodeSummary& summary) {
                              return IsLeftOut(one, summary.facts.name, summary.facts.host);
                            }) ||
        (asked && std::ranges::any_of(
                      *asked, [&](const std::string& name) { return IsLeftOut(one, name, ""); }));
    if (!known) throw BadInput("--without={}: no node of {} has this name", node, flags.folder);
  }
  std::erase_if(summaries, [&](const cluster::NodeSummary& summary) {
    return IsLeftOut(flags, summary.facts.name, summary.facts.host);
  });
  if (asked)
    std::erase_if(*asked, [&](const std::string& name) { return IsLeftOut(flags, name, ""); });
}

std::vector<cluster::NodeSummary> ReadAll(const NodeFolder& folder) {
  const auto files = folder.NodeFiles();
  std::vector<cluster::NodeSummary> summaries(files.size());
  const std::size_t parts = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::future<void>> readers;
  for (std::size_t part = 0; part < parts; ++part)
    readers.push_back(std::async(std::launch::async, [&, part] {
      for (std::size_t i = part; i < files.size(); i += parts)
        summaries[i] = ReadNodeFile(files[i]);
    }));
  for (auto& reader : readers) reader.get();
  for (const auto& name : folder.Unfinished()) summaries.push_back(ReadUnfinished(folder, name));
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
    if (++absent.count <= kMostListed)
      std::cerr << fmt::format("{}: {}: {}\n", text::Printable(node.name),
                               cluster::Key(node.status), text::Printable(node.reason));
  }
  if (absent.count > kMostListed)
    std::cerr << fmt::format("and {} more nodes\n", absent.count - kMostListed);
  return absent;
}

int RunGather(const GatherFlags& flags) {
  const NodeFolder folder(flags.folder);
  if (!std::filesystem::is_directory(folder.path() / "nodes"))
    throw BadInput("{}: expected the folder of `dlroof cluster node --out`, which has 'nodes'",
                   flags.folder);
  auto summaries = ReadAll(folder);
  auto asked = folder.Asked();
  LeaveOut(flags, summaries, asked);
  auto cluster =
      cluster::Gather(std::move(summaries), asked, ReadNodeRun, {.mix_unlike = flags.mix_unlike});
  if (!flags.without.empty())
    cluster.remarks.push_back(
        fmt::format("left out by --without: {}", fmt::join(flags.without, ", ")));
  if (flags.mix_unlike)
    cluster.remarks.emplace_back(
        "unlike nodes are in one median (--mix-unlike): software and settings were not compared");
  cluster::AddFindings(ReadVisits(flags.folder), cluster::OutlierRules(), cluster);
  std::vector<std::string> command = {"dlroof",     "cluster", "gather",
                                      flags.folder, "-o",      flags.output};
  for (const auto& node : flags.without) command.insert(command.end(), {"--without", node});
  if (flags.mix_unlike) command.emplace_back("--mix-unlike");
  WriteFile(flags.output, JsonText(cluster::ToJson(cluster, runner::CommandLine(command))) + '\n',
            OnDisk::kNow);
  const auto absent = PrintNotWhole(cluster);
  for (const auto& remark : cluster.remarks) std::cerr << text::Printable(remark) << '\n';
  PrintVerdicts(cluster, flags.drain_list, std::cerr);
  std::cerr << fmt::format("{} of {} nodes are whole; {} benchmarks\nwrote {}\n",
                           cluster.nodes.size() - absent.count, cluster.nodes.size(),
                           cluster.run.records.size(), flags.output);
  return absent.bad_file ? kBadFile : ExitCodeOf(cluster);
}

}  // namespace

void AddClusterGather(CLI::App& cluster, int& exit_code) {
  auto flags = std::make_shared<GatherFlags>();
  auto* command = cluster.add_subcommand(
      "gather",
      "join the files of all nodes to one cluster file; exit code 1: a node is slow, 3: some nodes "
      "are incomplete, 2: a node's file is invalid");
  command->add_option("DIR", flags->folder, "the nodes' shared folder")
      ->type_name(command_line::kFolder)
      ->required();
  command->add_option("-o,--output", flags->output, "cluster file to write (default cluster.json)")
      ->type_name(command_line::kFile);
  command
      ->add_option("--without", flags->without,
                   "leave out these nodes, such as n3,n5; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--mix-unlike", flags->mix_unlike,
                    "take nodes of equal machines into one median although their software or "
                    "settings differ");
  command
      ->add_option("--drain-list", flags->drain_list,
                   "file to write with the names of the slow nodes, one per line")
      ->type_name(command_line::kFile);
  command->callback([flags, &exit_code] { exit_code = RunGather(*flags); });
}

}  // namespace dlroof::cluster_run
