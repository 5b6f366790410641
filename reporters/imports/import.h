// Imports measurements of other tools as records of a run file. Every reader throws BadInput
// ("FILE:LINE: column N: ...") for a file that it cannot use.
#pragma once

#include <algorithm>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/base/error.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"

namespace dlroof::imports {

struct ImportOptions {
  std::string set;                       // each record is named "SET/NAME"; may be empty
  std::optional<Provenance> provenance;  // if set, replaces that of all FLOPs and bytes
};

// Returns a run file of the records and `machine`. Splits names of the form
// op/device/library/direction/type/problem; assigns other records to the machine's device, unless
// Record::device says that they ran on another one ("cpu", or a GPU of another model). If the
// machine has no ceilings for a record's number of threads, uses the machine's largest number, with
// a warning.
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

// Returns how to export the data of a known tool whose files have no reader here (Nsight Compute's
// reports, Nsight Systems, rocprof, Advisor, CUTLASS's profiler), by the file's name and text.
std::optional<Reason> ExportOfOtherTool(std::string_view path, std::string_view text);

// dlroof's own CSV: a header, then a row per repetition. Columns: name, seconds, launches, threads,
// flops_<pipe>, bytes_<level>, all in base units. An empty field is unknown; a line that begins
// with # is a comment. Rows with the same name are repetitions of one benchmark and must have the
// same FLOPs and bytes.
bool LooksLikeOwnCsv(std::string_view text);
Imported ImportOwnCsv(const std::string& text, const std::string& where);

// Nsight Compute, `--csv` with `--page raw` (a column per metric, units below the names) or
// `details` (a row per metric), metric names of 2020.1 and later. All launches with the same kernel
// name become one record with the sums of FLOPs, bytes and times (Wang et al., section 4 of the
// hierarchical roofline paper). Zero-FLOP kernels are records with 0 FLOPs. Kernels with which
// dlroof itself times calls are left out.
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
// each sample if the files of samples are there, otherwise their mean with its deviation. States of
// several GPUs have theirs in their names. A state whose mean is not finite has no time.
bool LooksLikeNvbench(std::string_view text);
Imported ImportNvbench(const std::string& text, const std::string& where);

// A Chrome trace of PyTorch's profiler (Kineto) or TensorFlow's: a record per operator and input
// sizes, or per kernel if the trace has kernels of a GPU. The time is the sum of the self times of
// all calls; FLOPs and bytes follow from the input sizes (trace.h).
bool LooksLikeTrace(std::string_view text);
Imported ImportTrace(const std::string& text, const std::string& where);

// Google Benchmark's JSON: a record per benchmark (google_benchmark.h). Its work is that of
// dlroof's counters ("modelled/flops/fp32.vector") or of the usual rates (google_benchmark.h).
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

// Moves FLOPs of rates, whose type is not known, to this pipe.
void SetPipeOfRates(const std::string& pipe, std::vector<record::Record>& records);

struct ItemWork {
  double flops = 0;  // [flop] per item of items_per_second
  std::string pipe;
};
// Adds the FLOPs of the items that the file states. Returns the number of records that have some.
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
  // Adds a remark if there are any ("3 lines are left out; the first: ..."). Throws BadInput with
  // the first if the file has no record.
  void AddTo(Imported& imported, const char* items) const;
};

// Parses a JSON text as ParsedJson (json_reader.h) does. Of a key that is twice in one object, as
// in files edited by hand, the first member is read; the second one is left out.
nlohmann::json ParsedUniqueJson(const std::string& text, const std::string& where,
                                LeftOut& left_out);

// Adds the counts of a launch to the sums over those of its kernel before it, if there are any
// (not `first`). A sum is unknown if a launch lacks it: returns whether this one or those do.
template <class Key>
bool AddCommon(const std::map<Key, double>& launch, bool first, std::map<Key, double>& sums) {
  if (first) sums = launch;
  if (first) return false;
  const auto before = sums.size();
  std::erase_if(sums, [&](const auto& sum) { return !launch.contains(sum.first); });
  for (auto& [key, sum] : sums) sum += launch.at(key);
  return sums.size() < std::max(before, launch.size());
}

// Begins the device of a record of which the file has the GPU's compute capability only.
inline constexpr const char* kCapability = "GPU of compute capability ";

// Returns whether seconds of a call can be these (numbers.h).
bool IsRunTime(double seconds);

// Leaves out numbers that cannot be (numbers.h), and work whose rate cannot be. Remarks on it.
void LeaveOutImpossible(const std::string& where, Imported& imported);

// Adds the remark "FILE:1: columns 'a', 'b' and 3 more are not known and left out", if any.
void AddUnknownColumns(const std::vector<std::string>& columns, const std::string& where,
                       Imported& imported);

// Adds a remark if the last line of a text of lines has no line end: a number that is cut off there
// cannot be told from a whole one.
void AddCutLine(std::string_view text, const std::string& where, Imported& imported);

}  // namespace dlroof::imports
