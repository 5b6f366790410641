#include "bench/run/energy_pass.h"

#include "counters/base/interrupt.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "counters/energy/other_programs.h"

namespace dlroof {
namespace {

constexpr double kCpuWindowSeconds = 0.5, kGpuWindowSeconds = 2, kIdleSeconds = 1;

}  // namespace

EnergyMeter OpenCpuEnergy() {
  return OpenEnergyMeter({SysfsRoot(), ThisCpu().allowed}, AllEnergySources());
}

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

std::optional<IdlePower> IdlePowerOf(const EnergyMeter& meter) {
  return MeasureIdlePower(
      meter, [] { SleepSeconds(kIdleSeconds); }, WallSeconds);
}

EnergyFound EnergyOfCall(const Workload& workload, const PreparedCall& call, const Timer& timer,
                         const EnergyMeter& cpu) {
  if (timer.BeforeCall())
    return {{}, "the work before each call, which empties caches, would be in the call's energy"};
  const bool gpu = workload.name.device == "gpu";
  call.run();  // first-time work of the library
  return MeasureEnergy(gpu ? GpuEnergy(timer.EnergyCounter()) : cpu, call.run,
                       {gpu ? kGpuWindowSeconds : kCpuWindowSeconds, WallSeconds,
                        StoppedByInterrupt, CpuSecondsOfOthers});
}

}  // namespace dlroof
