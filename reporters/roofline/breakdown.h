// Time breakdown of a call: its measured time as a sum of named components, from the time that the
// roof requires to the unexplained rest. Pure.
//
// The efficiencies are those of the POP project (Performance Optimisation and Productivity,
// "standard metrics"). Their product is the mean useful time of a thread / the time of the call.
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
  kRoof,       // time at the binding roof: arithmetic, or the bytes of one memory level
  kFunctions,  // sigmoid, tanh and other functions, timed as the library's own primitives
  kProducts,   // matrix products of the call's sizes by the library's GEMM, minus the roof's time
  kFixed,      // code that runs at any size, timed as the same call with all sizes 1
  kSharing,    // slowdown by the other threads: shared cores, caches, bandwidth; remote memory
  kLanes,      // multiply-adds in vector lanes that the problem's shape leaves idle
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
std::string_view Key(ComponentKind kind);    // "fork_join"
std::string_view Words(ComponentKind kind);  // "fork and join of parallel regions"

struct Component {
  ComponentKind kind = ComponentKind::kRoof;
  double seconds = 0;  // [s] > 0
  Provenance from = Provenance::kMeasured;
  std::string how;  // "33 regions, 1.0 us each"
  // [s] 95 % confidence interval over the profiling passes; set for at least six passes.
  std::optional<std::pair<double, double>> ci95 = {};

  bool operator==(const Component&) const = default;
};

// POP efficiencies, each in ]0, 1] [1]. Defined for calls with at least two threads.
struct Efficiencies {
  double load_balance = 1;   // mean / longest busy time of the threads in regions
  double serialisation = 1;  // share of the threads' time not lost in serial sections
  double transfer = 1;       // share of the time not lost in forks, joins and calls
  double parallel = 1;       // product: mean useful time of a thread / time of the call
  // Useful time on one thread / useful time of all threads. Set if the call ran on one thread too.
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
  std::string roof;                    // name of the binding roof: "arithmetic" or "DRAM"
  bool arithmetic = true;              // whether the binding roof is arithmetic
  bool streams = false;                // as in Breakdown
  std::optional<double> call_seconds;  // [s] measured time of an empty call or kernel
  // [s] Time of the call on one thread at the binding roof, and at the arithmetic roof.
  std::optional<double> single_thread_roof_seconds, single_thread_compute_seconds;
  // Memory levels except the binding one and L1, whose loads overlap with arithmetic. Their sum is
  // the time of these transfers without overlap (execution-cache-memory model: Treibig and Hager
  // 2009; Stengel et al. 2015).
  std::vector<LevelTime> levels;
  ParallelTime parallel;
};

struct Breakdown {
  std::vector<Component> components;  // the roof first; their sum is `seconds`
  double seconds = 0;
  double starts = 0;  // [1] parallel regions (CPU) or kernels (GPU) of one call
  // [s] Half the widest interval of a component, or 0. Tables join components that are not longer.
  double noise_seconds = 0;
  std::optional<Efficiencies> efficiencies;
  // DRAM is the roof of tensors that are larger than every cache and pass it once: no cache helps.
  bool streams = false;

  // Returns null if the breakdown has no component of this kind.
  const Component* Find(ComponentKind kind) const;
  // Returns the largest component except kRoof, or null if there is none.
  const Component* Largest() const;
};

// Breaks down the time of a CPU call. If threads waited for a CPU in a profiling pass, the part of
// the wait that made the pass longer than `facts.seconds` is subtracted, and the rest is scaled to
// `facts.seconds`. If components add up to more than the busy time, the last ones are shortened.
Breakdown MakeBreakdown(const BreakdownFacts& facts);

// Breaks down the time of a GPU call by its kernels; ignores `facts.parallel` and the
// single-threaded times. If the kernels were not traced, the time of the call minus that of its
// launches is the kernels' time, and kTail is known only if all launches are of one kernel. Returns
// nullopt without kernels. Traced times that exceed the call are scaled to it. A kernel with w
// waves of thread blocks fills the GPU for w / ceil(w) of its time (CUDA C++ Best Practices Guide,
// "Thread and Block Heuristics"); the rest is kTail.
std::optional<Breakdown> MakeGpuBreakdown(const BreakdownFacts& facts,
                                          const std::vector<LaunchedKernel>& kernels);

// Returns a sentence with the call's instructions on one thread, how they were counted, and the
// share of one core's issue slots that they fill. If they were not counted, the sentence has the
// reason. Returns nullopt if the profile has neither.
std::optional<std::string> InstructionSentence(const ParallelTime& parallel);

// Returns a sentence on the largest component except kRoof: its share and what to try. Returns
// nullopt if there is none, or if it is not longer than `noise_seconds`.
std::optional<std::string> BreakdownAdvice(const Breakdown& breakdown);

}  // namespace dlroof::roofline
