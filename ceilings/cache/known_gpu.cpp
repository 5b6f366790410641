// The machines of counters/delta/gpus: rates from data sheets and published measurements.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ceilings/cache/given_machine.h"
#include "counters/delta/gpu_spec.h"
#include "counters/delta/source.h"

namespace dlroof {
namespace {

Ceiling Given(double per_second, const std::string& how) {
  Ceiling ceiling;
  ceiling.per_second = per_second;
  ceiling.given = true;
  ceiling.how = how;
  return ceiling;
}

// "NVIDIA ..., V1.04: dense; x 132 SMs x 1.83 GHz"
std::string OfAllSms(const GpuSpec& gpu, const std::string& figure) {
  return fmt::format("{}; x {:g} SMs x {:g} GHz", gpu.sources.at(figure), gpu.sms,
                     gpu.clock_hz / 1e9);
}

CeilingSet SetOf(const GpuSpec& gpu) {
  CeilingSet set;
  const double sm_clocks = gpu.sms * gpu.clock_hz;  // [1/s]
  for (const auto& [type, macs] : gpu.macs_per_clock)
    set.flops[PipeOf(type, gpu)] =
        Given(2 * macs * sm_clocks, OfAllSms(gpu, "macs_per_clock_" + type));
  set.bytes[Level::kL1] =
      Given(gpu.l1_bytes_per_clock * sm_clocks, OfAllSms(gpu, "l1_bytes_per_clock"));
  set.bytes[Level::kL2] = Given(gpu.l2_bytes_per_second, gpu.sources.at("l2_bytes_per_second"));
  set.bytes[Level::kDram] =
      Given(gpu.dram_bytes_per_second, gpu.sources.at("dram_bytes_per_second"));
  set.launch_seconds = gpu.launch_seconds;
  set.costs_how["launch"] = gpu.sources.at("launch_seconds");
  return set;
}

}  // namespace

std::vector<std::string_view> KnownGpuNames() {
  std::vector<std::string_view> names;
  for (const auto& gpu : BuiltInGpus()) names.push_back(gpu.name);
  return names;
}

std::string MachineChoices() {
  return fmt::format(
      "a machine file (dlroof machine -o, or by hand: dlroof machine --template), or a GPU whose "
      "rates are known: {}; a file of that name comes first",
      fmt::join(KnownGpuNames(), ", "));
}

std::optional<Machine> KnownGpu(std::string_view name) {
  for (const auto& known : KnownGpuNames()) {
    if (known != name) continue;
    const auto gpu = FindGpu(std::string(name));
    Machine machine;
    machine.device = "gpu";
    machine.name = gpu.name;
    machine.fingerprint = fmt::format("given-{}", name);
    machine.cache_bytes[Level::kL2] = gpu.l2_bytes;
    machine.by_threads[1] = SetOf(gpu);
    return machine;
  }
  return std::nullopt;
}

}  // namespace dlroof
