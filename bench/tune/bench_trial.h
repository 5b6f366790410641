// Trials of a benchmark: processes of dlroof_bench that take turns.
#pragma once

#include <string>

#include "baselines/tune/trial.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof {

struct BenchTrialRequest {
  std::string program;          // dlroof_bench
  BenchmarkName name;           // at the default setting
  double timeout_seconds = 60;  // [s] for each answer of a process
};

// Returns the measurement of blocks. The settings of a block are fresh processes, of which all but
// one are stopped at each moment. A process that fails leaves its reason as result. After blocks
// whose windows were disturbed it waits, up to 2 s.
MeasureBlock BenchTrials(const BenchTrialRequest& request);

}  // namespace dlroof
