// Counting one call: the range profiler's protocol around `run`, whatever fails in between. Pure:
// CUPTI stands behind CuptiApi.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "counters/cupti/api.h"
#include "counters/cupti/plan.h"

namespace dlroof::cupti {

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
  std::vector<std::string> doubts;       // what the device refused when it was to be counted
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
