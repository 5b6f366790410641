#include "bench/run/energy_pass.h"

#include <utility>

#include "counters/base/interrupt.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/energy/meter_window.h"
#include "counters/energy/other_programs.h"

namespace dlroof {
namespace {

constexpr double kCpuWindowSeconds = 0.5, kGpuWindowSeconds = 2, kIdleSeconds = 1,
                 kGpuIdleSeconds = 2;  // twenty of NVML's slowest ticks

}  // namespace

EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules) {
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

IdlePowers IdlePowersOf(const EnergyPass& pass, Timer& gpu) {
  const auto idle = [](const EnergyMeter& meter, double seconds) {
    return MeasureIdlePower(
        meter, [&] { SleepSeconds(seconds); }, WallSeconds);
  };
  if (!pass.cpu) return {};
  IdlePowers found{.cpu = idle(*pass.cpu, kIdleSeconds)};
  if (!pass.gpu_runs) return found;
  try {
    gpu.Open();
    found.gpu = idle(GpuEnergy(gpu.EnergyCounter()), kGpuIdleSeconds);
  } catch (const std::exception&) {
    // The first benchmark of the GPU fails with the reason.
  }
  return found;
}

EnergyFound EnergyOfCall(const Workload& workload, const PreparedCall& call, const Timer& timer,
                         const EnergyPass& pass) {
  const bool gpu = workload.name.device == "gpu";
  const bool counted = pass.cpu && (gpu || !pass.cpu->from.empty());
  EnergyFound found;
  if (timer.BeforeCall()) {
    const auto why =
        "the work before each call, which empties caches, would be in the call's energy";
    if (counted) found.why_not = why;
    if (pass.meter_seconds) found.why_no_window = why;
    return found;
  }
  call.run();  // first-time work of the library
  if (counted)
    found = MeasureEnergy(gpu ? GpuEnergy(timer.EnergyCounter()) : *pass.cpu, call.run,
                          {gpu ? kGpuWindowSeconds : kCpuWindowSeconds, WallSeconds,
                           StoppedByInterrupt, CpuSecondsOfOthers});
  if (!pass.meter_seconds) return found;
  auto metered =
      RepeatForMeter(call.run, {*pass.meter_seconds, WallSeconds, UtcSeconds, StoppedByInterrupt});
  found.window = metered.window;
  found.why_no_window = std::move(metered.why_not);
  return found;
}

}  // namespace dlroof
