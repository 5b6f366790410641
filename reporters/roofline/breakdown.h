// Time breakdown of a call: splits its measured time into named components, from the time that the
// roof requires to the unexplained rest. The efficiencies are the "standard metrics" of the POP
// project (Performance Optimisation and Productivity). Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/parallel_time.h"
#include "counters/base/work.h"

namespace dlroof::roofline {

enum class ComponentKind {
  kRoof,          // time at the binding roof: arithmetic, or the bytes of one memory level
  kFunctions,     // sigmoid, tanh and other functions, timed as primitives of the library
  kProducts,      // time of the library's GEMM on the call's sizes, minus the roof's time
  kFixed,         // code that runs at any size, timed as the same call with all sizes 1
  kSharing,       // threads slow each other: shared cores, caches, bandwidth; remote memory
  kLanes,         // multiply-adds in vector lanes that the problem's shape leaves idle
  kInstructions,  // issue time of instructions that belong to no separately measured component
  kKernel,        // rest of the kernel's time with all tensors in L2
  kDistance,      // measured extra time of the kernel if the tensors are not in L2
  kLevels,        // modelled time of the bytes of memory levels that do not bind, without overlap
  kUnexplained,   // the rest of the threads' busy time
  kImbalance,     // wait for the slowest thread of each region: its busy time minus the mean
  kForkJoin,      // starting and ending parallel regions
  kSerial,        // one thread works, the other threads wait
  kCall,          // overhead of a library call, measured with an empty primitive
  kStolen,        // threads were ready to run but had no CPU
  kTail,          // GPU: multiprocessors without a block in the last wave of a kernel
  kLaunch,        // GPU: kernel launches, measured with an empty kernel
  kIdle,          // GPU: time without a running kernel, minus kLaunch
};
std::string_view Key(ComponentKind kind);    // e.g. "fork_join"
std::string_view Words(ComponentKind kind);  // e.g. "fork and join of parallel regions"

struct Component {
  ComponentKind kind = ComponentKind::kRoof;
  double seconds = 0;  // [s] > 0
  Provenance from = Provenance::kMeasured;
  std::string how;  // how the time was found, e.g. "the time of an empty primitive"; may be empty
  // [s] 95 % confidence interval over the profiling passes; set for at least six passes.
  std::optional<std::pair<double, double>> ci95 = {};

  bool operator==(const Component&) const = default;
};

// POP efficiencies [1], each above 0 and at most 1. Defined for calls with at least two threads.
struct Efficiencies {
  double load_balance = 1;   // mean / longest busy time of the threads in regions
  double serialisation = 1;  // share of the threads' time that serial sections do not lose
  double transfer = 1;       // share of the time that forks, joins and library calls do not take
  double parallel = 1;       // product of these three: mean useful time of a thread / call's time
  // Useful time on one thread / useful time of all threads. Set if the former is known.
  std::optional<double> computation;
};

// Time of one memory level: the call's bytes at this level divided by its bandwidth.
struct LevelTime {
  std::string level;   // "L2"
  double seconds = 0;  // [s]
  Provenance from = Provenance::kModelled;
};

// Input of MakeBreakdown and MakeGpuBreakdown.
struct BreakdownFacts {
  double seconds = 0;       // [s] measured time of one call
  double roof_seconds = 0;  // [s] time of the call at the binding roof
  Provenance roof_from = Provenance::kModelled;
  std::string roof;                    // the binding roof: "arithmetic", or a level such as "DRAM"
  bool arithmetic = true;              // whether the binding roof is arithmetic
  bool streams = false;                // see Breakdown::streams
  std::optional<double> call_seconds;  // [s] measured time of an empty call or kernel
  // [s] Roof time of the call with one thread's ceilings: at the binding, at the arithmetic roof.
  std::optional<double> single_thread_roof_seconds, single_thread_compute_seconds;
  // All memory levels except the binding level and L1 (L1 loads overlap with arithmetic). The sum
  // is the time of these levels' transfers without overlap (execution-cache-memory model: Treibig
  // and Hager 2009; Stengel et al. 2015).
  std::vector<LevelTime> levels;
  ParallelTime parallel;
};

struct Breakdown {
  std::vector<Component> components;  // the roof first; their sum is `seconds`
  double seconds = 0;
  double starts = 0;  // [1] parallel regions (CPU) or kernels (GPU) of one call
  // [s] Half of the widest `ci95` of the components; 0 if none has an interval.
  double noise_seconds = 0;
  std::optional<Efficiencies> efficiencies;
  // DRAM binds, and the tensors are larger than every cache and pass DRAM once: no cache can help.
  bool streams = false;

  // Returns null if the breakdown has no component of this kind.
  const Component* Find(ComponentKind kind) const;
  // Returns the largest component except kRoof, or null if there is none.
  const Component* Largest() const;
};

// Breaks down the time of a CPU call. If threads waited for a CPU in a profiling pass, the part of
// the wait that made the pass longer than `facts.seconds` is subtracted from the pass, and the rest
// of the pass is scaled to `facts.seconds`. If the components of the busy time add up to more than
// the busy time, the last components are shortened.
Breakdown MakeBreakdown(const BreakdownFacts& facts);

// Breaks down the time of a GPU call by its kernels; ignores `facts.parallel` and the
// single-threaded times. If the kernels were not traced, their time is the call's time minus the
// cost of its launches, and kTail is known only if all launches are of one kernel. Traced times
// that add up to more than the call's time are scaled to it. A kernel with w waves of thread blocks
// fills the GPU for w / ceil(w) of its time (CUDA C++ Best Practices Guide, "Thread and Block
// Heuristics"); the rest is kTail. Returns nullopt without kernels, or if neither the kernels'
// times nor `facts.call_seconds` are known.
std::optional<Breakdown> MakeGpuBreakdown(const BreakdownFacts& facts,
                                          const std::vector<LaunchedKernel>& kernels);

// Returns a sentence with the number of the call's instructions on one thread, how they were
// counted, and the share of one core's issue slots that they fill; or with the reason why they were
// not counted. Returns nullopt if the profile has neither.
std::optional<std::string> InstructionSentence(const ParallelTime& parallel);

// Returns a sentence on the largest component except kRoof: its share and what to try. Returns
// nullopt if no such component is longer than `noise_seconds`.
std::optional<std::string> BreakdownAdvice(const Breakdown& breakdown);

}  // namespace dlroof::roofline
