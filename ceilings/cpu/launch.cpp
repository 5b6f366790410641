#include "ceilings/cpu/launch.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "counters/cpu/clocks.h"

namespace dlroof {
namespace {

std::vector<LaunchProbe>& Probes() {
  static std::vector<LaunchProbe> probes;
  return probes;
}

std::map<std::string, LaunchProbe>& Overheads() {
  static std::map<std::string, LaunchProbe> probes;
  return probes;
}

LaunchCost MeasureTimer(int, const RatePolicy& policy) {
  auto cost = MeasureCalls(
      [](std::int64_t calls) {
        for (; calls > 0; --calls) WallSeconds();
      },
      policy);
  cost.how = "one reading of the steady clock that times every call, one thread; " + cost.how;
  return cost;
}

[[maybe_unused]] const bool launch_registered = RegisterOverheadProbe("timer", MeasureTimer);

}  // namespace

bool RegisterLaunchProbe(LaunchProbe probe) {
  Probes().push_back(std::move(probe));
  return true;
}

LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls, const RatePolicy& policy) {
  const auto rate = MeasureRate(
      [&](std::int64_t count) {
        const auto before = ReadClocks();
        calls(count);
        const auto spent = ReadClocks() - before;
        TeamTime time{spent.wall, std::nullopt};
        if (spent.run_delay) time.wait_fraction = *spent.run_delay / spent.wall;
        return time;
      },
      policy);
  auto how = fmt::format("best of {} clean repetitions", rate.clean);
  if (!rate.proved) how += "; not proved: " + rate.reason;
  return {1 / rate.per_second, rate.clean > 0, how};
}

bool RegisterOverheadProbe(const std::string& name, LaunchProbe probe) {
  Overheads()[name] = std::move(probe);
  return true;
}

const std::map<std::string, LaunchProbe>& OverheadProbes() { return Overheads(); }

std::optional<LaunchCost> MeasureLaunch(int threads, const RatePolicy& policy) {
  if (Probes().empty()) return std::nullopt;
  return Probes().front()(threads, policy);
}

}  // namespace dlroof
