// Workloads (benchmarks that can be prepared), the backends that implement them, and the registries
// of backends, libraries and operators.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/counter_manager.h"
#include "counters/base/error.h"
#include "counters/base/parallel_time.h"
#include "counters/base/work.h"
#include "counters/gpu/clock.h"
#include "reporters/record/record.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::workload {

// Benchmark names, op/device/library/direction/type/problem[/option...], and the problem texts in
// them, such as n16c64h112. A name contains everything that is needed to run the benchmark again.

// Parses a problem text from left to right. Columns in messages count from 1, plus `column_offset`:
// the number of characters before the problem in a longer line.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text, int column_offset = 0)
      : text_(text), column_offset_(column_offset) {}

  bool AtEnd() const { return at_ == text_.size(); }
  // Skips `word` and returns true if the unread text begins with it.
  bool Accept(std::string_view word);
  // Skips `word`, or calls Refuse if the unread text begins with something else.
  void Expect(std::string_view word);
  // Reads an integer from `least` to 2^31-1 without leading zeros, or calls Refuse with `what`.
  int64_t Integer(int64_t least, std::string_view what);
  // Reads sizes in this order, each a letter and an integer of at least 1, e.g. "n16c64".
  struct Size {
    std::string_view letter;
    int64_t& value;
  };
  void Sizes(std::initializer_list<Size> sizes);
  // Throws BadInput with the column: "expected EXPECTED, got ...".
  [[noreturn]] void Refuse(std::string_view expected) const;

 private:
  std::string_view text_;
  size_t at_ = 0;
  int column_offset_;
};

// Parses a problem's text by read(cursor), then calls check(problem). If `check` throws BadInput
// (sizes that do not fit each other), adds the column of the problem's first character to it.
template <class Read, class Check>
auto ParseProblem(std::string_view text, int column_offset, Read read, Check check) {
  TextCursor cursor(text, column_offset);
  auto problem = read(cursor);
  try {
    check(problem);
  } catch (const BadInput& error) {
    throw BadInput({.column = column_offset + 1}, error.text);
  }
  return problem;
}

// Returns the product of the sizes. Throws BadInput with `what` if it overflows 64 bits.
int64_t CheckedCount(std::initializer_list<int64_t> sizes, std::string_view what);
// Throws BadInput with `what` if the sum of the counts overflows 64 bits.
void CheckSum(std::initializer_list<int64_t> counts, std::string_view what);

struct BenchmarkName {
  std::string op, device, library, direction, type, problem;
  std::vector<std::string> options;

  bool operator==(const BenchmarkName&) const = default;
};

std::string ToText(const BenchmarkName& name);

// Splits a name at its slashes. Throws BadInput with the column (from 1) of the first bad character
// for fewer than six parts, an empty part, or a character outside [A-Za-z0-9_.:+-]. Does not check
// the op, the library and the problem; MakeWorkload does.
BenchmarkName ParseBenchmarkName(const std::string& text);
// Returns the name with these parts, at least six, in the order of its text.
BenchmarkName NameOfParts(const std::vector<std::string>& parts);

// Returns the name with `value` as the new size of `parameter` ("batch") in its problem. A square
// image or kernel stays square, and the padding does not change. Throws BadInput for an invalid
// name, an unknown parameter (the message lists the known ones), or if the new problem is invalid.
std::string WithSize(const std::string& name, const std::string& parameter, std::int64_t value);

// Returns the size of a parameter in the name's problem, or 1 if the problem does not mention it.
// Throws BadInput for an invalid name or an unknown parameter.
std::int64_t SizeOf(const std::string& name, const std::string& parameter);

// Returns the name with the option threadsN added. Throws BadInput for an invalid name, a benchmark
// that does not run on the CPU, or a name that already has such an option.
std::string WithThreads(const std::string& name, int threads);

// Result of comparing a call's outputs with the outputs of the reference loops.
struct Verification {
  bool ok = false;
  // [1] The largest |output - reference|, in units of a scale that each op defines (the allowed
  // error of an element, or the largest value of the tensor).
  double max_error = 0;
  double tolerance = 0;  // [1] largest allowed max_error
  // Which outputs were compared, e.g. "all 4096 outputs", or those of a smaller problem.
  std::string how;
};

