// Imports measurements of other tools as records of a run file. Every reader throws BadInput
// ("FILE:LINE: column N: ...") for a file that it cannot use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "counters/base/work.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/text/numbers.h"

namespace dlroof::record {
class JsonObject;
}

namespace dlroof::imports {

struct ImportOptions {
  std::string set;                       // each record is named "SET/NAME"; may be empty
  std::optional<Provenance> provenance;  // if set, replaces that of all FLOPs and bytes
};

// Returns a run file of the records and `machine`. Splits names of the form
// op/device/library/direction/type/problem; assigns other records to the machine's device, unless
// Record::device says that they ran on another one ("cpu", or a GPU of another model). If the
// machine has no ceilings for a record's number of threads, uses its largest one, with a warning.
record::RunFile ImportedRun(std::vector<record::Record> records,
                            const std::optional<machine::Machine>& machine,
                            const ImportOptions& options, std::ostream& warnings);

// Content of another tool's file.
struct Imported {
  std::vector<record::Record> records;
  std::optional<machine::Machine> machine;  // if the file has ceilings
  std::vector<std::string> remarks;         // omissions and assumptions, with file and line
};

struct ImportFormat {
  std::string_view name;         // for --format
  std::string_view description;  // for --help
  bool (*recognise)(std::string_view text);
  Imported (*read)(const std::string& text, const std::string& where);  // `where`: the file's name
};

// Returns the supported formats, in the order in which a file is checked against them.
std::span<const ImportFormat> ImportFormats();

// Returns how to export the data of a tool whose files have no reader, by the file's name and text.
std::optional<Reason> ExportOfOtherTool(std::string_view path, std::string_view text);

// dlroof's own CSV: a header, then a row per repetition. Columns: name, seconds, launches, threads,
// flops_<pipe>, bytes_<level>, all in base units. An empty field is unknown; a line that begins
// with # is a comment. Rows of one name are repetitions, with the same FLOPs and bytes.
bool LooksLikeOwnCsv(std::string_view text);
Imported ImportOwnCsv(const std::string& text, const std::string& where);

// Nsight Compute, `--csv` with `--page raw` (a column per metric, units below the names) or
// `details` (a row per metric), names of 2020.1 and later. All launches of a kernel's name are one
// record with sums of FLOPs, bytes and times (Wang et al., section 4 of the hierarchical roofline
// paper). Zero-FLOP kernels are records with 0 FLOPs. Leaves out clock kernels (IsClockKernel).
bool LooksLikeNsightCompute(std::string_view text);
Imported ImportNsightCompute(const std::string& text, const std::string& where);

// The Empirical Roofline Toolkit's roofline.json: its ceilings become specified ceilings.
bool LooksLikeErt(std::string_view text);
Imported ImportErt(const std::string& text, const std::string& where);

// likwid-perfctr -O, or -o with .csv: a record per region. The time is that of the slowest hardware
// thread, FLOPs and bytes are sums over the hardware threads.
bool LooksLikeLikwid(std::string_view text);
Imported ImportLikwid(const std::string& text, const std::string& where);

// nvbench --json and --jsonbin: a record per state, with the bytes that the benchmark declares. The
// time is that of a cold call, else of calls back to back, else (CPU-only benchmarks) of the CPU:
// each sample if the files of samples are there, otherwise their mean with its deviation. If there
// are several GPUs, each name has its GPU. A state whose mean is not finite has no time.
bool LooksLikeNvbench(std::string_view text);
Imported ImportNvbench(const std::string& text, const std::string& where);

// A Chrome trace of PyTorch's profiler (Kineto) or TensorFlow's: a record per operator and input
// sizes, or per kernel if the trace has kernels of a GPU. The time is the sum of the self times of
// all calls; FLOPs and bytes follow from the input sizes.
bool LooksLikeTrace(std::string_view text);
Imported ImportTrace(const std::string& text, const std::string& where);

// Google Benchmark's JSON: a record per benchmark, with the work of dlroof's counters
// ("modelled/flops/fp32.vector") or of the usual rates (google_benchmark.h).
bool LooksLikeGoogleBenchmark(std::string_view text);
Imported ImportGoogleBenchmark(const std::string& text, const std::string& where);
// Google Benchmark's CSV and console table, as its JSON. Neither names the library's version, so
// the work of benchmarks with threads is unknown (record::ThreadRule).
bool LooksLikeBenchmarkTable(std::string_view text);
Imported ImportBenchmarkTable(const std::string& text, const std::string& where);

// Tables of kernels (a record per name, with sums over launches: nsys stats' cuda_gpu_kern_sum and
// cuda_gpu_trace, rocprof, rocprofv3, Proton) and of benchmarks (a repetition per sample: nvbench's
// and CUTLASS's CSV, pytest-benchmark, hyperfine, llama-bench, BenchmarkDotNet). FLOPs and bytes
// where the author states them.
bool LooksLikeToolTable(std::string_view text);
Imported ImportToolTable(const std::string& text, const std::string& where);

// perf stat, with or without -x,: a record of the program, with the FLOPs of Intel's
// fp_arith_inst_retired events if they were counted.
bool LooksLikePerfStat(std::string_view text);
Imported ImportPerfStat(const std::string& text, const std::string& where);

// Moves the FLOPs that are known from Google Benchmark's rates to this pipe.
void SetPipeOfRates(const std::string& pipe, std::vector<record::Record>& records);

struct ItemWork {
  double flops = 0;  // [flop] per item of items_per_second
  std::string pipe;
};
// Sets the FLOPs of the records for which the file states items. Returns the number of these.
std::size_t AddFlopsOfItems(const std::string& text, const std::string& where, ItemWork item,
                            std::vector<record::Record>& records);

// Items of a file that cannot be read. Each is left out without the others.
struct LeftOut {
  int count = 0;      // [1]
  std::string first;  // why the first one cannot be read, with its place

