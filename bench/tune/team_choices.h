// Teams of threads: how many, on which CPUs, and how they wait. Pure.
#pragma once

#include <vector>

#include "baselines/tune/setting.h"
#include "counters/cpu/cpu.h"

namespace dlroof::tune {

// Returns the teams beside the default one, which has a thread on every allowed CPU, or `fixed` of
// them where that is above 0, cores before second hardware threads. Knobs: "threads", "cpus" (as
// taskset takes them; only where `pin`), and OMP_WAIT_POLICY and GOMP_SPINCOUNT (only where
// `wait`). A single thread waits for none.
std::vector<tuning::Choice> TeamChoices(const cpu::Cpu& cpu, int fixed, bool pin, bool wait);

}  // namespace dlroof::tune
