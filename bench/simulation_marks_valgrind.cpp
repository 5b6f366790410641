#include <valgrind/callgrind.h>

#include "bench/simulation_marks.h"

namespace dlroof {

void StartSimulation() { CALLGRIND_START_INSTRUMENTATION; }

void ForgetCounts() { CALLGRIND_ZERO_STATS; }

void KeepCounts() {
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
}

bool CanMarkSimulation() { return true; }

}  // namespace dlroof