  // Calls read(), and counts the BadInput that it throws.
  template <class Read>
  void Try(const Read& read) {
    try {
      read();
    } catch (const BadInput& error) {
      if (count++ == 0) first = error.what();
    }
  }
  // Adds a remark ("3 lines are left out; the first: ...") if an item is left out, or throws
  // BadInput if nothing was imported.
  void AddTo(Imported& imported, const char* items) const;
};

// Adds a launch's counts to the sums over its kernel's earlier launches (none if `first`). Removes
// the sums that this launch or an earlier one lacks, and returns whether there are any.
template <class Key>
bool AddCommon(const std::map<Key, double>& launch, bool first, std::map<Key, double>& sums) {
  if (first) sums = launch;
  if (first) return false;
  const auto before = sums.size();
  std::erase_if(sums, [&](const auto& sum) { return !launch.contains(sum.first); });
  for (auto& [key, sum] : sums) sum += launch.at(key);
  return sums.size() < std::max(before, launch.size());
}

// Begins Record::device if the file has only the compute capability of the record's GPU.
inline constexpr const char* kCapability = "GPU of compute capability ";

// Returns whether `seconds` is a possible time of a call (numbers.h).
bool IsRunTime(double seconds);

// Leaves out impossible numbers (numbers.h), and work with an impossible rate. Adds a remark.
void LeaveOutImpossible(const std::string& where, Imported& imported);

// Adds the remark "FILE:1: columns 'a', 'b' and 3 more are not known and left out", if any.
void AddUnknownColumns(const std::vector<std::string>& columns, const std::string& where,
                       Imported& imported);

// Adds a remark if the last line of a text has no line end: its number may be cut off.
void AddCutLine(std::string_view text, const std::string& where, Imported& imported);

// Counters of one launch, or sums over launches, in base units (s, byte, 1/s, 1).
using MetricValues = std::map<std::string, double, std::less<>>;

// Returns whether this reader computes FLOPs, bytes or time from the metric.
bool IsKnownMetric(std::string_view name);

// Returns whether the metric counts instructions of tensor cores or of an unknown kind: if it is
// not 0 and not known, FLOPs are unknown.
bool IsWorkMetric(std::string_view name);

// Returns whether a value of the known metric can have the unit. Counts may have none.
bool IsUnitOf(std::string_view metric, const text::Unit& unit);

// Returns the time of one launch [s]: gpu__time_duration, else cycles divided by their rate.
std::optional<double> LaunchSeconds(const MetricValues& values);

// FLOPs and bytes of one kernel launch, by the first recipe of each pipe or level whose counters
// are all present (per second or per cycle, too). Without such a recipe the map has no entry.
struct LaunchWork {
  // Instructions that ran, but whose FLOPs are unknown, so that the sum of FLOPs is unknown.
  enum class Unknown {
    kNone,
    kTensor,  // Tensor instructions differ in FLOPs; on Volta each has 512 (NERSC's recipe). Other
              // GPUs need the counters sm__ops_path_tensor_*.
    kVector   // a pipe's counter (add, multiply, multiply-add) is missing, or one is unknown
  };
  std::map<std::string, double> flops;  // [flop] by pipe
  std::map<Level, double> bytes;        // [byte]
  Unknown unknown = Unknown::kNone;
};
// Returns a launch's work. A GPU whose `capability` is "10.x" also counts packed fp32 instructions.
LaunchWork WorkOfLaunch(const MetricValues& values, std::string_view capability);

// One launch of Nsight Compute's table.
struct CountedLaunch {
  std::string kernel;                                       // as ncu spells it
  std::optional<std::array<std::uint32_t, 3>> grid, block;  // if the table has them
  std::optional<std::string> capability;                    // "7.0", if the table has it
  std::string device;                                       // its number; may be empty
  MetricValues values;                                      // of the counters
  LaunchWork work;                                          // by their values
  std::optional<double> seconds;                            // [s]
};
// Returns all launches of a table, in its order. Throws BadInput like ImportNsightCompute.
std::vector<CountedLaunch> ReadCountedLaunches(const std::string& text, const std::string& where);

// The rest is private to the module.

struct NsightTable {
  std::vector<CountedLaunch> launches;  // in the order of the table
  int missing_values = 0;               // [1] of known metrics that are no numbers, such as "n/a"
  LeftOut left_out;                     // rows and values that cannot be read
  std::vector<std::string> unknown;     // metrics
  int header_line = 0;
};
NsightTable ReadNsightTable(const std::string& text, const std::string& where);

// All calls with the same name, the same inputs and the same kind of device.
struct TraceOp {
  std::string name;
  bool on_gpu = false;       // a kernel, copy or fill; otherwise an operator on the host
  std::string process, gpu;  // of a kernel: Kineto's number of the GPU, and its name if known
  // Inputs as PyTorch records them: a tensor has sizes and a type, a scalar or a list has a value.
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::string> types, values;
  double calls = 0;    // [1]
  double seconds = 0;  // [s] self time of all calls: without calls within them on their thread
};

// One call, or a span of the program that contains calls (PyTorch's record_function).
struct TraceCall {
  std::optional<std::size_t> op;  // index into Trace::ops; absent for a span
  std::string span;               // name of the span
  std::size_t thread = 0;         // [1] number of the thread, from 0
  double begin = 0, end = 0;      // [s] since 1970 if the trace says its base, else its own clock
};

struct Trace {
  std::vector<TraceOp> ops;                   // in the order of their first call
  std::map<std::string, double> left_out;     // [1] number of ignored events by reason
  std::map<std::string, double> assumed;      // [1] number of events by what is assumed of them
  bool cut = false;                           // the file ends within its events
  double threads = 0, events = 0, begin = 0;  // counts [1]; start of the first event [s]
  double end = 0;                             // [s] end of the last event
  // The host's operators and spans by thread, each before those within it; set by `keep_calls`.
  std::vector<TraceCall> calls;
};

// A complete event ("ph": "X"): a call, or a span of the program.
struct TraceEvent {
  std::optional<Reason> left_out;  // if set, the event is not read further
  bool span = false;
  TraceOp op;  // of one call: name, inputs, process
  std::string thread;
  bool has_thread = false, has_category = false;
  double begin = 0, seconds = 0;  // [s]
  double order = 0;               // [1] number of the call, a caller before its callees; 0: unknown
  std::string numbers;            // its ids in the trace, which distinguish calls of the same time
  std::vector<std::string> unknown;  // arguments of an operator, which may change its work
};
// Returns a number or a text as text: PyTorch's streams and autograd's processes have names.
std::string ScalarIn(const record::JsonObject& event, const char* key);
// Reads an event. Returns nullopt for one that is no call and needs no remark. Throws BadInput.
std::optional<TraceEvent> ReadTraceEvent(const record::JsonObject& event, bool keep_calls);

// Reads events one by one, so that large files fit into memory. Throws BadInput for a text of
// another format or without a call. `keep_calls` sets Trace::calls, and adds the trace's base
// ("baseTimeNanoseconds") to begins and ends.
Trace ReadTrace(const std::string& text, const std::string& where, bool keep_calls = false);

// What is known about one call of an operator of PyTorch.
struct OpCount {
  std::string type;                   // of the first input: "f32", "bf16"
  std::optional<double> matrix;       // [flop] of matrix products, with 2 per multiply-add
  std::optional<double> elementwise;  // [flop] of others; both absent: unknown
  double bytes = 0;                   // [byte] each input and the output once; 0: unknown
  bool moves_data = false;            // it has no FLOPs: a copy, a fill, a choice of rows
};
// Returns the counts of one call in any type: products, convolutions (filter taps inside the image:
// counters/base/work.h), attention, and operators that work element by element.
// Returns nothing for other operators, for inconsistent sizes, and for one that only calls another.
// Attention counts only the pairs of positions that a causal mask leaves.
std::optional<OpCount> CountOfOp(const TraceOp& op);
// Returns oneDNN's name of PyTorch's type: "bf16" for "c10::BFloat16"; "" for an unknown one.
std::string TypeName(std::string_view type);

}  // namespace dlroof::imports
