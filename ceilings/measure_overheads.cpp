// What work costs beside its arithmetic and its traffic.
#include <fmt/format.h>

#include "ceilings/launch.h"
#include "ceilings/measure_session.h"

namespace dlroof {

void AddOverheadSteps(MeasureSession& session, int threads) {
  session.steps.push_back(
      {fmt::format("launch, {} threads", threads), [&session, threads](double max_seconds) {
         session.bench.reset();
         const auto suffix = fmt::format(".threads.{}", threads);
         try {
           const auto cost = MeasureLaunch(threads, session.Policy(kMemoryTolerance, max_seconds));
           if (!cost) {
             session.machine.facts["absent.launch" + suffix] =
                 "this build has no library whose calls could be timed";
             return;
           }
           session.machine.facts["launch" + suffix] = cost->how;
           if (cost->clean)
             session.machine.by_threads[threads].launch_seconds = cost->seconds;
           else
             session.machine.facts["absent.launch" + suffix] =
                 "in each repetition a thread waited for a CPU";
         } catch (const std::exception& error) {
           session.machine.facts["absent.launch" + suffix] = error.what();
         }
       }});
}

}  // namespace dlroof
