#include <fmt/format.h>

#include "ceilings/cpu/launch.h"
#include "ceilings/cpu/measure_steps.h"

namespace dlroof {
namespace {

// Calls `keep(seconds)` after a clean measurement. Else `absent` gets the reason under `name`.
template <class Measure, class Keep>
void MeasureOne(CeilingSet& set, const std::string& name, const Measure& measure,
                const Keep& keep) {
  try {
    const std::optional<LaunchCost> cost = measure();
    if (cost && cost->clean) {
      set.costs_how[name] = cost->how;
      keep(cost->seconds);
    } else {
      set.absent[name] = cost ? "in each repetition a thread waited for a CPU"
                              : "this build has no library whose calls could be timed";
    }
  } catch (const std::exception& error) {
    set.absent[name] = error.what();
  }
}

}  // namespace

void AddOverheadSteps(MeasureSession& session, int threads) {
  const auto add = [&](const std::string& name, auto measure, auto keep) {
    session.steps.push_back({fmt::format("{}, {} threads", name, threads),
                             [&session, name, threads, measure, keep](double max_seconds) {
                               session.bench.reset();
                               const auto policy = session.Policy(kMemoryTolerance, max_seconds);
                               auto& set = session.machine.by_threads[threads];
                               MeasureOne(
                                   set, name, [&] { return measure(threads, policy); },
                                   [&](double seconds) { keep(set, seconds); });
                             },
                             threads});
  };
  add("launch", MeasureLaunch,
      [](CeilingSet& set, double seconds) { set.launch_seconds = seconds; });
  for (const auto& [name, probe] : OverheadProbes())
    add(name, probe,
        [name = name](CeilingSet& set, double seconds) { set.overheads[name] = seconds; });
}

}  // namespace dlroof
