// Profile of a call's OpenMP regions. Region sources intercept calls to the OpenMP runtime.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/work.h"

namespace dlroof {

// Sums over the parallel regions that began on one thread.
struct RegionSums {
  double regions = 0;          // [1] number of regions
  double seconds = 0;          // [s] from each region's fork to its join
  double longest_seconds = 0;  // [s] of each region's slowest thread in its function, with barriers
  double busy_seconds = 0;     // [s] of all threads in the regions' functions, without barriers

  bool operator==(const RegionSums&) const = default;
};

// Times of one call: the mean over a pass, which makes several calls.
struct RegionPass {
  double seconds = 0;  // [s] wall time of the call
  RegionSums regions;
  std::optional<double> run_delay_seconds;  // [s] sum of the threads' waits for a CPU, if known

  bool operator==(const RegionPass&) const = default;
};

// Components of one call on one thread, each measured separately as a library primitive.
struct PartSeconds {
  std::optional<double> functions;  // [s] sigmoid and tanh of the call's elements
  std::optional<double> products;   // [s] the call's matrix products, one after another
  std::optional<double> function_instructions, product_instructions;  // [1] executed in each part

  bool operator==(const PartSeconds&) const = default;
};

// Instructions of one call on one thread, by a hardware counter. Files of versions before 2.0 also
// have counts of callgrind (simulated) and of single steps.
struct InstructionCount {
  double all = 0;                         // [1]
  std::optional<double> smallest = {};    // [1] of the same call with all sizes 1
  std::optional<double> per_second = {};  // [1/s] of cpu::MeasureInstructionRate after the count
  Provenance from = Provenance::kMeasured;
  std::string how = {};  // "hardware counter, user space"

  bool operator==(const InstructionCount&) const = default;
};

struct ParallelTime {
  RegionPass mean;  // over `passes`
  std::vector<RegionPass> passes;
  int threads = 1;    // [1] of the largest region, or 1 if the call has no region
  double calls = 0;   // [1] calls that all passes made together
  PartSeconds parts;  // set if the operator knows its components
  // [s] Time of the same call created for one thread. Unset if the call is single-threaded or if
  // the library uses another algorithm for one thread.
  std::optional<double> single_thread_seconds;
  // [s] Time of the same call with all sizes 1 on one thread: overhead independent of sizes.
  std::optional<double> smallest_seconds;
  // [s] Times of the same call on one thread, measured interleaved. `near_seconds`: the tensors are
  // folded so that they fit in the core's L2. `far_seconds`: the tensors are not folded.
  std::optional<double> near_seconds, far_seconds;
  // [1] Multiply-adds that the vector lanes execute divided by the needed ones, from a model.
  std::optional<double> executed_over_useful;
  std::optional<InstructionCount> instructions;
  std::optional<Reason> instructions_reason;  // why `instructions` is unset
  std::string source;  // "libgomp's entry points"; in older files also "OMPT of libomp.so.5 (...)"

  bool operator==(const ParallelTime&) const = default;
};

// The regions that a source saw between its functions `begin` and `end`.
struct RegionsSeen {
  RegionSums sums;
  int widest_team = 1;  // [1] threads of the largest region, or 1 if no region ran

  bool operator==(const RegionsSeen&) const = default;
};

struct RegionSource {
  std::string name;  // "libgomp's entry points"
  // Returns why the source cannot see this process's regions now, or nullopt if it can. The answer
  // may change when an OpenMP runtime is loaded.
  std::function<std::optional<Reason>()> unavailable;
  // Resets the sums and starts to watch the calling thread's regions.
  std::function<void()> begin;
  // Stops watching and returns the sums, or nullopt if the source missed events.
  std::function<std::optional<RegionsSeen>()> end;
};
// Returns this build's source, which counters/openmp sets, or nullopt in a build without it.
std::optional<RegionSource>& TheRegionSource();

}  // namespace dlroof
