// dlroof cluster script: the script that starts every node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/visits.h"
#include "bench/cluster/commands.h"
#include "bench/cluster/launch_script.h"
#include "counters/base/error.h"
#include "counters/base/files.h"

namespace dlroof::cluster_run {
namespace {

namespace fs = std::filesystem;

struct ScriptFlags {
  LaunchRequest request{
      .engine = "slurm", .nodes = 0, .out = "", .dlroof = "", .arguments = {}, .options = {}};
  std::string output, revisit;  // files
};

std::string ThisProgram() {
  std::error_code none;
  const auto path = fs::read_symlink("/proc/self/exe", none);
  if (none) throw BadInput("cluster script: this program's path is not known; give --dlroof");
  return path.string();
}

// Fills in the suspects of a cluster file and the ordinary nodes beside them.
void FillRevisit(const std::string& path, LaunchRequest& request) {
  if (request.engine != "slurm" || request.nodes != 0 || request.gpus != 0 ||
      !request.arguments.empty())
    throw BadInput(
        "--revisit={}: expected --engine=slurm, without -N, --per-gpu and arguments, which the "
        "file has",
        path);
  const auto cluster = cluster::ReadClusterFile(path);
  const auto revisit = cluster::RevisitOf(cluster, cluster::OutlierRules());
  if (revisit.suspects.empty())
    throw BadInput("{}: no node is a suspect, so none is to be visited again", path);
  std::set<std::string> hosts;
  for (const auto node : revisit.nodes) hosts.insert(cluster::HostOf(cluster.nodes[node]));
  request.engine = "slurm-revisit";
  for (const auto node : revisit.nodes)
    for (const auto& [roof, value] : cluster.nodes[node].ceilings)
      request.net = request.net || cluster::IsLink(roof);
  request.nodes = static_cast<int>(hosts.size());
  request.gpus = cluster::GpusOfHosts(cluster).value_or(0);
  request.visits = revisit.visits;
  request.arguments = cluster.nodes[revisit.nodes.front()].facts.arguments;
  request.names.assign(hosts.begin(), hosts.end());
  std::ranges::sort(request.names, cluster::NodeNameLess);
  if (request.out.empty()) request.out = fs::absolute(path).parent_path().string();
}

void RunScript(ScriptFlags flags) {
  auto& request = flags.request;
  if (!flags.revisit.empty())
    FillRevisit(flags.revisit, request);
  else if (request.nodes == 0 || request.out.empty())
    throw BadInput("cluster script: expected -N and --out, or --revisit");
  request.out = fs::absolute(request.out).string();
  request.dlroof = request.dlroof.empty() ? ThisProgram() : fs::absolute(request.dlroof).string();
  const auto script = LaunchScript(request);
  if (flags.output.empty()) {
    std::cout << script << std::flush;
    return;
  }
  WriteFile(flags.output, script);
  std::cerr << "wrote " << flags.output << '\n';
}

// Adds the flags that say which processes measure at once.
void AddProcessFlags(CLI::App& command, LaunchRequest& request) {
  command
      .add_option("--order", request.order,
                  "all nodes at once, or one after the other: `cluster report --alone` compares")
      ->capture_default_str()
      ->check(CLI::IsMember({"at-once", "one-by-one"}));
  command
      .add_option("--per-gpu", request.gpus,
                  "start a process for each of a node's GPUs, so many, which sees that one alone "
                  "(default: a process for each node, which sees all)")
      ->check(CLI::Range(1, 64));
  command
      .add_option("--meet-seconds", request.meet_seconds,
                  "[s] at once, nodes wait before each benchmark for each other, so long at most; "
                  "who misses it is left out")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

}  // namespace

void AddClusterScript(CLI::App& cluster) {
  auto flags = std::make_shared<ScriptFlags>();
  auto* command = cluster.add_subcommand(
      "script",
      "a script that measures every node of a job and gathers; again it does what is missing");
  std::vector<std::string> engines;
  for (const auto& script : LaunchScripts())
    if (script.name.find('-') == std::string_view::npos) engines.emplace_back(script.name);
  auto& request = flags->request;
  command
      ->add_option("--engine", request.engine, fmt::format("{} (slurm)", fmt::join(engines, ", ")))
      ->check(CLI::IsMember(engines));
  command->add_option("-N,--nodes", request.nodes, "number of nodes")->check(CLI::Range(1, 100000));
  command->add_option("--out", request.out, "folder that all nodes share");
  command->add_option("--dlroof", request.dlroof, "this program on the nodes (this one's path)");
  command
      ->add_option(
          "--option", request.options,
          "for sbatch (--option=--partition=gpu), mpirun or ReFrame's job; may be repeated")
      ->allow_extra_args(false);
  AddProcessFlags(*command, request);
  command->add_flag("--net", request.net,
                    "also measure the network, by the dlroof_net beside --dlroof");
  command->add_option("--revisit", flags->revisit,
                      "cluster file: visit its suspects again, beside ordinary nodes, as often as "
                      "a verdict needs");
  command->add_option("-o,--output", flags->output, "write it there (standard output)");
  command->add_option("ARGUMENTS", request.arguments,
                      "after --: what dlroof_bench is given, such as --dlroof_suite=resnet50");
  command->callback([flags] { RunScript(*flags); });
}

}  // namespace dlroof::cluster_run
