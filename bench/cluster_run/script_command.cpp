// dlroof cluster script: the Slurm job that starts `dlroof cluster node` on every node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/node_effects.h"
#include "bench/cluster_run/commands.h"
#include "bench/runner/bench_flags.h"
#include "bench/runner/run_context.h"
#include "bench/supervise/supervised_program.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/program.h"
#include "reporters/figure/page.h"
#include "reporters/text/text.h"

namespace dlroof::cluster_run {

// Returns the template slurm.sh.in; LaunchScript replaces its {{keys}}.
const std::vector<EmbeddedFile>& LaunchScripts();

namespace {

void RefuseControls(const std::string& text) {
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    throw BadInput("cluster script: '{}' has a control character, which a script cannot contain",
                   text);
}

std::string DirectiveLines(const std::vector<std::string>& options) {
  std::string lines;
  for (const auto& option : options) {
    if (!option.starts_with('-'))
      throw BadInput("--option '{}': expected an option of sbatch, such as --partition=gpu",
                     option);
    lines += fmt::format("#SBATCH {}\n", option);
  }
  return lines;
}

// Returns the arguments for dlroof_bench. With one process per GPU, each measures only its GPU.
std::vector<std::string> ArgumentsOf(const LaunchRequest& request) {
  constexpr std::string_view kDevice = "--dlroof_device=";
  auto arguments = request.arguments;
  if (!request.gpus) return arguments;
  bool specified = false;
  for (const auto& argument : arguments) {
    if (!argument.starts_with(kDevice)) continue;
    if (argument != std::string(kDevice) + "gpu")
      throw BadInput("--per-gpu: each process has one GPU; expected --dlroof_device=gpu, not {}",
                     argument);
    specified = true;
  }
  if (!specified) arguments.push_back(std::string(kDevice) + "gpu");
  return arguments;
}

std::vector<std::string> OptionsOf(const LaunchRequest& request) {
  std::vector<std::string> options;
  if (request.names)
    options.push_back(fmt::format("--nodelist={}", fmt::join(*request.names, ",")));
  if (request.gpus) options.push_back(fmt::format("--gpus-per-node={}", *request.gpus));
  options.insert(options.end(), request.options.begin(), request.options.end());
  return options;
}

}  // namespace

std::string LaunchScript(const LaunchRequest& request) {
  for (const auto* texts : {&request.arguments, &request.options})
    for (const auto& text : *texts) RefuseControls(text);
  RefuseControls(request.out);
  RefuseControls(request.dlroof);
  const auto quoted = [](const std::string& text) { return text::CommandLine({text}); };
  std::ostringstream script;
  figure::Fill(LaunchScripts().front().text,
               {{"nodes", std::to_string(request.nodes)},
                {"out", quoted(request.out)},
                {"dlroof", quoted(request.dlroof)},
                {"arguments", text::CommandLine(ArgumentsOf(request))},
                {"options", DirectiveLines(OptionsOf(request))},
                {"gpus", std::to_string(request.gpus.value_or(0))},
                {"tasks", std::to_string(request.gpus.value_or(1))},
                {"visits", std::to_string(request.visits)}},
               script);
  return script.str();
}

namespace {

namespace fs = std::filesystem;

// Throws BadInput, which begins with `where`, for an argument that dlroof_bench does not have or
// that `cluster node` sets itself. Otherwise the job would start and fail on every node.
void CheckArguments(const std::vector<std::string>& arguments, const std::string& where) {
  std::vector<std::string> line = {"dlroof_bench"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  runner::BenchFlags flags;
  try {
    supervise::CheckArguments(arguments);
    runner::ReadOwnFlags(runner::OwnArguments(line), flags);
    runner::ReadBenchmarkFlags(line, flags);
  } catch (const BadInput& refusal) {
    throw BadInput("{}: {}", where, refusal.what());
  }
}

// Throws BadInput if the arguments in a cluster file name a library, which the job would load.
void RefuseLibrary(const std::vector<std::string>& arguments, const std::string& path) {
  for (const auto& argument : arguments)
    if (argument.starts_with("--dlroof_onednn"))
      throw BadInput(
          "{}: its nodes were measured with {}: a file may not choose what a job loads; repeat the "
          "file's arguments after -- if you trust this library",
          path, argument);
}

struct ScriptFlags {
  LaunchRequest request;
  std::optional<std::string> output, revisit;  // files
};

// Requests the nodes of a cluster file to measure again: its suspects, and others to compare with.
void FillRevisit(const std::string& path, LaunchRequest& request) {
  if (request.nodes != 0 || request.gpus)
    throw BadInput("--revisit={}: expected no -N and --per-gpu, which the file has", path);
  const auto cluster = cluster::ReadClusterFile(path);
  const auto revisit = cluster::RevisitOf(cluster);
  if (revisit.suspects.empty())
    throw BadInput("{}: no node is a suspect, so there is none to visit again", path);
  std::set<std::string> hosts;
  for (const auto node : revisit.nodes) hosts.insert(cluster::HostOf(cluster.nodes[node]));
  request.nodes = static_cast<int>(hosts.size());
  request.gpus = cluster::GpusOfHosts(cluster);
  request.visits = cluster::kFurtherVisits;
  const auto& arguments = cluster.nodes[revisit.nodes.front()].facts.arguments;
  CheckArguments(arguments, path);
  if (request.arguments.empty())
    RefuseLibrary(arguments, path);
  else if (request.arguments != arguments)
    throw BadInput("--revisit={}: its nodes were measured with other arguments: {}", path,
                   text::CommandLine(arguments));
  request.arguments = arguments;
  request.names.emplace(hosts.begin(), hosts.end());
  std::ranges::sort(*request.names, cluster::NodeNameLess);
  if (request.out.empty()) request.out = fs::absolute(path).parent_path().string();
}

int RunScript(ScriptFlags flags) {
  auto& request = flags.request;
  if (flags.revisit)
    FillRevisit(*flags.revisit, request);
  else if (request.nodes == 0 || request.out.empty())
    throw BadInput("cluster script: expected -N and --out, or --revisit");
  else
    CheckArguments(request.arguments, "after --");
  request.out = fs::absolute(request.out).string();
  if (request.dlroof.empty()) request.dlroof = ProgramPath().string();
  if (request.dlroof.empty())
    throw BadInput("cluster script: this program's path is not known; expected --dlroof");
  request.dlroof = fs::absolute(request.dlroof).string();
  const auto script = LaunchScript(request);
  if (!flags.output) {
    std::cout << script << std::flush;
    return 0;
  }
  WriteFile(*flags.output, script);
  std::cerr << "wrote " << *flags.output << '\n';
  return 0;
}

}  // namespace

runner::Command MakeClusterScript() {
  auto flags = std::make_shared<ScriptFlags>();
  auto& request = flags->request;
  return {
      .name = "script",
      .about =
          "write a Slurm job that measures every node and gathers the results; submitted again it "
          "measures only what is missing",
      .options =
          {{"-N,--nodes", &request.nodes, "number of nodes", {.limits = runner::Range{1, 100000}}},
           {"--out", &request.out, "folder that all nodes share", {.type = runner::kFolder}},
           runner::Ruled("--dlroof", {.type = runner::kFile}, &request.dlroof,
                         "path of dlroof on the nodes (default: the path of this program)"),
           runner::Ruled(
               "--option", {.one_each = true}, &request.options,
               "option for sbatch (--option=--partition=gpu, --option=--time=2:00:00); may be "
               "repeated"),
           runner::Ruled(
               "--per-gpu", {.limits = runner::Range{1, 64}}, &request.gpus,
               "number of GPUs of a node: start one process for each GPU, which sees only this GPU "
               "(default: one process for each node, which sees all GPUs)"),
           runner::Ruled(
               "--revisit", {.type = runner::kFile}, &flags->revisit,
               "cluster file whose suspects are visited again together with ordinary nodes, five "
               "times"),
           runner::Ruled("-o,--output", {.type = runner::kFile}, &flags->output,
                         "file to write the script to (default: standard output)"),
           runner::Ruled("ARGUMENTS", {.type = runner::kFlag}, &request.arguments,
                         "after --: arguments for dlroof_bench, such as --dlroof_suite=resnet50")},
      .run = [flags] { return RunScript(*flags); }};
}

}  // namespace dlroof::cluster_run