// Returns e.g. "differs from the reference: error 6.78e+03, allowed 1 (all 4096 outputs)".
std::string DifferenceText(const Verification& found);

struct MemoryRegion {
  const void* begin = nullptr;
  size_t bytes = 0;
  bool weights = false;  // trained parameters: weights, bias
};

struct PreparedCall;

// Analyses of a CPU call for --dlroof_explain. A function or number is empty if the backend does
// not offer that analysis for this call.
struct ExplainCapabilities {
  // Measures parts of the call's time (its GEMMs) by the library's own primitives on one thread.
  std::function<PartSeconds()> parts;
  // Prepares the call with all sizes 1 but those that determine the number of parallel regions.
  std::function<PreparedCall()> smallest;
  // Prepares the same call on tensors in FoldedMemory with at most `distinct_bytes` of distinct
  // memory, to time the call with its operands in a near cache. Its results are meaningless. Throws
  // Unsupported or std::system_error if the machine lacks the memory.
  std::function<PreparedCall(double distinct_bytes)> folded;
  // [1] Multiply-adds that all vector lanes execute, divided by the multiply-adds of the problem.
  std::optional<double> executed_over_useful;
};

// Functions and properties that only calls on a GPU have.
struct GpuCapabilities {
  // Starts one call on a cudaStream_t and returns without waiting. Every call does the same work,
  // so that a CUDA graph can capture it. `run` calls this function and then waits for the stream.
  std::function<void(void* stream)> enqueue;
  // Restores the inputs that a call overwrites, and returns when that has finished. Called before
  // calls that are timed or counted, outside of the measurement. Absent if calls overwrite nothing.
  std::function<void()> renew;
  // Returns `enqueue` on copies of tensors: the tensor that begins at a key is replaced by the copy
  // that begins at its value. Absent if the call can only use its own tensors.
  std::function<std::function<void(void* stream)>(const std::map<const void*, void*>& copies)>
      on_copies;
  // Whether the thread blocks wait for each other, so that all must be resident on the GPU at once.
  bool blocks_wait = false;
  // Names of the kernels that a call launches, if they are known (Timer::Kernels).
  std::vector<std::string> kernels;
};

// A call with seeded data in its memory and a chosen algorithm. Owns all memory that `run` uses.
struct PreparedCall {
  std::function<void()> run;  // makes one call and returns when it has finished
  // Makes `calls` calls with less time between them than repeated calls of `run`. May be empty.
  std::function<void(std::int64_t calls)> repeat;
  std::function<Verification()> verify;  // makes a call and compares with the reference
  // Replaces the inputs by those of another seed, in the same memory, and invalidates the outputs.
  // Called after the timing, before `verify` is called again. Absent: `verify` is called only once.
  std::function<void(unsigned seed)> new_inputs;
  std::string algorithm;             // the library's implementation: "brgconv:avx512_core"
  std::string isa;                   // highest ISA that the library may use: "avx512_core_vnni"
  Work modelled;                     // FLOPs, bytes and launches of one call, by formula
  std::vector<MemoryRegion> memory;  // every tensor that `run` reads or writes
  std::optional<int> threads;        // threads of this call, if fewer than settings.threads
  // [1] Time of the algorithm that the library's heuristic chooses, divided by the time of the
  // fastest algorithm. Absent unless all algorithms were timed and the fastest was chosen.
  std::optional<double> heuristic_over_best;
  // Algorithms that computed a wrong result, so that this one was chosen instead of them.
  std::vector<record::WrongEngine> wrong_engines;
  // Chooses the library's next algorithm for this call, after `verify` has found a wrong result.
  // Replaces `algorithm`, `modelled` and what the functions above run. Returns false if none is
  // left: the call is then unusable. Absent if the name or the library allows only one algorithm.
  std::function<bool(PreparedCall&)> next_algorithm;
  ExplainCapabilities explain;
  std::optional<GpuCapabilities> gpu;  // set by every backend of a GPU
};

