// The run file, a superset of Google Benchmark's JSON: reads it and joins files of one machine. In
// schema 2 a record's "isa", "kernels" and notes of "counting" are members of their own and labels
// are JSON; in schema 1 they are sentences (record_json.h).
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

// A name that Google Benchmark gives: FUNCTION/ARGUMENTS, then the settings in this order:
// /min_time:T /min_warmup_time:T /iterations:N /repeats:N /process_time /real_time or /manual_time
// /threads:N.
struct BenchmarkName {
  std::string_view bare;  // without the settings
  std::optional<int> repeats, threads;
  bool manual_time = false, real_time = false;
  bool process_time = false;  // the CPU time is the sum over all threads
};

// Reads the settings at the end of a name. Text in another place or with an invalid value that only
// looks like a setting, e.g. "/repeats:all/8", belongs to `bare`. `bare` refers to `name`.
BenchmarkName ReadBenchmarkName(std::string_view name);

// Returns the name without its settings except the threads ("/threads:2"): the name of a record of
// dlroof's own programs, which register no two benchmarks that differ in other settings.
std::string BareName(const std::string& name);

// Returns the name under which Google Benchmark lists a benchmark of dlroof's own programs.
std::string ListedName(const std::string& bare, bool manual_time);

// Returns the member `key`, or JSON null if `json` is no object or has no such member. Member and
// Text read contexts, which other programs may write: a wrong type counts as missing.
inline const nlohmann::json& Member(const nlohmann::json& json, const char* key) {
  static const nlohmann::json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

// Returns the text of the member `key`, or an empty text if there is no such member.
inline std::string Text(const nlohmann::json& json, const char* key) {
  const auto& member = Member(json, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

inline constexpr int kSchema = 2;

// Limits of a run file [byte, 1]. At the limits a report takes 1 GB and 10 s, a comparison of two
// files 1 GB and 20 s. kMaxFileBytes limits the sum of elements longer than kShortBytes (entries of
// plain Google Benchmark are shorter), kMaxEntriesAndBenchmarks the sum entries +
// kEntriesOfBenchmark x benchmarks, since a benchmark takes the memory of so many entries.
inline constexpr std::size_t kMaxFileBytes = std::size_t{192} << 20, kShortBytes = 512,
                             kMaxRecords = 225'000, kMaxGoogleBenchmarkEntries = 1'000'000,
                             kEntriesOfBenchmark = 4, kMaxEntriesAndBenchmarks = 1'750'000;

struct JsonPlace;

struct RunFile {
  nlohmann::json context =
      nlohmann::json::object();            // Google Benchmark's; dlroof's is its member "dlroof"
  std::vector<machine::Machine> machines;  // one per device
  std::vector<Record> records;
};

// Returns the machine of the record's device, or null if the file has none.
const machine::Machine* MachineFor(const RunFile& file, const Record& record);

// One repetition, or an aggregate of several, as Google Benchmark reports it, in memory or in JSON.
struct Entry {
  std::string name;                        // name of the record
  double seconds = 0;                      // [s] wall time per call
  std::optional<double> main_cpu_seconds;  // [s] CPU time of the main thread per call
  double iterations = 0;
  Rare<AggregateTime> aggregate;  // set if the entry is an aggregate
  std::string label;
  bool skipped = false;
  std::string message;  // why the repetition was skipped or has no time
  std::map<std::string, double> counters;
};

// Returns the record of one benchmark's entries. Marks noisy repetitions only if dlroof measured
// them: another program's benchmark with little CPU time may have waited for files, a GPU or its
// threads. Throws BadInput for a wrong label; the message begins with `file`.
Record RecordFromEntries(const std::vector<Entry>& entries, const JsonPlace* file = nullptr);

// The message of a skipped benchmark begins with one of these prefixes; without one it has failed.
inline constexpr const char* kUnsupportedPrefix = "unsupported: ";
inline constexpr const char* kWrongPrefix = "wrong: ";
// The message of a repetition that did not run (interrupted or not needed). Records omit it.
inline constexpr const char* kNotRun = "not run";

// Sets the context's schema to kSchema, as records in memory have. Throws BadInput for a newer one.
void UpdateSchema(nlohmann::json& context, const std::string& where);

// Reads a run file of any schema, or plain Google Benchmark JSON (google_benchmark.h). Of a
// truncated file reads the complete entries and writes a warning. "-" is standard input. Stores the
// text of one element at a time; of a pipe and of packed data the whole text. Throws BadInput with
// the position if the file is unreadable, empty, not JSON, of a newer schema, has a member of a
// wrong type, or has no complete record.
RunFile ReadRunFile(const std::string& path, std::ostream& warnings);
// Reads a run file from memory; `where` begins every message.
RunFile ParseRunFile(const std::string& text, const std::string& where, std::ostream& warnings);

// Joins files, each with its path: all records and ceilings, and the context of the first file. Of
// two records with the same name and number of threads uses the faster one, of two sets of ceilings
// with the same number of threads that of the newer file. Throws BadInput for files of different
// machines.
RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files);

// Joins files as JoinedRun does, but keeps the records of all files apart by labels. A file's label
// is its name without folder and ".json", with a number if two are the same. The label follows the
// library in a record's `library` and name, e.g. "onednn@torch". The context has no "program", and
// "dlroof.files" lists the paths.
RunFile SideBySide(std::vector<std::pair<std::string, RunFile>>&& files);

// Returns the label that SideBySide added to the record, if any.
std::optional<std::string_view> LabelOf(const Record& record);

// Returns whether the record is a GPU kernel of a program (by Nsight Compute or a trace), summed
// over all its launches. Its time is the sum of the durations, without the cost of launching.
inline bool IsKernelSum(const Record& record) { return record.timed == timed::kKernels; }

// The parts of a kernel record's name, SET/KERNEL. The set, usually the program, may be empty.
struct KernelRecordName {
  std::string_view set, kernel;
};
KernelRecordName KernelNameOf(const Record& record);

// Returns whether the name is of a kernel that dlroof itself launches to time calls on a GPU.
bool IsClockKernel(std::string_view kernel);

// Removes the records of clock kernels (IsClockKernel). Returns a sentence with their number of
// launches and time, or nullopt if there are none.
std::optional<std::string> LeaveOutClockKernels(std::vector<Record>& records);

// Completes a run file of dlroof profile --gpu, or of an import from Nsight Compute, if it is older
// than Record::timed: marks the records as sums of kernel durations (timed::kKernels) and returns
// LeaveOutClockKernels(). Other files stay unchanged; returns nullopt.
std::optional<std::string> CompleteOldKernels(RunFile& run);

}  // namespace dlroof::record
