// Time breakdown of a call: its measured time as a sum of named components, from the time that the
// roof requires to the unexplained rest. Pure.
//
// The efficiencies are those of the POP project (Performance Optimisation and Productivity,
// "standard metrics"). Their product is the mean useful time of a thread over the time of the call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/parallel_time.h"
#include "counters/work.h"

namespace dlroof::breakdown {

enum class ComponentKind {
  kRoof,       // the binding roof's own time: arithmetic, or bytes of one level
  kFunctions,  // sigmoid, tanh and such, by the library's own primitives
  kProducts,   // matrix products of the call's sizes by the library's own primitive, less the roof
  kFixed,      // code that runs whatever the sizes, by the same call with sizes of 1
  kSharing,    // threads slow each other: less of a core, of caches, of bandwidth, far memory
  kLanes,      // multiply-adds in vector lanes that the shape leaves idle
  kInstructions,  // issue time of instructions, beyond the time of the components before
  kLoads,         // vector loads that feed the multiply-adds, beyond the time of these
  kKernel,        // the rest of the time that the kernel takes with all tensors in a near cache
  kDistance,      // additional time of the kernel with the tensors where they are
  kLevels,        // modelled: bytes of the other levels, without overlap
  kUnexplained,   // the rest of the threads' busy time
  kImbalance,     // the slowest thread of each region less the mean
  kForkJoin,      // starting and ending parallel regions
  kSerial,        // one thread works, the others wait
  kCall,          // calling the library, measured by an empty primitive
  kStolen,        // threads were ready but had no CPU
  kTail,          // GPU: multiprocessors without a block in a kernel's last wave
  kLaunch,        // GPU: starting kernels, measured by an empty one
  kIdle,          // GPU: no kernel runs, beyond kLaunch
};
std::string_view Key(ComponentKind kind);    // "fork_join"
std::string_view Words(ComponentKind kind);  // "fork and join of parallel regions"

struct Component {
  ComponentKind kind = ComponentKind::kRoof;
  double seconds = 0;  // [s] > 0
  Provenance from = Provenance::kMeasured;
  std::string how;  // "33 regions, 1.0 us each"
  // [s] 95 % interval over the passes, from six passes on
  std::optional<std::pair<double, double>> ci95 = {};

  bool operator==(const Component&) const = default;
};

// [1] In ]0, 1]. Defined for two threads or more.
struct Efficiencies {
  double load_balance = 1;   // mean over longest busy time in regions
  double serialisation = 1;  // share of the threads' time outside of serial sections
  double transfer = 1;       // share of the time that is neither fork, join nor calls
  double parallel = 1;       // their product: mean useful time of a thread over the time
  // Useful time on one thread over that of all threads; needs a single-threaded measurement.
  std::optional<double> computation;
};

// Bytes of a level over its bandwidth.
struct LevelTime {
  std::string level;   // "L2"
  double seconds = 0;  // [s]
  Provenance from = Provenance::kModelled;
};

// The facts that a breakdown is made from.
struct BreakdownFacts {
  double seconds = 0;       // [s] measured time of one call
  double roof_seconds = 0;  // [s] time of the call at the binding roof
  Provenance roof_from = Provenance::kModelled;
  std::string roof;                    // "arithmetic" or "DRAM"
  bool arithmetic = true;              // the binding roof is arithmetic
  std::optional<double> call_seconds;  // [s] of an empty call or kernel, by the ceilings
  // [s] Single-threaded time of the call at the same roof, and at the arithmetic roof.
  std::optional<double> single_thread_roof_seconds, single_thread_compute_seconds;
  std::optional<double> load_seconds;  // [s] of the call's vector loads at the rate of L1
  // Levels other than the roof's. L1 is left out: its loads overlap with arithmetic. The sum is the
  // time of all transfers without overlap (execution-cache-memory model: Treibig and Hager 2009;
  // Stengel et al. 2015).
  std::vector<LevelTime> levels;
  ParallelTime parallel;
};

struct Breakdown {
  std::vector<Component> components;  // from the roof on; their sum is `seconds`
  double seconds = 0;
  double starts = 0;  // [1] parallel regions of one call, or kernels
  std::optional<Efficiencies> efficiencies;

  // Returns null if the breakdown has no such component.
  const Component* Find(ComponentKind kind) const;
  // Returns the largest component above the roof, or null if there is none.
  const Component* Largest() const;
  // [1] Returns the unexplained share of the time above the roof.
  double UnexplainedShare() const;
};

// Breaks down a CPU's call. Waits for a CPU that made the passes longer than `seconds` are left
// out, then the passes' times are scaled to `seconds`. If the estimates of the busy time exceed it,
// later ones are shortened; measured ones come first.
Breakdown MakeBreakdown(const BreakdownFacts& facts);

// Breaks down a GPU's call by its traced kernels; `facts.parallel` and single-threaded times are
// not used. Returns nullopt if a kernel was not traced. Kernels whose traced time exceeds the call
// are scaled to it. A kernel of w waves of blocks has work for w / ceil(w) of its time (waves: CUDA
// C++ Best Practices Guide, "Thread and Block Heuristics").
std::optional<Breakdown> MakeGpuBreakdown(const BreakdownFacts& facts,
                                          const std::vector<LaunchedKernel>& kernels);

}  // namespace dlroof::breakdown
