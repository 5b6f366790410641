// Chooses a chip's counters for one call, and the number of its runs. Pure: the caller passes in
// the question to CUPTI's host API for passes (no GPU needed).
//
// Counting one call: the range profiler's protocol around `run`, whatever fails in between. Pure:
// CUPTI stands behind CuptiApi.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/api.h"
#include "counters/cupti/table.h"

namespace dlroof::cupti {

// Passes that these metrics take together; absent when the chip or this device refuses one.
using PassesOf = std::function<std::optional<int>(const std::vector<std::string>& metrics)>;

struct CounterOptions {
  int most_passes = 3;      // [1] runs of the call, at most
  bool every_type = false;  // tensor operations of all types, not just of the call's
  bool link = false;        // PCIe as well, in runs of its own
  bool patched = true;      // sets that patch kernels, too
};

// Metrics that CUPTI collects together.
struct CuptiConfig {
  std::vector<std::string> metrics;
  int passes = 0;                 // [1] that CUPTI asks for
  std::vector<std::string> free;  // those of `metrics` that the count can do without
  bool alone = false;             // as a whole something that the count can do without
};

struct CuptiPlan {
  std::vector<CuptiConfig> configs;
  std::vector<CuptiMetric> metrics;  // all that are read, and what each adds to
  // Sets that are not read although they were asked for, and why: "l1: would take a 4th pass".
  struct LeftOut {
    std::string set, reason;
  };
  std::vector<LeftOut> left_out;
  int passes = 0;  // [1] of all configs
};

// Types of the tensor operations that a call on `pipes` may use, the best first: those of its
// matrix pipes; without one, the sibling of its vector pipe, so that an "fp32" call that runs in
// tf32 is found out.
std::vector<std::string> TensorTypesOf(const std::vector<std::string>& pipes);

// Sets get module in the table's order, those of `types` in theirs. A set that the chip lacks, that
// this device refuses or that does not fit is left out with its reason; a free one silently.
CuptiPlan PlanCounters(const CuptiTable& table, const CuptiChip& chip,
                       const std::vector<std::string>& types, const CounterOptions& options,
                       const PassesOf& passes_of);

// A device that answered that it can be profiled.
struct CuptiDevice {
  int number = 0;  // CUDA's
  CuptiChip chip;
  CuptiImage availability;  // which counters this device and its user have
};

// Opens it, asks whether it can be profiled and tries to take and give back its counters. Throws
// CuptiError, or std::runtime_error with one sentence for a chip that the table does not have.
CuptiDevice OpenCuptiDevice(CuptiApi& api, const CuptiTable& table, int number);

// The question that PlanCounters asks, put to CUPTI's host API.
PassesOf AskHostApi(CuptiHostApi& api, const std::string& chip, const CuptiImage& availability);

struct CountedValues {
  std::map<std::string, double> values;  // by metric
  int runs = 0;                          // [1] of the call
  double seconds_per_run = 0;            // [s] the shortest run under counting
  std::vector<std::string> caveats;      // what the device refused when it was to be counted
};

// One call that can be repeated.
struct RepeatedCall {
  std::function<void()> run;    // finished when it returns
  std::function<void()> ready;  // before each run, not to be counted; may be empty
};

using SecondsNow = std::function<double()>;

// Runs the call once per pass of every configuration of the plan, in a range of its own. A metric
// that is refused only now (by some hypervisors) becomes a doubt where the count can do without it.
// Throws CuptiError or what `run` throws; in every case CUPTI holds nothing afterwards.
CountedValues CountValues(CuptiApi& api, const CuptiDevice& device, const CuptiPlan& plan,
                          const RepeatedCall& call, const SecondsNow& now);

// Kernels of one run. Throws like CountValues.
std::vector<TracedKernel> TraceKernels(CuptiApi& api, const RepeatedCall& call);

// [s] of the shortest of `runs` plain runs.
double PlainSeconds(CuptiApi& api, const RepeatedCall& call, int runs, const SecondsNow& now);

}  // namespace dlroof::cupti
