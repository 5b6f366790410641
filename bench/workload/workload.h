// Workloads (benchmarks that can be prepared), the backends that make them, and the registries of
// backends, libraries and operators.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"
#include "counters/caches/level_model.h"
#include "counters/counter_manager.h"
#include "counters/parallel_time.h"
#include "counters/work.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::workload {

// Result of comparing a call's outputs with the plain-loop reference.
struct Verification {
  bool ok = false;
  // [1] The largest |output - reference| over the scale of that output's tolerance, which each op
  // defines.
  double max_error = 0;
  double tolerance = 0;  // [1] largest max_error that is allowed
  // What was compared: "all 4096 outputs", "512 sampled outputs", "all outputs of the twin t2n4".
  std::string how;
};

// Memory of one tensor of a call.
struct MemoryRegion {
  const void* begin = nullptr;
  size_t bytes = 0;
  bool weights = false;  // trained parameters: weights, bias
};

struct PreparedCall;

// Analyses of a CPU call for --dlroof_explain. Each is optional: a function is set, and the number
// has a value, only if the backend offers the analysis for this call.
struct ExplainCapabilities {
  // Times the parts of one call with the library's own primitives on one thread, and counts their
  // instructions by single-stepping for at most `step_seconds` each (instruction_count.h).
  std::function<PartSeconds(double step_seconds)> parts;
  // Prepares a call that has as many parallel regions, with every other size set to 1.
  std::function<PreparedCall()> smallest;
  // Prepares the same call on folded tensors (FoldedMemory) whose distinct memory is at most
  // `distinct_bytes`, to time it with its operands in a near cache. Its results are meaningless.
  // Throws Unsupported or std::system_error if the machine lacks the memory.
  std::function<PreparedCall(double distinct_bytes)> folded;
  // [1] Multiply-adds that the vector lanes execute over those that the problem asks for.
  std::optional<double> executed_over_useful;
};

// What every call on a GPU has in addition.
struct GpuCapabilities {
  // Starts one call on a cudaStream_t and returns without waiting. Does the same work each time, so
  // that it can be captured into a graph. `run` is this function followed by a wait.
  std::function<void(void* stream)> enqueue;
  // Restores what a call consumes; it has finished when the function returns. Called before calls
  // that are timed or counted, outside of the measurement. Set only if calls consume something.
  std::function<void()> renew;
  // The kernel's blocks wait for each other, so that all must be resident on the GPU at once.
  bool blocks_wait = false;
};

// A call whose memory is filled with seeded data and whose algorithm is chosen. Owns everything
// that `run` uses.
struct PreparedCall {
  std::function<void()> run;             // makes one call and returns when it has finished
  std::function<Verification()> verify;  // compares with the reference; called once, before timing
  std::string algorithm;                 // chosen by the library: "brgconv:avx512_core"
  std::string isa;                       // that the library may use: "avx512_core_vnni"
  Work modelled;                         // of one call, on the pipes that this algorithm uses
  caches::LevelModel levels;             // of the call's loops: bytes at each cache level
  std::vector<MemoryRegion> memory;      // every tensor that `run` reads or writes
  std::optional<int> threads;            // used by this call if fewer than settings.threads
  // [1] Time of the library's own choice of algorithm over that of the fastest one. Set if all
  // algorithms were timed and the fastest was taken.
  std::optional<double> heuristic_over_best;
  ExplainCapabilities explain;
  std::optional<GpuCapabilities> gpu;  // set by every backend of a GPU
};

struct RunSettings {
  int threads = 1;
  // CPUs that may be used, in the order of the threads that are pinned to them. Threads are not
  // pinned if the list is empty.
  std::vector<int> cpus;
  unsigned seed = 1;
  std::string counters{kAutoCounters};
  std::string gpu;  // the name of the run's GPU, if it has one
};

// Content of the caches when a call begins.
enum class CacheState {
  kWarm,         // whatever the previous call left there
  kCold,         // none of the call's tensors
  kColdWeights,  // all tensors but the weights: a model that has been idle gets new input
};
std::string_view Key(CacheState state);  // "warm", "cold", "cold-weights"

struct Workload {
  BenchmarkName name;
  // Throws Unsupported with the library's own message if it refuses the call, and another
  // std::exception if it fails.
  std::function<PreparedCall(const RunSettings&)> prepare;
  std::optional<std::string> repro;  // arguments with which benchdnn times the same call, if it can
  std::optional<int> threads;        // requested by the name; otherwise the run's number applies
  CacheState cache = CacheState::kWarm;
};

// Runs one operator on one device by one library. Every build knows every backend, so that names
// are parsed and refused in the same way whether or not the library is present.
struct Backend {
  std::string op, device, library;
  // Required. Checks the name and returns its workload without `prepare`. The name comes without
  // the options that every backend has. Throws BadInput (with the column in the whole name) for a
  // direction, type, problem or option that does not exist. Whether the library supports the call
  // is only known in `prepare`.
  std::function<Workload(const BenchmarkName&)> read;
  // The library, if a build may lack it: "oneDNN 3.2 or newer".
  std::optional<std::string> needs = {};
  // Becomes Workload::prepare. Only set if this build and this machine have the library.
  std::function<PreparedCall(const BenchmarkName&, const RunSettings&)> prepare = {};
};

