// Workloads, which are benchmarks before they run, and the cells that make them.
//
// Row that an op's folder registers: all that the other modules need to know about the op.
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

// Result of the comparison with the plain-loop reference.
struct Verification {
  bool ok = false;
  double max_error =
      0;  // [1] largest |output - reference| / (tolerance scale of that output), see the cell
  double tolerance = 0;  // [1] what was allowed
  std::string
      how;  // "all 4096 outputs", "512 sampled outputs", "all outputs of the twin t2n4i64h64"
};

// Memory of one tensor of a call; what a cold call must not find in a cache.
struct MemoryRegion {
  const void* begin = nullptr;
  size_t bytes = 0;
  bool weights = false;  // trained parameters: weights, bias
};

// Memory filled with seeded data, algorithm chosen. Owns everything that `run` uses.
struct PreparedCall {
  std::function<void()> run;             // one call, finished when it returns; nothing but the call
  std::function<Verification()> verify;  // compares with the reference; called once, before timing
  std::string algorithm;                 // what the library chose: "brgconv:avx512_core"
  std::string isa;                       // what the library may use here: "avx512_core_vnni"
  Work modelled;                         // of one call, on the pipes that this algorithm uses
  caches::LevelModel levels;             // its loops, for the bytes at each cache level
  int threads = 0;  // that work on it, where they are not all that were given; 0: all
  std::vector<MemoryRegion> memory;  // every tensor that `run` reads or writes
  // [1] Time of the library's own choice of algorithm over that of the fastest one, where all were
  // timed and the fastest was taken.
  std::optional<double> heuristic_over_best;
  // Times parts of one call by the library's own primitives on one thread, and counts their
  // instructions, by single steps for at most so long each (instruction_count.h); empty: nobody can
  // tell.
  std::function<PartSeconds(double step_seconds)> parts;
  // Makes the same call with every size 1 that its number of parallel regions does not depend on;
  // empty: there is none.
  std::function<PreparedCall()> smallest;
  // Makes the same call on copies of its tensors of which at most so many bytes are distinct
  // (FoldedMemory). Its results are of no use. Throws Unsupported, or std::system_error, where the
  // machine lacks the memory. Empty: there is none.
  std::function<PreparedCall(double distinct_bytes)> folded;
  // [1] Multiply-adds that the vector lanes execute over those that the problem asks for; absent:
  // not modelled.
  std::optional<double> executed_over_useful;
  // GPUs only: starts one call on a cudaStream_t and returns, never waits; `run` is this, then a
  // wait for its end. The same work each time, so that it can be captured into a graph.
  std::function<void(void* stream)> enqueue;
  // GPUs only: brings back what a call uses up, finished when it returns; before calls that are
  // timed or counted, and not part of them. Empty: every call finds what the first one found.
  std::function<void()> renew;
  // GPUs only: a kernel's blocks wait for each other, so that all must be on the GPU at once.
  bool blocks_wait = false;
};

struct RunSettings {
  int threads = 1;
  // The first for the first thread to stay on, and so on, as many as may be used; empty: threads
  // are not pinned.
  std::vector<int> cpus;
  unsigned seed = 1;
  std::string counters{kAutoCounters};
  std::string gpu;  // the GPU's name where the run has one
};

// Content of the caches when a call begins.
enum class CacheState {
  kWarm,         // what the call before left there
  kCold,         // nothing of the call's tensors
  kColdWeights,  // nothing of its weights: data came just now, the model has long been idle
};
std::string_view Key(CacheState state);  // "warm", "cold", "cold-weights"

struct Workload {
  BenchmarkName name;
  // Throws Unsupported with the library's own words, std::exception when it breaks.
  std::function<PreparedCall(const RunSettings&)> prepare;
  // benchdnn's arguments that time the same call; empty where benchdnn cannot.
  std::string repro;
  int threads = 0;  // that the name asks for; 0: as many as the run gives
  CacheState cache = CacheState::kWarm;
};

// One op on one device by one library. Every build knows every cell: names parse, or are refused,
// the same way without the library.
struct Backend {
  std::string op, device, library;
  // Returns the workload without `prepare`. Throws BadInput (column within the whole name) for a
  // direction, type, problem or option that cannot exist. Sees the name without the options that
  // every cell has. Support by the library shows only in `prepare`.
  std::function<Workload(const BenchmarkName&)> read;
  std::string needs = {};  // a library that a build may lack: "oneDNN 3.2 or newer"; empty: none
  // Fills Workload::prepare. Empty: this build, or this machine, lacks the library.
  std::function<PreparedCall(const BenchmarkName&, const RunSettings&)> prepare = {};
};

