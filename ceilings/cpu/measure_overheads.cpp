// What work costs beside its arithmetic and its traffic.
#include <fmt/format.h>

#include "ceilings/cpu/launch.h"
#include "ceilings/cpu/measure_session.h"

namespace dlroof {
namespace {

// `keep(seconds)` where it was measured; how, or why not, goes to the facts under `name`.
template <class Measure, class Keep>
void MeasureOne(Machine& machine, const std::string& name, int threads, const Measure& measure,
                const Keep& keep) {
  const auto key = fmt::format("{}.threads.{}", name, threads);
  try {
    const std::optional<LaunchCost> cost = measure();
    if (cost && cost->clean) {
      machine.facts[key] = cost->how;
      keep(cost->seconds);
    } else {
      machine.facts["absent." + key] = cost
                                           ? "in each repetition a thread waited for a CPU"
                                           : "this build has no library whose calls could be timed";
    }
  } catch (const std::exception& error) {
    machine.facts["absent." + key] = error.what();
  }
}

}  // namespace

void AddOverheadSteps(MeasureSession& session, int threads) {
  const auto add = [&](const std::string& name, auto measure, auto keep) {
    session.steps.push_back(
        {fmt::format("{}, {} threads", name, threads),
         [&session, name, threads, measure, keep](double max_seconds) {
           session.bench.reset();
           const auto policy = session.Policy(kMemoryTolerance, max_seconds);
           MeasureOne(
               session.machine, name, threads, [&] { return measure(threads, policy); },
               [&](double seconds) { keep(session.machine.by_threads[threads], seconds); });
         }});
  };
  add("launch", MeasureLaunch,
      [](CeilingSet& set, double seconds) { set.launch_seconds = seconds; });
  for (const auto& [name, probe] : OverheadProbes())
    add(name, probe,
        [name = name](CeilingSet& set, double seconds) { set.overheads[name] = seconds; });
}

}  // namespace dlroof
