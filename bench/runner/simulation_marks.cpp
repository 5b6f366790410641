#include "bench/runner/simulation_marks.h"

#include <valgrind/callgrind.h>

namespace dlroof::runner {

void StartSimulation() { CALLGRIND_START_INSTRUMENTATION; }

void ForgetCounts() { CALLGRIND_ZERO_STATS; }

void WriteCounts() {
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
}

}  // namespace dlroof::runner
