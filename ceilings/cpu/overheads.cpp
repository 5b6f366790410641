#include "ceilings/cpu/overheads.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ceilings/cpu/measure_steps.h"
#include "counters/cpu/clocks.h"

namespace dlroof::cpu_ceilings {
namespace {

std::map<std::string, LaunchProbe>& Probes() {
  static std::map<std::string, LaunchProbe> probes;
  return probes;
}

LaunchCost MeasureTimer(int, const machine::RatePolicy& policy) {
  auto cost = MeasureCalls(
      [](std::int64_t calls) {
        for (; calls > 0; --calls) cpu::WallSeconds();
      },
      policy);
  cost.how = "one reading of the steady clock that times every call, one thread; " + cost.how;
  return cost;
}

[[maybe_unused]] const bool launch_registered = RegisterOverheadProbe("timer", MeasureTimer);

constexpr const char* kLaunch = "launch";

// Keeps a clean cost. Else `absent` gets the reason.
void MeasureOne(machine::CeilingSet& set, const std::string& name, int threads, const machine::RatePolicy& policy) {
  const auto probe = OverheadProbes().find(name);
  if (probe == OverheadProbes().end()) {
    set.absent[name] = "this build has no library whose calls could be timed";
    return;
  }
  try {
    const auto cost = probe->second(threads, policy);
    if (!cost.clean) {
      set.absent[name] = "in each repetition a thread waited for a CPU";
      return;
    }
    set.costs_how[name] = cost.how;
    if (name == kLaunch)
      set.launch_seconds = cost.seconds;
    else
      set.overheads[name] = cost.seconds;
  } catch (const std::exception& error) {
    set.absent[name] = error.what();
  }
}

}  // namespace

LaunchCost MeasureCalls(const std::function<void(std::int64_t)>& calls, const machine::RatePolicy& policy) {
  const auto rate = machine::MeasureRate(
      [&](std::int64_t count) {
        const auto before = cpu::ReadClocks();
        calls(count);
        const auto spent = cpu::ReadClocks() - before;
        machine::TeamTime time{spent.wall, std::nullopt};
        if (spent.run_delay) time.wait_fraction = *spent.run_delay / spent.wall;
        return time;
      },
      policy);
  auto how = fmt::format("best of {} clean repetitions", rate.clean);
  if (!rate.proved) how += "; not proved: " + rate.reason;
  return {1 / rate.per_second, rate.clean > 0, how};
}

bool RegisterOverheadProbe(const std::string& name, LaunchProbe probe) {
  Probes()[name] = std::move(probe);
  return true;
}

const std::map<std::string, LaunchProbe>& OverheadProbes() { return Probes(); }

void AddOverheadSteps(MeasureSession& session, int threads) {
  const auto add = [&](const std::string& name) {
    session.steps.push_back({fmt::format("{}, {} threads", name, threads),
                             [&session, name, threads](double max_seconds) {
                               session.bench.reset();
                               MeasureOne(session.machine.by_threads[threads], name, threads,
                                          session.Policy(kMemoryTolerance, max_seconds));
                             },
                             threads});
  };
  add(kLaunch);
  for (const auto& [name, probe] : OverheadProbes())
    if (name != kLaunch) add(name);
}

}  // namespace dlroof::cpu_ceilings