// Registers a backend. Call at namespace scope: [[maybe_unused]] const bool registered =
// RegisterBackend({...}). A backend may be registered in two steps, in any order: its op's folder
// registers `read` and `needs` in every build, the library's folder `prepare` where the library is
// present. The first registration of each member wins. Returns true.
bool RegisterBackend(Backend backend);
const std::vector<Backend>& AllBackends();

// Sets the reason, with a remedy, why the backends of a device lack their library. It becomes the
// reason of each of their benchmarks, instead of "this build of dlroof was made without ...".
void SetMissingReason(const std::string& device, const Reason& reason);

// Returns the column (from 1) at which part `index` of the name's text begins, for messages of
// `read`.
int ColumnOfPart(const BenchmarkName& name, int index);

// A library that backends call. Run files and `dlroof doctor` describe every registered library.
struct Library {
  std::string name;                          // "onednn"
  std::function<std::string()> description;  // version, threading, allowed ISA
  // Pins the library's i-th thread to cpus[i], and the calling thread to cpus[0].
  std::function<void(const std::vector<int>& cpus)> pin;
  // Calls visit(thread) on each of the library's threads concurrently. The threads then spin for
  // more work, so that a call that begins right afterwards need not wake them.
  std::function<void(const std::function<void(int)>& visit)> on_threads;
  // Sets the number of threads of the library's following calls, as preparing a call does. Set only
  // by libraries whose number of threads can change.
  std::function<void(int threads)> use_threads = {};
};
bool RegisterLibrary(Library library);
const std::vector<Library>& AllLibraries();

// The options of a backend, in the order in which a name lists them. Each row holds alternatives,
// of which a name has at most one; without an option of the row the default applies.
using OptionRows = std::vector<std::vector<std::string_view>>;
// Throws BadInput with the column of an option that no row holds, or that is repeated or out of
// order (each benchmark has exactly one name).
void CheckOptions(const BenchmarkName& name, const OptionRows& rows);
bool HasOption(const BenchmarkName& name, std::string_view option);
// Throws BadInput with the column and "'OPTION' REASON" if the name has the option.
void RefuseOption(const BenchmarkName& name, std::string_view option, std::string_view reason);

// The row of options that let a library compute f32 in a narrower type: "fpmath-bf16" ...
const std::vector<std::string_view>& FpmathOptions();
// Returns the type of the name's option of that row: "bf16".
std::optional<std::string> FpmathOf(const BenchmarkName& name);

// A Backend::read that only checks the name, by `kReadCase`, and adds nothing to the workload.
template <auto kReadCase>
Workload CheckedWorkload(const BenchmarkName& name) {
  kReadCase(name);
  return {};
}

// Returns the workload of a name. The last options of every backend are, in this order, "threadsN"
// and "cold" or "cold-weights". Throws BadInput for what ParseBenchmarkName and the backend refuse,
// and for an unknown op, device or library (the message lists the known ones). If the build lacks
// the library, the workload's `prepare` throws Unsupported, so that the run still records the
// benchmark.
Workload MakeWorkload(const std::string& name);

}  // namespace dlroof::workload

namespace dlroof::benchdnn {
struct BenchdnnDriver;
}

namespace dlroof::workload {

// Options that compute the same result in different ways. A name has at most one of them.
struct OpVariants {
  std::string what;                  // "algorithm"
  std::vector<std::string> options;  // "auto", "winograd"
  std::string reason;                // why one of them may be faster
};

// One training step of a layer on one device.
struct TrainedLayer {
  int64_t batch = 1;       // [1] samples of a call
  int64_t parameters = 0;  // [1] weights and biases; each has a gradient
};

// An operator: everything that other modules need to know about it. Members with a default are
// optional; a function is only set if the op has the feature.
struct Op {
  std::string name;             // in benchmark names: "Conv2D"
  roofline::OpWords words;      // for reports: its noun, the letters of its problems
  std::string flop_convention;  // the rule by which its FLOPs are counted, for run files
  std::vector<const benchdnn::BenchdnnDriver*> benchdnn = {};  // benchdnn's drivers that time it
  std::vector<std::string> directions = {};                    // of all its backends together
  // Lines of a suite file: the default templates of problems, for files without templates.
  std::string templates = {};
  // Returns the name's problem with another batch size. Throws BadInput if that problem is invalid,
  // and Unsupported if the problem does not say which of its sizes is the batch.
  std::function<std::string(const BenchmarkName& name, int64_t batch)> with_batch = {};
  // Set if the op has trained parameters. Throws as with_batch does.
  std::function<TrainedLayer(const BenchmarkName& name)> trained = {};
  std::vector<OpVariants> variants = {};  // choices of `dlroof tune`
  // Returns the model of a call's traffic on the GPU named `gpu` (CountRequest::model), or an empty
  // function if this call is not modelled.
  std::function<std::function<Work(std::string& how)>(
      const BenchmarkName& name, const std::string& algorithm, const std::string& gpu)>
      gpu_traffic = {};
};

// Called by each op's case.cpp at namespace scope. Returns true.
bool RegisterOp(Op op);
// Returns the ops, sorted by name.
std::vector<const Op*> AllOps();
// Returns null if no op has this name.
const Op* FindOp(std::string_view name);

}  // namespace dlroof::workload
