// Profile of a call's parallel regions. Region sources intercept the calls between a library and
// its OpenMP runtime.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/error.h"
#include "counters/work.h"

namespace dlroof {

// Sums over the regions that began on one thread.
struct RegionSums {
  double regions = 0;          // [1]
  double seconds = 0;          // [s] from each fork to its join
  double longest_seconds = 0;  // [s] in the region's function, slowest thread, barriers included
  double busy_seconds = 0;     // [s] in the region's function, all threads, without barrier waits

  bool operator==(const RegionSums&) const = default;
};

// One call: the mean over a pass of several calls.
struct RegionPass {
  double seconds = 0;  // [s] wall time of the call
  RegionSums regions;
  std::optional<double> run_delay_seconds;  // [s] that all threads together waited for a CPU

  bool operator==(const RegionPass&) const = default;
};

// Components of one call on one thread, each measured separately with the library's own primitive.
struct PartSeconds {
  std::optional<double> functions;  // [s] sigmoid and tanh of the call's elements
  std::optional<double> products;   // [s] the call's matrix products, one after another
  std::optional<double> function_instructions, product_instructions;  // [1]

  bool operator==(const PartSeconds&) const = default;
};

// Instructions of one call on one thread.
struct InstructionCount {
  double all = 0;                         // [1]
  std::optional<double> arithmetic = {};  // [1] floating-point operations, integer multiply-adds
  std::optional<double> generated = {};   // [1] in code generated at run time (JIT kernels)
  std::optional<double> smallest = {};    // [1] of the same call with all sizes 1
  std::optional<double> per_second = {};  // [1/s] peak issue rate of the core, measured then
  Provenance from = Provenance::kMeasured;
  std::string how = {};  // "single steps"

  bool operator==(const InstructionCount&) const = default;
};

// An InstructionCount, or the reason why it is missing.
struct CountedInstructions {
  std::optional<InstructionCount> count;
  std::optional<Reason> reason;  // set only without `count`
};

// Parallel-region profile of one call.
struct ParallelTime {
  RegionPass mean;  // over `passes`
  std::vector<RegionPass> passes;
  int threads = 1;    // [1] of the widest region, or 1 if the call has no region
  double calls = 0;   // [1] in all passes
  PartSeconds parts;  // where the operator knows its components
  // [s] The same call made for one thread; unset for single-threaded calls and if the library then
  // chooses another algorithm.
  std::optional<double> single_thread_seconds;
  // [s] The same call with all sizes 1, on one thread: the overhead that no size changes.
  std::optional<double> smallest_seconds;
  // [s] The same call on one thread, measured interleaved: `near` on folded tensors that fit in the
  // core's own L2, `far` on such tensors without folding.
  std::optional<double> near_seconds, far_seconds;
  // [1] Multiply-adds that the vector lanes execute over those that the problem needs, from a model
  // of the library's blocking.
  std::optional<double> executed_over_useful;
  // [1] Vector loads and stores of one call, and [byte] per vector, from the same model.
  std::optional<double> vector_loads, vector_bytes;
  std::optional<InstructionCount> instructions;
  std::optional<Reason> instructions_reason;  // set if counting instructions failed
  std::string source;  // "libgomp's entry points", "OMPT of libomp.so.5 (...)"

  bool operator==(const ParallelTime&) const = default;
};

// The regions that a source saw between its begin and its end.
struct RegionsSeen {
  RegionSums sums;
  int widest_team = 1;  // [1] threads, or 1 if no region ran

  bool operator==(const RegionsSeen&) const = default;
};

struct RegionSource {
  std::function<std::string()> name;
  // Returns why the source sees no regions of this process at the moment. This may change when a
  // runtime starts.
  std::function<std::optional<Reason>()> unavailable;
  // Starts watching the calling thread's regions, from zero.
  std::function<void()> begin;
  // Stops watching. Returns nullopt if the source missed times.
  std::function<std::optional<RegionsSeen>()> end;
};
// Registers a source. Call at namespace scope. Returns true.
bool RegisterRegionSource(RegionSource source);
// Declares that this process will watch regions. Call it before the OpenMP runtime starts: libomp
// accepts a tool only then, and its empty regions take a sixth longer from then on. Returns true.
bool ExpectRegions();
bool RegionsAreExpected();
// Returns the sources of this build, possibly none.
const std::vector<RegionSource>& AllRegionSources();
// Returns why none of `sources` sees regions of this process: each name with its reason.
std::optional<Reason> NoRegionsReason(const std::vector<RegionSource>& sources);

// Watches the regions of one thread between Begin and End and counts each once: of the sources that
// see the same runtime, all but one are unavailable. If a process has several runtimes, the one
// whose regions took longest counts.
class RegionWatch {
 public:
  // `sources` must outlive the watch.
  explicit RegionWatch(const std::vector<RegionSource>& sources) : all_(&sources) {}

  void Begin();
  struct Watched {
    RegionsSeen seen;
    std::string source;  // its name
  };
  // Returns nullopt if no source could watch, or if one of them missed times.
  std::optional<Watched> End();

 private:
  const std::vector<RegionSource>* all_;
  std::vector<const RegionSource*> watching_;
};

}  // namespace dlroof
