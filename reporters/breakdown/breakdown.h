// A measured time as a sum of named parts, from what the roof needs to what is not explained. Pure.
//
// Parallel part: the POP project's efficiencies (Performance Optimisation and Productivity,
// "standard metrics"), whose product is the mean useful time of a thread over the time.
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
  kInstructions,  // as many instructions as a core can start, beyond those of the parts before
  kLoads,         // vector loads that feed the multiply-adds, beyond the time of these
  kKernel,        // what the call takes beyond that where a near cache holds every tensor
  kDistance,      // what it takes longer where the tensors lie where they do
  kLevels,        // bytes of the other levels, as if nothing hid them; where nothing was measured
  kUnexplained,   // the rest of the threads' busy time
  kImbalance,     // the slowest thread of each region less the mean
  kForkJoin,      // starting and ending parallel regions
  kSerial,        // one thread works, the others wait
  kCall,          // one call of the library, as an empty primitive has it
  kStolen,        // threads were ready and had no CPU
  kTail,          // GPU: in a kernel's last wave of blocks some multiprocessors have none
  kLaunch,        // GPU: starting kernels, by an empty one
  kIdle,          // GPU: no kernel runs, beyond that
};
std::string_view Key(ComponentKind kind);    // "fork_join"
std::string_view Words(ComponentKind kind);  // "fork and join of parallel regions"

struct Component {
  ComponentKind kind = ComponentKind::kRoof;
  double seconds = 0;  // [s] > 0
  Provenance from = Provenance::kMeasured;
  std::string how;  // "33 regions, 1.0 us each"
  // [s] 95 % interval over the passes; absent with fewer than six
  std::optional<std::pair<double, double>> ci95 = {};

  bool operator==(const Component&) const = default;
};

// [1] In ]0, 1]; absent with one thread.
struct Efficiencies {
  double load_balance = 1;   // mean over longest busy time in regions
  double serialisation = 1;  // what is left of the threads' time by one that works alone
  double transfer = 1;       // what fork, join and calls leave
  double parallel = 1;       // their product: mean useful time of a thread over the time
  // Useful time on one thread over that of all threads; absent where it was not watched on one.
  std::optional<double> computation;
};

// Bytes of a level over its bandwidth.
struct LevelTime {
  std::string level;   // "L2"
  double seconds = 0;  // [s]
  Provenance from = Provenance::kModelled;
};

// The facts that a breakdown is made of.
struct BreakdownFacts {
  double seconds = 0;       // [s] measured time of one call
  double roof_seconds = 0;  // [s] that the binding roof asks for; 0: not known
  Provenance roof_from = Provenance::kModelled;
  std::string roof;                    // "arithmetic" or "DRAM"
  bool arithmetic = true;              // it is the arithmetic one
  std::optional<double> call_seconds;  // [s] of an empty call or kernel, by the ceilings
  // [s] that the same roof, and arithmetic, ask for on one thread; absent: not known
  std::optional<double> single_thread_roof_seconds, single_thread_compute_seconds;
  // [s] of the call's vector loads, as fast as L1 serves them; absent: not known
  std::optional<double> load_seconds;
  // Levels other than the roof's, but for L1, whose loads run beside arithmetic. Their sum is the
  // time where no transfer runs beside another (execution-cache-memory model: Treibig and Hager
  // 2009; Stengel et al. 2015).
  std::vector<LevelTime> levels;
  ParallelTime parallel;
};

struct Breakdown {
  std::vector<Component> parts;  // from the roof on, their sum is `seconds`; none is 0
  double seconds = 0;
  double starts = 0;  // [1] parallel regions of one call, or kernels
  std::optional<Efficiencies> efficiencies;

  const Component* Find(ComponentKind kind) const;
  // The largest part above the roof; null where there is none.
  const Component* Largest() const;
  // [1] Share of the gap (all but the roof's part) that is not explained; 0 without a gap.
  double UnexplainedShare() const;
};

// Waits for a CPU that made the passes longer than `seconds` are left out, then the passes' times
// are scaled to it. A part that another estimate leaves no module for is shortened: of the busy
// time those come first that were measured.
Breakdown MakeBreakdown(const BreakdownFacts& facts);

// The same of a GPU's call from its traced kernels; of the facts it takes neither what was watched
// nor what holds on one thread alone. Absent where a kernel was not traced. Kernels that were
// traced for longer than the call takes are scaled to it. A kernel of w waves of blocks has work
// for w / ceil(w) of its time (waves: CUDA C++ Best Practices Guide, "Thread and Block
// Heuristics").
std::optional<Breakdown> MakeGpuBreakdown(const BreakdownFacts& facts,
                                          const std::vector<LaunchedKernel>& kernels);

}  // namespace dlroof::breakdown
