#include "bench/predict/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/conv2d/delta.h"
#include "ceilings/cache/given_machine.h"
#include "counters/base/error.h"
#include "counters/delta/source.h"

namespace dlroof::predict {
namespace {

// Useful FLOP/s of a pipe as multiply-adds per clock and SM.
double MacsOf(const machine::Ceiling& ceiling, const delta::GpuSpec& gpu) {
  return ceiling.per_second / 2 / gpu.sms / gpu.clock_hz;
}

void RequireGpu(const machine::Machine& machine) {
  if (machine.device != "gpu")
    throw BadInput("the machine file is of a {} ('{}'), expected ceilings of a gpu", machine.device,
                   machine.name);
}

bool IsBuiltIn(const std::string& name) {
  const auto& gpus = delta::BuiltInGpus();
  return std::ranges::any_of(gpus, [&](const auto& gpu) { return gpu.name == name; });
}

const machine::Machine* GpuOf(const record::RunFile& run) {
  const auto found = std::ranges::find(run.machines, "gpu", &machine::Machine::device);
  return found == run.machines.end() ? nullptr : &*found;
}

// The built-in name of what ran, or was measured.
std::string NameOf(const machine::Machine& machine, const std::string& where) {
  auto name = conv2d::BuiltInGpuOf(machine.name);
  if (name.empty())
    throw BadInput("{}: no built-in parameters for '{}'; give --gpu a name or a parameter file",
                   where, machine.name);
  return name;
}

void RequireSameGpu(const std::string& gpu, const machine::Machine& machine) {
  if (!IsBuiltIn(gpu) || conv2d::BuiltInGpuOf(machine.name) == gpu) return;
  throw BadInput(
      "--machine: the ceilings are those of '{}', not of {}; give --gpu the name or a parameter "
      "file of that GPU",
      machine.name, gpu);
}

}  // namespace

delta::GpuSpec WithCeilings(delta::GpuSpec gpu, const machine::Machine& machine) {
  RequireGpu(machine);
  if (machine.by_threads.empty()) return gpu;
  const auto& set = machine::AllThreads(machine);
  // A given rate keeps the source that its file names for it.
  const bool given = machine_file::IsGiven(machine);
  const auto take = [&](const std::string& key, double& value, double rate,
                        const std::string& how) {
    value = rate;
    gpu.sources[key] = !given ? fmt::format("measured on {}, {}", machine.name, machine.measured_at)
                       : how.empty() ? fmt::format("given for {}, not measured", machine.name)
                                     : how;
  };
  for (auto& [type, macs] : gpu.macs_per_clock) {
    const auto pipe = set.flops.find(delta::PipeOf(type, gpu));
    if (pipe != set.flops.end() && pipe->second.CarriesPercentages())
      take(fmt::format("macs_per_clock_{}", type), macs, MacsOf(pipe->second, gpu),
           pipe->second.how);
  }
  for (const auto& [level, ceiling] : set.bytes) {
    if (!ceiling.CarriesPercentages()) continue;
    if (level == Level::kDram)
      take("dram_bytes_per_second", gpu.dram_bytes_per_second, ceiling.per_second, ceiling.how);
    if (level == Level::kL2)
      take("l2_bytes_per_second", gpu.l2_bytes_per_second, ceiling.per_second, ceiling.how);
    if (level == Level::kL1)
      take("l1_bytes_per_clock", gpu.l1_bytes_per_clock,
           ceiling.per_second / gpu.sms / gpu.clock_hz, ceiling.how);
  }
  const auto launch = set.costs_how.find("launch");
  if (set.launch_seconds)
    take("launch_seconds", gpu.launch_seconds, *set.launch_seconds,
         launch == set.costs_how.end() ? "" : launch->second);
  return gpu;
}

delta::GpuSpec ChosenGpu(const GpuChoice& choice) {
  if (choice.machine != nullptr) RequireGpu(*choice.machine);
  const machine::Machine* measured = choice.machine;
  std::string name = choice.gpu;
  if (name.empty() && choice.run != nullptr) {
    const machine::Machine* ran = GpuOf(*choice.run);
    if (ran == nullptr)
      throw BadInput("{}: does not say which GPU ran it; give --gpu a name or a parameter file",
                     choice.run_path);
    name = NameOf(*ran, choice.run_path);
    if (measured == nullptr) measured = ran;
  } else if (name.empty()) {
    name = measured == nullptr ? "v100" : NameOf(*measured, "--machine");
  }
  auto gpu = delta::FindGpu(name);
  if (measured == nullptr) return gpu;
  RequireSameGpu(name, *measured);
  return WithCeilings(std::move(gpu), *measured);
}

}  // namespace dlroof::predict
