#include "bench/cluster/launch_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/run/run_context.h"
#include "counters/base/error.h"
#include "reporters/page/page.h"

namespace dlroof::cluster_run {
namespace {

void RefuseControls(const std::string& text) {
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    throw BadInput("cluster script: '{}' holds a control character, which no script can hold",
                   text);
}

std::string SbatchLines(const std::vector<std::string>& options) {
  std::string lines;
  for (const auto& option : options) {
    if (!option.starts_with("-"))
      throw BadInput("--option '{}': expected an option of sbatch, such as --partition=gpu",
                     option);
    lines += fmt::format("#SBATCH {}\n", option);
  }
  return lines;
}

// Returns the engine's part that measures the network; empty where nobody asked for it.
std::string NetworkPart(const LaunchRequest& request) {
  if (!request.net) return "";
  for (const auto& script : LaunchScripts())
    if (script.name == request.engine + "-net") return std::string(script.text);
  throw BadInput("--net: --engine={} starts no MPI job; expected slurm or mpirun", request.engine);
}

// Returns the arguments of dlroof_bench. Processes that share a node's CPUs measure no CPU.
std::vector<std::string> ArgumentsOf(const LaunchRequest& request) {
  constexpr std::string_view kDevice = "--dlroof_device=";
  auto arguments = request.arguments;
  if (request.gpus == 0) return arguments;
  bool given = false;
  for (const auto& argument : arguments) {
    if (!argument.starts_with(kDevice)) continue;
    if (argument != std::string(kDevice) + "gpu")
      throw BadInput("--per-gpu: each process has one GPU; expected --dlroof_device=gpu, not {}",
                     argument);
    given = true;
  }
  if (!given) arguments.push_back(std::string(kDevice) + "gpu");
  return arguments;
}

// Texts of a shell's script or, of ReFrame, Python's, whose literals JSON's are too.
std::map<std::string_view, std::string> Values(const LaunchRequest& request) {
  const bool python = request.engine == "reframe";
  const auto one = [&](const std::string& text) {
    return python ? nlohmann::json(text).dump() : runner::CommandLine({text});
  };
  const auto list = [&](const std::vector<std::string>& texts) {
    return python ? nlohmann::json(texts).dump() : runner::CommandLine(texts);
  };
  const int tasks = std::max(1, request.gpus);
  auto options = request.options;
  if (request.gpus > 0 && request.engine != "mpirun")
    options.insert(options.begin(), fmt::format("--gpus-per-node={}", request.gpus));
  return {{"nodes", std::to_string(request.nodes)},
          {"out", one(request.out)},
          {"dlroof", one(request.dlroof)},
          {"arguments", list(ArgumentsOf(request))},
          {"options", request.engine.starts_with("slurm") ? SbatchLines(options) : list(options)},
          {"gpus", std::to_string(request.gpus)},
          {"tasks", std::to_string(tasks)},
          {"all_tasks", std::to_string(tasks * request.nodes)},
          {"nodelist", fmt::format("{}", fmt::join(request.names, ","))},
          {"visits", std::to_string(request.visits)},
          {"network", NetworkPart(request)},
          {"order", request.order},
          {"meet_seconds", fmt::format("{:g}", request.meet_seconds)},
          {"out_text", runner::CommandLine({request.out})},
          {"dlroof_text", runner::CommandLine({request.dlroof})}};
}

}  // namespace

std::string LaunchScript(const LaunchRequest& request) {
  for (const auto* texts : {&request.arguments, &request.options, &request.names})
    for (const auto& text : *texts) RefuseControls(text);
  if (request.engine == "reframe" && request.order != "at-once")
    throw BadInput("--order={}: ReFrame's own policy decides when its tests run", request.order);
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

}  // namespace dlroof::cluster_run
