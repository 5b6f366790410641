#include "bench/cluster_run/launch_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "baselines/cluster/cluster_file.h"
#include "baselines/cluster/node_effects.h"
#include "bench/cluster_run/commands.h"
#include "bench/command_line/description.h"
#include "bench/runner/bench_flags.h"
#include "bench/runner/run_context.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/page/page.h"

namespace dlroof::cluster_run {
namespace {

void RefuseControls(const std::string& text) {
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    throw BadInput("cluster script: '{}' has a control character, which a script cannot contain",
                   text);
}

// The begin of a line with an option for a scheduler that reads its script.
struct Directive {
  std::string_view engine, begin, command;
};
constexpr std::array<Directive, 5> kDirectives = {{{"slurm", "#SBATCH", "sbatch"},
                                                   {"slurm-revisit", "#SBATCH", "sbatch"},
                                                   {"pbs", "#PBS", "qsub"},
                                                   {"lsf", "#BSUB", "bsub"},
                                                   {"flux", "#flux:", "flux batch"}}};

const Directive* DirectiveOf(const std::string& engine) {
  const auto found = std::ranges::find(kDirectives, engine, &Directive::engine);
  return found == kDirectives.end() ? nullptr : &*found;
}

std::string DirectiveLines(const Directive& directive, const std::vector<std::string>& options) {
  std::string lines;
  for (const auto& option : options) {
    if (!option.starts_with("-"))
      throw BadInput("--option '{}': expected an option of {}, such as --partition=gpu", option,
                     directive.command);
    lines += fmt::format("{} {}\n", directive.begin, option);
  }
  return lines;
}

// Returns the template of this name, or nothing.
std::optional<std::string> ScriptNamed(const std::string& name) {
  for (const auto& script : LaunchScripts())
    if (script.name == name) return std::string(script.text);
  return std::nullopt;
}

// Returns the arguments of dlroof_bench. Processes that share a node's CPUs measure only their GPU.
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

// Returns the command of a node where the scheduler starts it on each.
std::vector<std::string> NodeCommand(const LaunchRequest& request) {
  std::vector<std::string> command = {request.dlroof, "cluster", "node",    "--out",
                                      request.out,    "--order", "at-once", "--"};
  const auto arguments = ArgumentsOf(request);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// Returns the values of the {{keys}}, quoted for the shell, or for ReFrame as JSON, which is valid
// Python.
std::map<std::string_view, std::string> Values(const LaunchRequest& request) {
  const bool python = request.engine == "reframe" || request.engine == "kubernetes";
  const auto* directive = DirectiveOf(request.engine);
  const auto one = [&](const std::string& text) {
    return python ? nlohmann::json(text).dump() : runner::CommandLine({text});
  };
  const auto list = [&](const std::vector<std::string>& texts) {
    return python ? nlohmann::json(texts).dump() : runner::CommandLine(texts);
  };
  const int tasks = request.gpus.value_or(1);
  auto options = request.options;
  if (request.gpus && request.engine != "mpirun")
    options.insert(options.begin(), fmt::format("--gpus-per-node={}", *request.gpus));
  const bool slurm = request.engine.starts_with("slurm");
  if (slurm && request.time) options.insert(options.begin(), "--time=" + *request.time);
  std::map<std::string_view, std::string> values = {
      {"nodes", std::to_string(request.nodes)},
      {"out", one(request.out)},
      {"dlroof", one(request.dlroof)},
      {"arguments", list(ArgumentsOf(request))},
      {"options", directive != nullptr ? DirectiveLines(*directive, options) : list(options)},
      {"job", ScriptNamed((slurm ? "slurm" : request.engine) + "-job").value_or("")},
      {"steps", directive != nullptr ? ScriptNamed("job-steps").value_or("") : ""},
      {"measure", ScriptNamed("job-measure").value_or("")},
      {"command", nlohmann::json(NodeCommand(request)).dump()},
      {"gpus", std::to_string(request.gpus.value_or(0))},
      {"tasks", std::to_string(tasks)},
      {"all_tasks", std::to_string(tasks * request.nodes)},
      {"nodelist", fmt::format("{}", fmt::join(request.names, ","))},
      {"visits", std::to_string(request.visits)},
      {"order", request.order},
      {"meet_seconds", fmt::format("{:g}", request.meet_seconds)},
      {"out_text", runner::CommandLine({request.out})},
      {"dlroof_text", runner::CommandLine({request.dlroof})}};
  std::ostringstream settings;
  page::Fill(ScriptNamed("job-settings").value_or(""), values, settings);
  values["settings"] = settings.str();
  return values;
}

}  // namespace

std::string LaunchScript(const LaunchRequest& request) {
  for (const auto* texts : {&request.arguments, &request.options, &request.names})
    for (const auto& text : *texts) RefuseControls(text);
  if (request.time) RefuseControls(*request.time);
  if (request.engine == "reframe" && request.order != "at-once")
    throw BadInput("--order={}: expected at-once, because ReFrame decides when its tests run",
                   request.order);
  constexpr std::array<std::string_view, 4> kWithoutGpus = {"pbs", "lsf", "flux", "kubernetes"};
  if (request.gpus && std::ranges::find(kWithoutGpus, request.engine) != kWithoutGpus.end())
    throw BadInput("--per-gpu: expected --engine=slurm, mpirun or reframe, not {}", request.engine);
  RefuseControls(request.out);
  RefuseControls(request.dlroof);
  std::vector<std::string_view> known;
  for (const auto& script : LaunchScripts()) {
    if (script.name.find('-') == std::string_view::npos) known.push_back(script.name);
    if (script.name != request.engine) continue;
    std::ostringstream text;
    page::Fill(script.text, Values(request), text);
    return text.str();
  }
  throw BadInput("--engine={}: expected {}", request.engine, fmt::join(known, ", "));
}

// dlroof cluster script: writes the script that starts `dlroof cluster node` on every node.

namespace {

namespace fs = std::filesystem;

// Throws BadInput for an argument that dlroof_bench does not have: the job would begin, and every
// node would end with the same message.
void RefuseUnknownFlags(const std::vector<std::string>& arguments) {
  std::vector<std::string> line = {"dlroof_bench"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  runner::BenchFlags flags;
  try {
    runner::ReadOwnFlags(runner::OwnArguments(line), flags);
    runner::ReadBenchmarkFlags(line, flags);
  } catch (const BadInput& refusal) {
    throw BadInput("after --: {}", refusal.what());
  }
}

struct ScriptFlags {
  LaunchRequest request{
      .engine = "slurm", .nodes = 0, .out = "", .dlroof = "", .arguments = {}, .options = {}};
  std::optional<std::string> output, revisit;  // files
};

std::string ThisProgram() {
  std::error_code none;
  const auto path = fs::read_symlink("/proc/self/exe", none);
  if (none) throw BadInput("cluster script: this program's path is not known; expected --dlroof");
  return path.string();
}

// Sets the nodes to measure again: a cluster file's suspects and ordinary nodes to compare with.
void FillRevisit(const std::string& path, LaunchRequest& request) {
  if (request.engine != "slurm" || request.nodes != 0 || request.gpus || !request.arguments.empty())
    throw BadInput(
        "--revisit={}: expected --engine=slurm without -N, --per-gpu and arguments, which come "
        "from the file",
        path);
  const auto cluster = cluster::ReadClusterFile(path);
  const auto revisit = cluster::RevisitOf(cluster, cluster::OutlierRules());
  if (revisit.suspects.empty())
    throw BadInput("{}: no node is a suspect, so there is none to visit again", path);
  std::set<std::string> hosts;
  for (const auto node : revisit.nodes) hosts.insert(cluster::HostOf(cluster.nodes[node]));
  request.engine = "slurm-revisit";
  request.nodes = static_cast<int>(hosts.size());
  request.gpus = cluster::GpusOfHosts(cluster);
  request.visits = revisit.visits;
  request.arguments = cluster.nodes[revisit.nodes.front()].facts.arguments;
  request.names.assign(hosts.begin(), hosts.end());
  std::ranges::sort(request.names, cluster::NodeNameLess);
  for (const auto node : revisit.nodes)
    if (const auto& order = cluster.nodes[node].facts.order; !order.empty()) request.order = order;
  if (request.out.empty()) request.out = fs::absolute(path).parent_path().string();
}

void RunScript(ScriptFlags flags) {
  auto& request = flags.request;
  if (flags.revisit)
    FillRevisit(*flags.revisit, request);
  else if (request.nodes == 0 || request.out.empty())
    throw BadInput("cluster script: expected -N and --out, or --revisit");
  else
    RefuseUnknownFlags(request.arguments);
  if (request.time && request.engine != "slurm" && request.engine != "slurm-revisit")
    throw BadInput("--time={}: expected --engine=slurm; other launchers take it in --option",
                   *request.time);
  request.out = fs::absolute(request.out).string();
  request.dlroof = request.dlroof.empty() ? ThisProgram() : fs::absolute(request.dlroof).string();
  const auto script = LaunchScript(request);
  if (!flags.output) {
    std::cout << script << std::flush;
    return;
  }
  WriteFile(*flags.output, script);
  std::cerr << "wrote " << *flags.output << '\n';
}

// Adds the flags that decide which processes measure at the same time.
void AddProcessFlags(CLI::App& command, LaunchRequest& request) {
  command
      .add_option("--order", request.order,
                  "measure all nodes at the same time, or one after the other (`cluster report "
                  "--alone` compares both)")
      ->capture_default_str()
      ->check(CLI::IsMember({"at-once", "one-by-one"}));
  command
      .add_option("--per-gpu", request.gpus,
                  "number of GPUs of a node: start one process for each GPU, which sees only this "
                  "GPU (default: one process for each node, which sees all GPUs)")
      ->check(CLI::Range(1, 64));
  command
      .add_option("--meet-seconds", request.meet_seconds,
                  "[s] with at-once: before each benchmark nodes wait for each other for at most "
                  "this time; later nodes are not awaited again")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
}

}  // namespace

void AddClusterScript(CLI::App& cluster) {
  auto flags = std::make_shared<ScriptFlags>();
  auto* command = cluster.add_subcommand(
      "script",
      "write a job script that measures every node and gathers the results; a second run measures "
      "only what is missing");
  std::vector<std::string> engines;
  for (const auto& script : LaunchScripts())
    if (script.name.find('-') == std::string_view::npos) engines.emplace_back(script.name);
  auto& request = flags->request;
  command
      ->add_option("--engine", request.engine,
                   fmt::format("what starts the job: {} (default slurm)", fmt::join(engines, ", ")))
      ->check(CLI::IsMember(engines));
  command->add_option("-N,--nodes", request.nodes, "number of nodes")->check(CLI::Range(1, 100000));
  command->add_option("--out", request.out, "folder that all nodes share")
      ->type_name(command_line::kFolder);
  command
      ->add_option("--dlroof", request.dlroof,
                   "path of dlroof on the nodes (default: the path of this program)")
      ->type_name(command_line::kFile);
  command
      ->add_option(
          "--option", request.options,
          "option for sbatch (--option=--partition=gpu), mpirun or ReFrame's job; may be repeated")
      ->allow_extra_args(false);
  AddProcessFlags(*command, request);
  command->add_option("--time", request.time,
                      "limit of the job's time as sbatch writes it, such as 2:00:00 (Slurm)");
  command
      ->add_option("--revisit", flags->revisit,
                   "cluster file whose suspects are visited again together with ordinary nodes, "
                   "as often as a verdict needs")
      ->type_name(command_line::kFile);
  command
      ->add_option("-o,--output", flags->output,
                   "file to write the script to (default: standard output)")
      ->type_name(command_line::kFile);
  command
      ->add_option("ARGUMENTS", request.arguments,
                   "after --: arguments for dlroof_bench, such as --dlroof_suite=resnet50")
      ->type_name(command_line::kFlag);
  command->callback([flags] { RunScript(*flags); });
}

}  // namespace dlroof::cluster_run