struct RunSettings {
  int threads = 1;
  // CPUs of the threads: thread i is pinned to cpus[i]. Not pinned if the list is empty.
  std::vector<int> cpus;
  unsigned seed = 1;
  std::string counters{kAutoCounters};
  std::string gpu;  // the name of the run's GPU, if it has one
};

// Content of the caches when a call begins.
enum class CacheState {
  kWarm,         // whatever the previous call left in the caches
  kCold,         // none of the tensors of the call
  kColdWeights,  // inputs and outputs but no weights, as if a model gets input after a pause
};
std::string_view Key(CacheState state);  // "warm", "cold", "cold-weights"

struct Workload {
  BenchmarkName name;
  // The name of another program's benchmark (bench/library). Only `name.device` is then set.
  std::optional<std::string> other_name = {};
  // Throws Unsupported with the library's message if the library does not support the call, and
  // another std::exception if the preparation fails.
  std::function<PreparedCall(const RunSettings&)> prepare;
  std::optional<std::string> repro;  // arguments with which benchdnn times the same call, if any
  std::optional<int> threads;        // N of the name's option threadsN; absent: the run's number
  CacheState cache = CacheState::kWarm;
  bool exact_calls = false;  // registered with ->Iterations(n): makes exactly n calls
};

std::string NameOf(const Workload& workload);  // the benchmark's name, as records have it

// Implements one operator on one device with one library. Every build registers every backend, so
// that all builds accept and reject the same names, whether or not they contain the library.
struct Backend {
  std::string op, device, library;
  // Required. Checks a name and returns its workload with all members but `prepare`. The name comes
  // without the options that all backends share (threadsN, cold). Throws BadInput with the column,
  // from the start of the full name, for an unknown direction, type, problem or option. Whether the
  // library supports the call is only known in `prepare`.
  std::function<Workload(const BenchmarkName&)> read;
  // The library that the backend calls ("oneDNN 3.2 or newer"). Absent if every build contains it.
  std::optional<std::string> needs = {};
  // Becomes Workload::prepare. Empty if this build or this machine lacks the library.
  std::function<PreparedCall(const BenchmarkName&, const RunSettings&)> prepare = {};
};

// Registers a backend. Call it at namespace scope: [[maybe_unused]] const bool backend_registered =
// RegisterBackend({...}). A backend may be registered in two steps, in any order: the op's folder
// registers `read` and `needs` in every build, and the library's folder registers `prepare` if the
// library is present. The first registration of each member counts. Returns true.
bool RegisterBackend(Backend backend);
const std::vector<Backend>& AllBackends();

// Sets why the backends of a device cannot use their library, with a remedy. The benchmarks of the
// device report this reason instead of "this build of dlroof was made without ...".
void SetMissingReason(const std::string& device, const Reason& reason);

// Returns the column (from 1) at which part `index` of a name (0 is the op, 5 the problem, then the
// options) begins in the name's text. Backend::read uses it in messages.
int ColumnOfPart(const BenchmarkName& name, int index);

// A library that backends call. Run files and `dlroof doctor` describe every registered library.
struct Library {
  std::string name;                          // "onednn"
  std::function<std::string()> description;  // version, threading, allowed ISA
  // Pins the library's i-th thread to cpus[i], and the calling thread to cpus[0].
  std::function<void(const std::vector<int>& cpus)> pin;
  // Calls visit(thread) concurrently on each of the library's threads. Afterwards the threads spin,
  // so that a call that begins at once does not have to wake them.
  std::function<void(const std::function<void(int)>& visit)> on_threads;
};
bool RegisterLibrary(Library library);
const std::vector<Library>& AllLibraries();

// The options of a backend, in the order of names. Each row contains alternatives: a name has at
// most one option of a row, and a default applies if it has none.
using OptionRows = std::vector<std::vector<std::string_view>>;
// Throws BadInput with the column of an option that is in no row, is repeated, or is out of order.
// So each benchmark has exactly one name.
void CheckOptions(const BenchmarkName& name, const OptionRows& rows);
bool HasOption(const BenchmarkName& name, std::string_view option);
// Throws BadInput with the column and "'OPTION' REASON" if the name has the option.
void RefuseOption(const BenchmarkName& name, std::string_view option, std::string_view reason);

