#include "bench/run/energy_pass.h"

#include <utility>

#include "counters/base/interrupt.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/energy/meter_window.h"
#include "counters/energy/other_programs.h"

namespace dlroof::runner {
namespace {

constexpr double kCpuWindowSeconds = 0.5, kGpuWindowSeconds = 2, kIdleSeconds = 1,
                 kGpuIdleSeconds = 2;  // twenty of NVML's slowest ticks

}  // namespace

energy::EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules) {
  if (!joules || !joules())
    return {.unavailable = {
                {"nvml", "the driver does not tell this GPU's energy (it does from Volta on)"}}};
  const auto read = [joules] {
    if (const auto now = joules()) return *now;
    throw BadInput("nvml: the GPU's energy can no longer be read");
  };
  return {"nvml",
          {{"gpu", true, read, std::nullopt}},
          "the GPU's board; no CPU, host memory, fans, NIC, power supply",
          {}};
}

bool EnergyPass::Measures(const std::string& device) const {
  return meter_seconds || (cpu && (device == "gpu" || !cpu->from.empty()));
}

energy::IdlePowers IdlePowersOf(const EnergyPass& pass, timing::Timer& gpu) {
  const auto idle = [](const energy::EnergyMeter& meter, double seconds) {
    return energy::MeasureIdlePower(
        meter, [&] { SleepSeconds(seconds); }, cpu::WallSeconds);
  };
  if (!pass.cpu) return {};
  energy::IdlePowers found{.cpu = idle(*pass.cpu, kIdleSeconds)};
  if (!pass.gpu_runs) return found;
  try {
    gpu.Open();
    found.gpu = idle(GpuEnergy(gpu.EnergyCounter()), kGpuIdleSeconds);
  } catch (const std::exception&) {
    // The first benchmark of the GPU fails with the reason.
  }
  return found;
}

energy::EnergyFound EnergyOfCall(const workload::Workload& workload, const workload::PreparedCall& call, const timing::Timer& timer,
                         const EnergyPass& pass) {
  const bool gpu = workload.name.device == "gpu";
  const bool counted = pass.cpu && (gpu || !pass.cpu->from.empty());
  energy::EnergyFound found;
  if (timer.BeforeCall()) {
    const auto why =
        "the work before each call, which empties caches, would be in the call's energy";
    if (counted) found.why_not = why;
    if (pass.meter_seconds) found.why_no_window = why;
    return found;
  }
  call.run();  // first-time work of the library
  if (counted)
    found = energy::MeasureEnergy(gpu ? GpuEnergy(timer.EnergyCounter()) : *pass.cpu, call.run,
                          {gpu ? kGpuWindowSeconds : kCpuWindowSeconds, cpu::WallSeconds,
                           StoppedByInterrupt, energy::CpuSecondsOfOthers});
  if (!pass.meter_seconds) return found;
  auto metered =
      energy::RepeatForMeter(call.run, {*pass.meter_seconds, cpu::WallSeconds, energy::UtcSeconds, StoppedByInterrupt});
  found.window = metered.window;
  found.why_no_window = std::move(metered.why_not);
  return found;
}

}  // namespace dlroof::runner
