// Imports measurements of other tools as records of a run file. Every Import... function throws
// BadInput ("FILE:LINE: column N: ...") for a file that it cannot use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
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

namespace dlroof::imports {

struct ImportOptions {
  std::string set;                       // if not empty, names each record "SET/NAME"
  std::optional<Provenance> provenance;  // if set, replaces the provenance of all work
};

// Returns a run file with the records, `machine`, and dlroof's version in its context. Splits names
// of the form op/device/library/direction/type/problem. Other records get the machine's device,
// unless their own Record::device is another one ("cpu", or a GPU of another model). A record whose
// number of threads has no ceilings gets the largest number that has, with a warning.
record::RunFile ImportedRun(std::vector<record::Record> records,
                            const std::optional<machine::Machine>& machine,
                            const ImportOptions& options, std::ostream& warnings);

// Content of another tool's file.
struct Imported {
  std::vector<record::Record> records;
  std::optional<machine::Machine> machine;  // set if the file has ceilings
  std::vector<std::string> remarks;         // what was left out or assumed, with file and line

  // Adds a remark, formatted as by fmt::format.
  template <class... Values>
  void Say(fmt::format_string<Values...> text, Values&&... values) {
    remarks.push_back(fmt::format(text, std::forward<Values>(values)...));
  }
};

struct ImportFormat {
  std::string_view name;         // for --format
  std::string_view description;  // for --help
  bool (*recognise)(std::string_view text);
  Imported (*read)(const std::string& text, const std::string& where);  // `where`: the file's name
};

// Returns the supported formats. The first one that recognises a file reads it.
std::span<const ImportFormat> ImportFormats();

// Returns how to export a file's data in a supported format, if its name or text shows that it is
// of a known tool and in a format without a reader. Returns nullopt for other files.
std::optional<Reason> ExportOfOtherTool(std::string_view path, std::string_view text);

// dlroof's own CSV: a header, then a row per repetition. Columns: name, seconds, launches, threads,
// flops_<pipe>, bytes_<level>, all in base units. An empty field is unknown; a line that begins
// with # is a comment. Rows with the same name are repetitions and must have the same work.
bool LooksLikeOwnCsv(std::string_view text);
Imported ImportOwnCsv(const std::string& text, const std::string& where);

// Nsight Compute, `--csv` with `--page raw` (a column per metric, units below the names) or
// `details` (a row per metric), with metric names of 2020.1 and later. All launches of kernels with
// one name become one record, with sums of FLOPs, bytes and times (Wang et al., section 4 of the
// hierarchical roofline paper). Leaves out dlroof's own timing kernels (IsClockKernel).
bool LooksLikeNsightCompute(std::string_view text);
Imported ImportNsightCompute(const std::string& text, const std::string& where);

// The Empirical Roofline Toolkit's roofline.json: its ceilings become specified ceilings.
Imported ImportErt(const std::string& text, const std::string& where);

// Output of likwid-perfctr -O, or -o with .csv: a record per region. Its time is that of the
// slowest hardware thread; its FLOPs and bytes are sums over the hardware threads.
bool LooksLikeLikwid(std::string_view text);
Imported ImportLikwid(const std::string& text, const std::string& where);

// nvbench --json and --jsonbin: a record per state, with the bytes that the benchmark declares. The
// time is nvbench's cold GPU time, else its batch GPU time, else its CPU-only time. The repetitions
// are the samples if their files exist, otherwise one: the mean, with the deviation. If the file
// has several GPUs, each name contains its GPU. A state whose mean is not finite has no time.
Imported ImportNvbench(const std::string& text, const std::string& where);

// A Chrome trace of PyTorch's profiler (Kineto): a record per operator and input
// sizes, or per kernel if the trace has kernels of a GPU. The time is the sum of the self times of
// all calls; FLOPs and bytes are computed from the input sizes.
bool LooksLikeTrace(std::string_view text);
Imported ImportTrace(const std::string& text, const std::string& where);

// Google Benchmark's JSON: a record per benchmark. Its work is that in dlroof's counters (e.g.
// "modelled/flops/fp32.vector") or in common rates, e.g. bytes_per_second (google_benchmark.h).
Imported ImportGoogleBenchmark(const std::string& text, const std::string& where);

// A profile of Proton, Triton's profiler: a record per kernel and GPU, with sums over launches, and
// with the FLOPs and bytes that the program's author declares.
Imported ImportProton(const std::string& text, const std::string& where);

// Assigns the FLOPs computed from Google Benchmark's rates, e.g. the counter "FLOPS", to `pipe`.
void SetPipeOfRates(const std::string& pipe, std::vector<record::Record>& records);

struct ItemWork {
  double flops = 0;  // [flop] per item of items_per_second
  std::string pipe;
};
// Sets the FLOPs of records with items_per_second in Google Benchmark's JSON. Returns their number.
std::size_t AddFlopsOfItems(const std::string& text, const std::string& where, ItemWork item,
                            std::vector<record::Record>& records);

// Counts items of a file, such as lines, that cannot be read; the other items are still imported.
struct LeftOut {
  int count = 0;      // [1]
  std::string first;  // why the first item cannot be read, with its place

