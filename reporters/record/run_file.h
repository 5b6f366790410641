// The run file, a superset of Google Benchmark's JSON: reading, and joining files of one machine.
// Schema history: 1 = first. 2 = a record's "isa", "kernels" and notes of "counting" are members of
// their own, and labels are JSON (record_json.h reads their form in schema 1).
#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::record {

// Names of Google Benchmark: FUNCTION/ARGUMENTS, then the registered settings in this order:
// /min_time:T /min_warmup_time:T /iterations:N /repeats:N /process_time /real_time or /manual_time
// /threads:N.

struct BenchmarkName {
  std::string_view bare;  // without the settings
  std::optional<int> repeats, threads;
  bool manual_time = false, real_time = false;
  bool process_time = false;  // the CPU time is that of all threads
};

// Reads the settings at the end of a name. Text that only looks like a setting, in another place or
// with another value ("/repeats:all/8"), belongs to `bare`, which refers to `name`.
BenchmarkName ReadBenchmarkName(std::string_view name);

// Returns the name without its settings except "/threads:2": the name of a record of dlroof's own
// programs, which register no two benchmarks that differ in other settings.
std::string BareName(const std::string& name);

// Returns the name under which Google Benchmark lists a benchmark of dlroof's own programs.
std::string ListedName(const std::string& bare, bool manual_time);

// Splits "BM_A/8_median" into the benchmark's name and the statistic. Only files of Google
// Benchmark before 1.5 need it; later ones have "run_name". Returns nullopt without such an ending.
std::optional<std::pair<std::string_view, std::string_view>> SplitStatistic(std::string_view name);

// Returns the member `key` of an object, or null if there is none. Member and Text read contexts,
// which other programs may write: a member of an unexpected type counts as missing.
inline const nlohmann::json& Member(const nlohmann::json& json, const char* key) {
  static const nlohmann::json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

// Returns the text of the member `key`, or an empty text if there is none.
inline std::string Text(const nlohmann::json& json, const char* key) {
  const auto& member = Member(json, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

inline constexpr int kSchema = 2;

// Limits of a run file [byte, 1], with which a report takes 1 GB and 10 s, and a comparison of two
// files 1 GB and 20 s. kMaxFileBytes counts only elements longer than kShortBytes, which those of
// plain Google Benchmark are not. A benchmark takes the memory of kEntriesOfBenchmark entries, so a
// file may have 1,000,000 entries of 187,500 benchmarks, or 350,000 entries of as many.
inline constexpr std::size_t kMaxFileBytes = std::size_t{192} << 20, kShortBytes = 512,
                             kMaxRecords = 225'000, kMaxGoogleBenchmarkEntries = 1'000'000,
                             kEntriesOfBenchmark = 4, kMaxEntriesAndBenchmarks = 1'750'000;

struct JsonPlace;

struct RunFile {
  nlohmann::json context =
      nlohmann::json::object();            // Google Benchmark's context; dlroof's is in "dlroof"
  std::vector<machine::Machine> machines;  // one per device
  std::vector<Record> records;
};

// Returns the machine of the record's device, or null if the file has none.
const machine::Machine* MachineFor(const RunFile& file, const Record& record);

// One repetition as Google Benchmark reports it, in memory or in a JSON file.
struct Entry {
  std::string name;                        // of the record
  double seconds = 0;                      // [s] wall time per call
  std::optional<double> main_cpu_seconds;  // [s] per call
  double iterations = 0;
  Rare<AggregateTime> aggregate;  // set if the entry is an aggregate
  std::string label;
  bool skipped = false;
  std::string message;  // why the repetition was skipped or has no time
  std::map<std::string, double> counters;
};

// Returns the record of one benchmark's entries. Marks noisy repetitions if dlroof measured them:
// of other programs' times it knows no more than the wall time, since a benchmark may wait for
// files, a GPU or its threads. Throws BadInput for a wrong label; the message begins with `file`.
Record RecordFromEntries(const std::vector<Entry>& entries, const JsonPlace* file = nullptr);

// The message of a skipped benchmark begins with one of these; any other message means failed.
inline constexpr const char* kUnsupportedPrefix = "unsupported: ";
inline constexpr const char* kWrongPrefix = "wrong: ";
// Message of a repetition that did not run (interrupted or not needed), which records omit.
inline constexpr const char* kNotRun = "not run";

// Sets the context's schema to kSchema, that of records in memory. Throws BadInput for a newer one.
void UpdateSchema(nlohmann::json& context, const std::string& where);

// Reads every schema, plain Google Benchmark JSON (google_benchmark.h), and files truncated by a
// kill: reads their complete entries and writes a warning. "-" is standard input. Stores the text
// of one element at a time; reads a pipe and packed data as a whole. Throws BadInput with the
// position if the file is unreadable, empty, not JSON throughout, of a newer schema, has a member
// of a wrong type, or has no complete record.
RunFile ReadRunFile(const std::string& path, std::ostream& warnings);
// Reads a run file from memory; `where` begins every message.
RunFile ParseRunFile(const std::string& text, const std::string& where, std::ostream& warnings);

// Returns the records and ceilings of all files (by path) with the context of the first one. Of two
// records with the same name and number of threads the faster is used, of two sets of ceilings with
// the same number of threads the first. Throws BadInput for files of different machines.
RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files);

// Returns the records of all files, each file's under its own label: the file's name without folder
// and ".json", with a number if two are the same. The label follows the library of a record
// ("onednn@torch"), also in its name. The context is that of the first file without its program;
// "dlroof.files" lists the paths. Throws like JoinedRun.
RunFile SideBySide(std::vector<std::pair<std::string, RunFile>>&& files);

// Returns the label that SideBySide added to the record, if any.
std::optional<std::string_view> LabelOf(const Record& record);

// Records of a program's GPU kernels, as Nsight Compute and traces give them: each is the sum over
// all launches of one kernel, and its time is the sum of their durations, without any launch.
inline bool IsKernelSum(const Record& record) { return record.timed == timed::kKernels; }

// The name of a kernel's record, SET/KERNEL, in parts. The set, usually the program, may be empty.
struct KernelRecordName {
  std::string_view set, kernel;
};
KernelRecordName KernelNameOf(const Record& record);

// Returns whether this is the name of a kernel with which dlroof itself times the calls of a GPU.
bool IsClockKernel(std::string_view kernel);

// Removes records of clock kernels (IsClockKernel). Returns a sentence with their launches and
// time, or nullopt if there are none.
std::optional<std::string> LeaveOutClockKernels(std::vector<Record>& records);

// Completes a run file of an older dlroof profile --gpu, or of an import from Nsight Compute, whose
// records do not say what their times are: marks them as sums of kernel durations, and removes
// dlroof's own kernels. Returns LeaveOutClockKernels' sentence. Changes no other file.
std::optional<std::string> CompleteOldKernels(RunFile& run);

}  // namespace dlroof::record
