// Tries every algorithm that a library offers for a benchmark (--dlroof_algorithm=all): which ones
// run, whether their results are right, and how long a call takes on the device.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/error.h"

namespace dlroof::runner {

// The algorithms of one benchmark, in the library's order.
struct TriedBenchmark {
  std::string name;
  std::vector<workload::AlgorithmTrial> trials;
  std::optional<Reason> reason;  // why there are none
};

// Tries the algorithms of each workload. A workload whose backend cannot try algorithms, or that
// fails, gets a reason. The device of the workloads must be open.
std::vector<TriedBenchmark> TryAlgorithms(const std::vector<workload::Workload>& workloads,
                                          const workload::RunSettings& settings);

// Returns whether each benchmark has an algorithm with a right result.
bool EachHasARightAlgorithm(const std::vector<TriedBenchmark>& tried);

// Writes a table for each benchmark: time, time over that of the fastest right algorithm, largest
// error in units of the allowed one, algorithm.
void WriteTrials(const std::vector<TriedBenchmark>& tried, std::ostream& out);

// Returns {"algorithms": [{"name", "reason", "trials": [{"algorithm", "status" ("ok", "wrong" or
// "unused"), "reason", "max_error", "tolerance", "checked", "seconds"}]}]}.
nlohmann::json ToJson(const std::vector<TriedBenchmark>& tried);

}  // namespace dlroof::runner