// The row of options that allow a library to compute f32 in a narrower type, e.g. "fpmath-bf16".
const std::vector<std::string_view>& FpmathOptions();
// Returns the type of a name's fpmath option, e.g. "bf16", or nullopt if it has no such option.
std::optional<std::string> FpmathOf(const BenchmarkName& name);

// Returns a Backend::read that checks the name with `read` and leaves the workload empty.
template <class Read>
auto CheckedWorkload(Read read) {
  return [read = std::move(read)](const BenchmarkName& name) {
    read(name);
    return Workload();
  };
}

// Returns an Op::with_batch of problems whose texts have the batch size behind this key. Calls
// parse(text, 0), which throws BadInput if the new problem is invalid.
template <class Parse>
auto WithBatch(const std::string& key, Parse parse) {
  return [key, parse](const BenchmarkName& name, int64_t batch) {
    auto text = roofline::WithValue(name.problem, {"batch", key}, std::to_string(batch)).front();
    parse(text, 0);
    return text;
  };
}

// Returns the workload of a name. The last options of every name may be "threadsN" and then "cold"
// or "cold-weights". Throws BadInput if ParseBenchmarkName or the backend rejects the name, or for
// an unknown op, device or library (the message lists the known ones). If the build lacks the
// library, the workload's `prepare` throws Unsupported, so that the run records it.
Workload MakeWorkload(const std::string& name);

// Returns what MakeWorkload throws for the name, or nullopt for a valid name.
std::optional<BadInput> InvalidReason(const std::string& name);

// Returns the name with the option at its place in the grammar; nullopt if there is no such name.
std::optional<BenchmarkName> WithOption(const BenchmarkName& name, const std::string& option);

}  // namespace dlroof::workload

namespace dlroof::suites {
struct BenchdnnDriver;
}

namespace dlroof::workload {

inline constexpr std::string_view kAlgorithmVariants = "algorithm";  // value of OpVariants::what

// Options that select different ways to compute the same result. A name has at most one of them.
struct OpVariants {
  std::string what;                  // what the options select: "algorithm"
  std::vector<std::string> options;  // "auto", "winograd"
  std::string reason;                // why one of the options may be faster than another
};

// An operator, as other modules see it. Members with a default are optional: an empty function
// means that the operator lacks the feature.
struct Op {
  std::string name;             // in benchmark names: "Conv2D"
  roofline::OpWords words;      // words for reports: the op's noun, the sizes of its problems
  std::string flop_convention;  // how its FLOPs are counted, for run files
  std::vector<const suites::BenchdnnDriver*> benchdnn = {};  // drivers that time the op
  std::vector<std::string> directions = {};                  // directions of all its backends
  // Lines of a suite file: the templates for files that contain none for this op.
  std::string templates = {};
  // Returns the name's problem with batch size `batch`. Throws BadInput if the new problem is
  // invalid, and Unsupported if the problem does not define which of its sizes is the batch.
  std::function<std::string(const BenchmarkName& name, int64_t batch)> with_batch = {};
  // Returns the FLOPs of the problem in a record's name (roofline::OpWords).
  roofline::NamedFlops named_flops = {};
  std::vector<OpVariants> variants = {};  // options among which `dlroof tune` chooses
  // Returns a model of a call's traffic on the GPU named `gpu`, for CountRequest::model, or an
  // empty function if the op does not model the call. `algorithm` is PreparedCall::algorithm and
  // the known names of the call's kernels, e.g. "engine 62 (...), sm90_xmma_...".
  std::function<std::function<Work(std::string& how)>(
      const BenchmarkName& name, const std::string& algorithm, const std::string& gpu)>
      gpu_traffic = {};
};

bool RegisterOp(Op op);  // call it at namespace scope of the operator's case.cpp; returns true
std::vector<const Op*> AllOps();          // sorted by name
const Op* FindOp(std::string_view name);  // null if there is no such op

}  // namespace dlroof::workload
