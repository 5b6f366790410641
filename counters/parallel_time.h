// The parallel regions of a call, as a source that stands between a library and its threading
// runtime sees them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/work.h"

namespace dlroof {

// Sums over the regions that began on one thread. The threads' times are those inside of the
// region's function, less what they waited at barriers in it.
struct RegionSums {
  double regions = 0;          // [1]
  double seconds = 0;          // [s] from each fork to its join
  double longest_seconds = 0;  // [s] of each region's slowest thread, its waits included
  double busy_seconds = 0;     // [s] of all threads

  bool operator==(const RegionSums&) const = default;
};

// One call, mean over some passes.
struct RegionPass {
  double seconds = 0;  // [s] wall time of the call
  RegionSums regions;
  // [s] that all threads together waited for a CPU; absent: not known
  std::optional<double> run_delay_seconds;

  bool operator==(const RegionPass&) const = default;
};

// Parts of one call on one thread, each measured apart by the library's own primitive.
struct PartSeconds {
  std::optional<double> functions;  // [s] sigmoid and tanh of as many elements
  std::optional<double> products;   // [s] its matrix products, one by one, of these sizes
  // [1] Instructions of the two; absent: not counted.
  std::optional<double> function_instructions, product_instructions;

  bool operator==(const PartSeconds&) const = default;
};

// Instructions of one call on one thread, whatever they do.
struct InstructionCount {
  double all = 0;                         // [1]
  std::optional<double> arithmetic = {};  // [1] of them floating-point, or integer multiply-adds
  std::optional<double> generated = {};   // [1] of them made at run time: the library's own kernels
  std::optional<double> smallest = {};    // [1] of such a call with sizes of 1
  // [1/s] that the thread's core starts at most, measured then; absent: not measured
  std::optional<double> per_second = {};
  Provenance from = Provenance::kMeasured;
  std::string how = {};  // "single steps"

  bool operator==(const InstructionCount&) const = default;
};

// An InstructionCount, or the reason why there is none.
struct CountedInstructions {
  std::optional<InstructionCount> count;
  std::string reason;  // set only without `count`
};

// One call as it was watched.
struct ParallelTime {
  RegionPass mean;
  std::vector<RegionPass> passes;  // those that `mean` is of
  int threads = 1;                 // [1] of the widest region; 1 where there was none
  double calls = 0;                // [1] that the passes made
  PartSeconds parts;               // absent: there are none, or nobody knows
  // [s] of the same call made for one thread; absent with one thread, or with another algorithm
  std::optional<double> single_thread_seconds;
  // [s] of such a call with sizes of 1, on one thread: the code that runs whatever the sizes
  std::optional<double> smallest_seconds;
  // [s] of the same call on one thread, interleaved: on tensors whose pages repeat, so that a
  // core's own L2 holds them all, and on such tensors whose pages do not
  std::optional<double> near_seconds, far_seconds;
  // [1] Multiply-adds that the vector lanes execute over those that the problem asks for, by a
  // model of the library's blocks; absent: not modelled.
  std::optional<double> executed_over_useful;
  // [1] Loads and stores of vectors by one call, and [byte] of a vector, by the same model.
  std::optional<double> vector_loads, vector_bytes;
  std::optional<InstructionCount> instructions;
  std::optional<std::string> instructions_reason;  // why `instructions` were wanted and are absent
  std::string source;  // "libgomp's entry points", "OMPT of libomp.so.5 (...)"

  bool operator==(const ParallelTime&) const = default;
};

// A source saw these regions between its begin and its end.
struct RegionsSeen {
  RegionSums sums;
  int widest_team = 1;  // [1] threads; 1 where there was no region

  bool operator==(const RegionsSeen&) const = default;
};

struct RegionSource {
  std::function<std::string()> name;
  // Why it sees no regions of this process, now, in words; empty: it does. A runtime that starts
  // later may be seen then.
  std::function<std::string()> unavailable;
  // Watches the calling thread's regions, and forgets those before.
  std::function<void()> begin;
  // Watches no more. Absent: not all that it saw is known.
  std::function<std::optional<RegionsSeen>()> end;
};
// Called at namespace scope by a source. Returns true.
bool RegisterRegionSource(RegionSource source);
// Says that this process will watch regions. To be called before its OpenMP runtime begins: libomp
// shows its regions only to who asks then, and an empty one takes a sixth longer from then on.
// Returns true.
bool ExpectRegions();
bool RegionsAreExpected();
// Empty where this build has none.
const std::vector<RegionSource>& AllRegionSources();
// Returns each source's name with its reason; empty where one of them sees regions of this process.
std::string WhyNoRegions(const std::vector<RegionSource>& sources);

// The regions of one thread between Begin and End, each counted once: sources that see the regions
// of the same runtime exclude each other (`unavailable`). Where a process has several runtimes the
// one counts whose regions took longest.
class RegionWatch {
 public:
  // `sources` outlive it.
  explicit RegionWatch(const std::vector<RegionSource>& sources) : all_(&sources) {}

  void Begin();
  struct Watched {
    RegionsSeen seen;
    std::string source;  // its name
  };
  // Absent: no source could watch, or one did not see all.
  std::optional<Watched> End();

 private:
  const std::vector<RegionSource>* all_;
  std::vector<const RegionSource*> watching_;
};

}  // namespace dlroof
