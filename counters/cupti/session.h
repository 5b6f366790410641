// Plans which of a chip's counters are read for a call and in how many passes, and counts the call
// with the range profiler's protocol, which it ends in order even after failures. Pure: CUPTI is
// behind CuptiApi.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/api.h"
#include "counters/cupti/table.h"

namespace dlroof::cupti {

// Returns the passes that these metrics need together, or nullopt if the chip or the device refuses
// one of them.
using PassesOf = std::function<std::optional<int>(const std::vector<std::string>& metrics)>;

struct CounterOptions {
  int most_passes = 3;      // [1] maximum number of runs of the call
  bool every_type = false;  // counts tensor operations of all types instead of the call's
  bool link = false;        // counts PCIe too, in separate runs
  bool patched = true;      // allows sets that patch kernels
};

// Metrics that CUPTI collects together.
struct CuptiConfig {
  std::vector<std::string> metrics;
  int passes = 0;                 // [1] that CUPTI needs
  std::vector<std::string> free;  // those of `metrics` that are optional
  bool alone = false;             // the whole configuration is optional
};

struct CuptiPlan {
  std::vector<CuptiConfig> configs;
  std::vector<CuptiMetric> metrics;  // all that are read
  // A requested set that is not read, and the reason: "l1", "would take a 4th pass".
  struct LeftOut {
    std::string set, reason;
  };
  std::vector<LeftOut> left_out;
  int passes = 0;  // [1] of all configurations
};

// Returns the types of tensor operations that a call on `pipes` may use, the best first: those of
// its matrix pipes, or without any the tensor type related to its vector pipe, which detects an
// "fp32" call that runs in tf32.
std::vector<std::string> TensorTypesOf(const std::vector<std::string>& pipes);

// Adds sets in the table's order, tensor sets in the order of `types`. Leaves out, with its reason,
// a set that the chip lacks, that the device refuses or that does not fit into the passes. Leaves
// out free sets without a reason.
CuptiPlan PlanCounters(const CuptiTable& table, const CuptiChip& chip,
                       const std::vector<std::string>& types, const CounterOptions& options,
                       const PassesOf& passes_of);

// A device that can be profiled.
struct CuptiDevice {
  int number = 0;  // CUDA's
  CuptiChip chip;
  CuptiImage availability;  // the counters that the device has for this user
};

// Opens a device, checks that it can be profiled, and acquires and releases its counters once.
// Throws CuptiError, or std::runtime_error with one sentence for a chip that the table lacks.
CuptiDevice OpenCuptiDevice(CuptiApi& api, const CuptiTable& table, int number);

// Returns the PassesOf of CUPTI's host API, which needs no GPU.
PassesOf AskHostApi(CuptiHostApi& api, const std::string& chip, const CuptiImage& availability);

struct CountedValues {
  std::map<std::string, double> values;  // by metric
  int runs = 0;                          // [1] of the call
  double seconds_per_run = 0;            // [s] of the shortest run under counting
  std::vector<std::string> caveats;      // optional metrics that the device refused
};

// One call that can be repeated.
struct RepeatedCall {
  std::function<void()> run;    // the call is finished when it returns
  std::function<void()> ready;  // may be empty; called before each run and not counted
};

using SecondsNow = std::function<double()>;

// Runs the call once per pass of each configuration of the plan. An optional metric that the device
// refuses only now, as some hypervisors do, becomes a caveat. Throws CuptiError or what `run`
// throws. Releases CUPTI in every case.
CountedValues CountValues(CuptiApi& api, const CuptiDevice& device, const CuptiPlan& plan,
                          const RepeatedCall& call, const SecondsNow& now);

// Returns the kernels of one run. Throws like CountValues.
std::vector<TracedKernel> TraceKernels(CuptiApi& api, const RepeatedCall& call);

// [s] Returns the shortest of `runs` runs without counting.
double PlainSeconds(CuptiApi& api, const RepeatedCall& call, int runs, const SecondsNow& now);

}  // namespace dlroof::cupti