// Called at namespace scope by the op's folder (`read`, `needs`), and by the library's (`prepare`):
// [[maybe_unused]] const bool registered = RegisterBackend({...}). Completes a cell that is there:
// of each part the first counts. Returns true.
bool RegisterBackend(Backend cell);
const std::vector<Backend>& AllBackends();

// Records why the cells of a device lack their library, with the cure: the reason of every
// benchmark of theirs. Without it the build is named.
void ExplainMissing(const std::string& device, const std::string& why);

// Column (from 1) at which part `index` of the name's text begins; for messages of `read`.
int ColumnOfPart(const BenchmarkName& name, int index);

// A library that cells call: named in every run file and by the doctor.
struct Library {
  std::string name;                          // "onednn"
  std::function<std::string()> description;  // version, threading, ISA that it may use
  // Keeps its i-th thread on cpus[i] from now on, and with it the calling thread on cpus[0].
  std::function<void(const std::vector<int>& cpus)> pin;
  // Calls `visit` with its number on each of its threads at once. They then wait for more work: a
  // call that begins now need not wake them.
  std::function<void(const std::function<void(int)>& visit)> on_threads;
  // Its calls run on so many threads from now on, as preparing a call for them sets it; may be
  // empty where that does nothing.
  std::function<void(int threads)> use_threads = {};
};
bool RegisterLibrary(Library library);
const std::vector<Library>& AllLibraries();

// The options that a cell knows, in the order in which a name must have them: each row holds
// choices of which a name has one at most, the default being to have none.
using OptionRows = std::vector<std::vector<std::string_view>>;
// Throws BadInput with the column for an option that no row holds, that comes twice or too late
// (one benchmark has one name).
void CheckOptions(const BenchmarkName& name, const OptionRows& rows);
bool HasOption(const BenchmarkName& name, std::string_view option);
// Throws BadInput with the column, "'OPTION' WHY", where the name has the option.
void RefuseOption(const BenchmarkName& name, std::string_view option, std::string_view why);

// The row of options by which a library may compute f32 in a narrower type: "fpmath-bf16".
const std::vector<std::string_view>& FpmathOptions();
// "bf16"; empty where the name has none of them.
std::string FpmathOf(const BenchmarkName& name);

// Backend::read of a cell whose name is read for its refusals alone.
template <auto kReadCase>
Workload ReadNameAlone(const BenchmarkName& name) {
  kReadCase(name);
  return {};
}

// Every cell's last options, in this order: "threadsN", then "cold" or "cold-weights".
//
// Returns the workload of a name. Throws BadInput: what ParseBenchmarkName refuses, or no such op,
// device or library (listing those there are). Without its library the workload's prepare throws
// Unsupported: the benchmark is recorded, it does not vanish.
Workload MakeWorkload(const std::string& name);

}  // namespace dlroof::workload

namespace dlroof::benchdnn {
struct BenchdnnDriver;
}

namespace dlroof::workload {

// Options of names that reach the same result another way. A name has one of them at most.
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

struct Op {
  std::string name;             // in benchmark names: "Conv2D"
  roofline::OpWords words;      // for reports: its noun, the letters of its problems
  std::string flop_convention;  // the rule by which its FLOPs are counted, for run files
  std::vector<const benchdnn::BenchdnnDriver*> benchdnn =
      {};                                    // drivers of benchdnn that time this op
  std::vector<std::string> directions = {};  // that any of its cells has
  // Lines of a suite file that say which benchmarks a problem has where the file does not.
  std::string templates = {};
  // Returns the name's problem with another batch size. Throws BadInput where the problem with it
  // cannot be, and Unsupported where the problem does not say which of its sizes is the batch.
  std::function<std::string(const BenchmarkName& name, int64_t batch)> with_batch = {};
  // Throws as with_batch. Empty: calls of this op have no parameters.
  std::function<TrainedLayer(const BenchmarkName& name)> trained = {};
  std::vector<OpVariants> variants = {};  // that a tuning may choose among
  // Returns the model of a call's traffic on a GPU, which is CountRequest::model. `gpu` is the
  // GPU's name. Empty: there is no model of this op, or none of this call.
  std::function<std::function<Work(std::string& how)>(
      const BenchmarkName& name, const std::string& algorithm, const std::string& gpu)>
      gpu_traffic = {};
};

// Called by each op's op.cpp at namespace scope. Returns true.
bool RegisterOp(Op op);
// Returns the ops in the order of their names.
std::vector<const Op*> AllOps();
// Returns null where no op has this name.
const Op* FindOp(std::string_view name);

}  // namespace dlroof::workload
