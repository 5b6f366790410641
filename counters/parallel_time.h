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

// One call as it was watched.
struct ParallelTime {
  RegionPass mean;
  std::vector<RegionPass> passes;  // those that `mean` is of
  int threads = 1;                 // [1] of the widest region; 1 where there was none
  double calls = 0;                // [1] that the passes made
  PartSeconds parts;               // absent: there are none, or nobody knows
  // [s] of the same call made for one thread; absent with one thread, or with another algorithm
  std::optional<double> alone_seconds;
  // [s] of such a call with sizes of 1, on one thread: the code that runs whatever the sizes
  std::optional<double> smallest_seconds;
  // [s] of the same call on one thread, by turns: on tensors whose pages repeat, so that a core's
  // own L2 holds them all, and on such tensors whose pages do not
  std::optional<double> near_seconds, far_seconds;
  // [1] Multiply-adds that the vector lanes execute over those that the problem asks for, by a
  // model of the library's blocks; absent: not modelled.
  std::optional<double> executed_over_useful;
  // [1] Loads and stores of vectors by one call, and [byte] of a vector, by the same model.
  std::optional<double> vector_loads, vector_bytes;
  std::optional<InstructionCount> instructions;  // absent: not counted
  std::string source;                            // "libgomp's entry points"

  bool operator==(const ParallelTime&) const = default;
};

struct RegionSource {
  std::string name;
  std::function<void()> begin;                      // forgets what was seen, and watches
  std::function<RegionSums(int& widest_team)> end;  // watches no more
};
// Called at namespace scope by a source. Returns true.
bool RegisterRegionSource(RegionSource source);
// Null where this build has no source.
const RegionSource* TheRegionSource();

}  // namespace dlroof
