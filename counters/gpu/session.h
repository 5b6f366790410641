// Plans which counters of a chip are read for a call and in how many passes, and counts the call
// with CUPTI's range profiler, which it closes even after errors. Pure: CUPTI is behind CuptiApi.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/gpu/api.h"
#include "counters/gpu/table.h"

namespace dlroof::gpu {

// Returns the passes that the metrics need together, or nullopt if chip or device reject one.
using PassesOf = std::function<std::optional<int>(const std::vector<std::string>& metrics)>;

struct CounterOptions {
  int most_passes = 3;      // [1] maximum number of runs of the call
  bool every_type = false;  // counts tensor operations of all types, not only the call's
  bool link = false;        // counts PCIe too, in separate runs
  bool patched = true;      // allows sets whose counters patch kernels
};

// Metrics that CUPTI collects together.
struct CuptiConfig {
  std::vector<std::string> metrics;
  int passes = 0;                 // [1] passes that CUPTI needs
  std::vector<std::string> free;  // those of `metrics` that are optional (CuptiSet::free)
  bool alone = false;             // whether the whole configuration is optional
};

struct CuptiPlan {
  std::vector<CuptiConfig> configs;
  std::vector<CuptiMetric> metrics;  // all metrics that are read
  // A requested set of metrics that is not read, and the reason: "l1", "would take a 4th pass".
  struct LeftOut {
    std::string set, reason;
  };
  std::vector<LeftOut> left_out;
  // Pipes of tensor operations that the chip counts and the plan does not: their FLOPs are unknown.
  std::vector<std::string> unread_pipes;
  int passes = 0;  // [1] sum over all configurations
};

// Returns the types of tensor operations to count for a call with operand type `type` ("f16"; empty
// if unknown) on `pipes`, the most important first: the type in the table's row of `type`, then the
// types of the call's matrix pipes. If there are none, returns the types of its vector pipes, with
// tf32 in place of fp32 to detect an "fp32" call that runs in tf32.
std::vector<std::string> TensorTypesOf(const CuptiTable& table, const std::string& type,
                                       const std::vector<std::string>& pipes);

// Adds sets of metrics in the table's order, tensor sets in the order of `types`. Leaves out a set,
// with the reason, if the chip lacks it, the device rejects it or it does not fit into the passes.
// Leaves out optional sets (CuptiSet::free) without a reason.
CuptiPlan PlanCounters(const CuptiTable& table, const CuptiChip& chip,
                       const std::vector<std::string>& types, const CounterOptions& options,
                       const PassesOf& passes_of);

// A device that can be profiled.
struct CuptiDevice {
  int number = 0;  // CUDA's device number
  CuptiChip chip;
  CuptiImage availability;  // the counters that this user may read on the device
};

// Opens CUDA device `number`, checks that it can be profiled, and acquires and releases its
// counters once. Throws CuptiError, or std::runtime_error if the table lacks the chip.
CuptiDevice OpenCuptiDevice(CuptiApi& api, const CuptiTable& table, int number);

// Returns a PassesOf that asks CUPTI's host API, which needs no GPU.
PassesOf AskHostApi(CuptiApi& api, const std::string& chip, const CuptiImage& availability);

struct CountedValues {
  std::map<std::string, double> values;  // by metric
  int runs = 0;                          // [1] runs of the call
  double seconds_per_run = 0;            // [s] of the shortest run under counting
  std::vector<std::string> caveats;      // optional metrics that the device rejected
};

// A call that can run repeatedly.
struct RepeatedCall {
  std::function<void()> run;    // the call is finished when it returns
  std::function<void()> ready;  // may be empty; called before each run and not counted
};

using SecondsNow = std::function<double()>;

// Runs the call once per pass of each configuration in the plan and returns the counted values.
// Some hypervisors reject an optional metric only at this time; it becomes a caveat. Throws
// CuptiError or what `run` throws. Releases CUPTI in every case.
CountedValues CountValues(CuptiApi& api, const CuptiDevice& device, const CuptiPlan& plan,
                          const RepeatedCall& call, const SecondsNow& now);

// Returns the kernels of one run of the call. Throws like CountValues.
std::vector<TracedKernel> TraceKernels(CuptiApi& api, const RepeatedCall& call);

// Returns the shortest time [s] of `runs` runs without counting.
double PlainSeconds(CuptiApi& api, const RepeatedCall& call, int runs, const SecondsNow& now);

}  // namespace dlroof::gpu