  // Calls read(), and counts the BadInput that it throws.
  template <class Read>
  void Try(const Read& read) {
    try {
      read();
    } catch (const BadInput& error) {
      if (count++ == 0) first = error.what();
    }
  }
  // If an item was left out, adds a remark ("3 lines are left out; the first: ..."), or throws
  // BadInput if nothing else was imported.
  void AddTo(Imported& imported, const char* items) const;
};

// Adds a launch's counts to `sums` over the kernel's earlier launches; `first`: there are none.
// Only counts that all launches have stay in `sums`. Returns whether this call dropped a count.
template <class Key>
bool AddCommon(const std::map<Key, double>& launch, bool first, std::map<Key, double>& sums) {
  if (first) sums = launch;
  if (first) return false;
  const auto before = sums.size();
  std::erase_if(sums, [&](const auto& sum) { return !launch.contains(sum.first); });
  for (auto& [key, sum] : sums) sum += launch.at(key);
  return sums.size() < std::max(before, launch.size());
}

// Prefix of Record::device if the file names the GPU only by its compute capability, e.g. "7.0".
inline constexpr const char* kCapability = "GPU of compute capability ";

// Returns whether `seconds` is a possible time of a call (numbers.h).
bool IsRunTime(double seconds);

// Removes numbers outside their range in numbers.h, and work with an impossible rate; adds a
// remark.
void LeaveOutImpossible(const std::string& where, Imported& imported);

// Adds the remark "FILE: columns 'a', 'b' and 3 more are not known and left out" if there are any.
void AddUnknownColumns(const std::vector<std::string>& columns, const std::string& where,
                       Imported& imported);

// Adds a remark if the last line of a text has no line end: its number may be cut off.
void AddCutLine(std::string_view text, const std::string& where, Imported& imported);

// Counters of one kernel launch by name, in base units (s, byte, 1/s, 1).
using MetricValues = std::map<std::string, double, std::less<>>;

// Returns whether this reader computes FLOPs, bytes or time from the metric.
bool IsKnownMetric(std::string_view name);

// Returns whether the metric counts instructions of tensor cores or of an unknown kind. If such a
// metric is not 0 and IsKnownMetric is false, the launch's FLOPs are unknown.
bool IsWorkMetric(std::string_view name);

// Returns whether a value of the known metric can have the unit. Counts need no unit.
bool IsUnitOf(std::string_view metric, const text::Unit& unit);

// Returns the time of one launch [s]: gpu__time_duration, else cycles / their rate, else nullopt.
std::optional<double> LaunchSeconds(const MetricValues& values);

// FLOPs and bytes of one kernel launch. A recipe adds up counters (or computes them from rates);
// for each pipe and level the first recipe with all its counters applies. Without one the key is
// missing.
struct LaunchWork {
  // Kind of instructions that ran and whose FLOPs are unknown: then the launch's FLOPs are unknown.
  enum class Unknown {
    kNone,
    kTensor,  // Volta's tensor instructions have 512 FLOPs (NERSC's recipe). On other GPUs the
              // FLOPs differ by instruction: the counters sm__ops_path_tensor_* are needed.
    kVector   // A counter of a pipe (add, multiply or multiply-add) is missing, or is not known.
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
  std::string device;                                       // the GPU's number; may be empty
  MetricValues values;                                      // counters
  LaunchWork work;                                          // computed from `values`
  std::optional<double> seconds;                            // [s] LaunchSeconds(values)
};
// Returns all launches of a table, in its order. Throws BadInput like ImportNsightCompute.
std::vector<CountedLaunch> ReadCountedLaunches(const std::string& text, const std::string& where);

// All calls of one process (for kernels: of one GPU) with the same name and the same inputs.
struct TraceOp {
  std::string name;
  bool on_gpu = false;       // a kernel, copy or fill; otherwise an operator on the host
  std::string process, gpu;  // for kernels: Kineto's number of the GPU, and the GPU's name if known
  // Inputs as PyTorch records them: a tensor has sizes and a type, a scalar or a list has a value.
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<std::string> types, values;
  double calls = 0;    // [1]
  double seconds = 0;  // [s] sum of self times: a call's time without the calls inside it
};

// One call, or a span of the program that contains calls (PyTorch's record_function).
struct TraceCall {
  std::optional<std::size_t> op;  // index into Trace::ops; absent for a span
  std::string span;               // name of the span
  std::size_t thread = 0;         // [1] index of the thread, from 0
  double begin = 0, end = 0;      // [s] since 1970, or since the trace's own origin
};

struct Trace {
  std::vector<TraceOp> ops;                   // in the order of their first call
  std::map<std::string, double> left_out;     // [1] number of ignored events by reason
  std::map<std::string, double> assumed;      // [1] number of events by assumption
  bool cut = false;                           // the file ends within its events
  double threads = 0, events = 0, begin = 0;  // [1]; [1]; [s] begin of the first event
  double end = 0;                             // [s] end of the last event
  // With `keep_calls`: the host's operators and spans, grouped by thread, callers before callees.
  std::vector<TraceCall> calls;
};

// Reads events one by one, so that large files fit into memory. Throws BadInput for a text of
// another format or without a call. `keep_calls` sets Trace::calls, and adds the trace's member
// "baseTimeNanoseconds", if any, to begins and ends, which then count from 1970.
Trace ReadTrace(const std::string& text, const std::string& where, bool keep_calls = false);

// FLOPs and bytes of one call of an operator of PyTorch.
struct OpCount {
  std::string type;                   // of the first input: "f32", "bf16"
  std::optional<double> matrix;       // [flop] of matrix products: 2 per multiply-add
  std::optional<double> elementwise;  // [flop] of other operations
  double bytes = 0;                   // [byte] each input and the output once
  bool moves_data = false;            // has no FLOPs: a copy, a fill, a selection of rows
};
// Returns the counts of one call of a matrix product, a convolution (only filter taps inside the
// image: counters/base/work.h), attention (only pairs of positions that a causal mask leaves) or an
// elementwise operator. Returns nullopt for other operators, for an operator that only calls
// another one (e.g. aten::linear), and for inconsistent sizes.
std::optional<OpCount> CountOfOp(const TraceOp& op);
// Returns oneDNN's name of PyTorch's type: "bf16" for "c10::BFloat16"; "" for an unknown one.
std::string TypeName(std::string_view type);

// The rest serves several readers of this module.

struct Gpu {
  std::string id, model;  // each empty if not known
};

// The place in a name where MoveTo inserts the GPU if the file has several; default: at the end.
inline constexpr char kGpuPlace = '\2';

// Collects records by name and GPU, in the order of the file.
class Records {
 public:
  void AddGpu(const Gpu& gpu) {
    if (!gpu.id.empty()) gpus_.insert(gpu.id);
  }
  std::size_t size() const { return records_.size(); }

  // Returns the record with the name and GPU; adds it if there is none. `alone`: always adds one,
  // named "NAME (2)" and so on if the name is taken.
  record::Record& Of(std::string name, const Gpu& gpu, bool alone);
  // Adds `launches` launches, which took `seconds` [s] together, to the kernel's record.
  record::Record& AddKernels(const std::string& name, const Gpu& gpu, double seconds,
                             double launches);
  void MoveTo(Imported& imported, const std::string& where);

 private:
  std::map<std::string, int> seen_;  // [1] number of records by name and GPU
  std::map<std::string, std::size_t> found_;
  std::vector<record::Record> records_;
  std::vector<std::string> ids_;  // GPU of each record
  std::set<std::string> gpus_;
  std::string repeated_;  // first name that two records have
};

// Parses JSON, also with NaN. If an object has a key twice, as in files edited by hand, leaves out
// the second member. Throws BadInput for another text.
nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out);

}  // namespace dlroof::imports
