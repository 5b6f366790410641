// Reader of Google Benchmark's JSON, versions 1.1 to 1.9: entries of repetitions, aggregates,
// complexity rows, errors and skips become records. dlroof's own run files have the same entries.
//
// Times are converted from their time_unit to seconds. A benchmark of which a file has only
// aggregates becomes a record with one repetition: the median, or else the mean, with the deviation
// of the repetitions. Aggregates and complexity rows beside repetitions are derived from them and
// ignored. A time that is NaN or infinite gives no repetition; a counter that is so is left out.
#pragma once

#include <boost/container/flat_set.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "counters/base/work.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"

namespace dlroof::record {

// An entry as the file has it, and what tells it apart from others of its name.
struct FileEntry {
  Entry entry;
  std::optional<std::string> statistic;  // set if the entry is an aggregate: "median", "cv", ...
  // Indices of the benchmark in the program and of its repetition, if the file has any.
  std::optional<double> family, instance, repetition;
  std::optional<int> repetitions;  // [1] that the program ran
  std::optional<int> threads;
  // [1] Value of an aggregate that is not a time ("cv" is a share).
  std::optional<double> share;
};

// Source of the notes on work that is known from an entry's rates (CountingNote::source).
inline constexpr std::string_view kRateSource = "google-benchmark";

// By the benchmark's name: items [1] of a call, which the program declares (items_per_second).
using BenchmarkItems = std::map<std::string, double>;
BenchmarkItems ItemsIn(const std::string& text, const std::string& where);

// Groups entries by name, in order of first appearance: random interleaving separates those of one
// benchmark.
class EntryGroups {
 public:
  // Adds an entry. Throws BadInput if its repetition was added before (concatenated files).
  void Add(const JsonObject& at);
  std::size_t size() const { return groups_.size(); }

  // Returns a record for each benchmark. In a file of dlroof (by its context) names have no
  // settings (BareName) unless two benchmarks differ in settings only. Other names stay.
  std::vector<Record> Records(const JsonPlace& file, const nlohmann::json& context,
                              BenchmarkItems* items = nullptr);

  // What Records() assumed, or missed in the file, as sentences without the file's name.
  const std::vector<std::string>& Remarks() const { return remarks_; }

 private:
  struct Group {
    std::string name;                                // as in the file
    std::vector<Entry> entries;                      // repetitions, without names
    boost::container::flat_set<double> repetitions;  // their indices
    int announced = 0;  // [1] repetitions that the program ran, if the file has it
    std::optional<int> threads;
    std::vector<FileEntry> aggregates;
    bool untyped = false;  // an entry has no "run_type": Google Benchmark before 1.5
  };
  Group& GroupOf(const std::string& name, const FileEntry& read);
  // In files before 1.5, statistics are entries whose names end in "_mean", "_median", "_stddev"
  // and then custom ones, in this order. Returns the benchmark's name if group `at` is its mean.
  std::optional<std::string> BenchmarkOfMean(std::size_t at) const;
  // In files before 1.5, moves these statistics to the groups of their benchmarks.
  void FindStatistics();
  // Gives each benchmark without repetitions an entry that is made of its aggregates.
  void Complete();
  // Converts the work of benchmarks with n threads to that of one call. The program may have summed
  // a counter over threads or averaged it: the benchmark of the same name with one thread shows
  // which; without it the FLOPs are removed. dlroof's own counters are sums (importing.md).
  void AddWorkOfThreads(std::vector<Record>& records);
  void Remark(int count, const char* what);

  // A benchmark with several threads.
  struct PendingWork {
    std::size_t record;      // index
    std::string one_thread;  // name of the benchmark with one thread
    int threads;
    std::map<Provenance, Work> own;  // of dlroof's counters, as in the file
  };

  std::vector<Group> groups_;
  std::vector<PendingWork> pending_;
  std::unordered_map<std::string, std::size_t>
      group_of_;  // by name and, if the file has any, indices
  std::vector<std::string> remarks_;
};

// Converts a record's facts to and from Google Benchmark's counters and label, which all its
// reporters and files store. Only this module uses the counters' keys.

// Returns counters such as "modelled/flops/fp32.vector", "modelled/bytes/dram",
// "modelled/launches" and "modelled/parts/matrix".
std::map<std::string, double> ToCounters(const std::map<Provenance, Work>& works);
// Returns the Work of each provenance in these counters; ignores keys of other programs.
std::map<Provenance, Work> WorkFromCounters(const std::map<std::string, double>& counters);

// Keys of the other values of a repetition. Only kThreadsCounter is always present.
inline constexpr const char* kCpuSecondsCounter =
    "dlroof/cpu_seconds";  // [s] all threads, per call
inline constexpr const char* kMainCpuSecondsCounter =
    "dlroof/main_cpu_seconds";  // [s] main thread, per call, if Google Benchmark's time differs
inline constexpr const char* kEvictedBytesCounter =
    "dlroof/evicted_bytes";  // [byte] dropped from the caches before each call
inline constexpr const char* kHeuristicOverBestCounter = "dlroof/heuristic_over_best";  // [1]
inline constexpr const char* kRunDelayCounter = "dlroof/run_delay_seconds";  // [s] per call
inline constexpr const char* kCoreShareCounter = "dlroof/core_share";        // [1]
inline constexpr const char* kLinkShareCounter = "dlroof/link_share";        // [1]
// Number and time of the clean calls; set only if noisy calls were left out.
inline constexpr const char* kCleanCallsCounter = "dlroof/clean_calls";  // [1]
inline constexpr const char* kSecondsCounter = "dlroof/seconds";         // [s] per call
inline constexpr const char* kThreadsCounter = "dlroof/threads";
inline constexpr const char* kSeedCounter = "dlroof/seed";
// CacheState as a number: warm = 0, cold = 1, cold-weights = 2.
inline constexpr const char* kCacheCounter = "dlroof/cold";
// Set on every repetition of a run that treats noisy repetitions as clean.
inline constexpr const char* kNoiseIgnoredCounter = "dlroof/disturbed_kept";

// Returns the numbers of a repetition that Google Benchmark lacks; with `own_seconds`, dlroof's
// time too.
std::map<std::string, double> ToCounters(const Record& record, const Repetition& repetition,
                                         bool own_seconds = false);
// Returns the GpuSample in these counters, or nullopt if they have none of its quantities.
std::optional<GpuSample> GpuSampleFromCounters(const std::map<std::string, double>& counters);

// Google Benchmark stores one free text per benchmark. Returns {"dlroof": FACTS} as text, or an
// empty text for a record without facts.
std::string ToLabel(const Record& record);
// Reads a label of any schema. Throws BadInput, which begins with `place`, for a wrong label.
void ReadLabel(const std::string& label, const JsonPlace& place, Record& record);

// A file of Google Benchmark that was not valid JSON. It has each member and bracket on a line of
// its own, so an invalid value, or a line that the program printed, spoils only itself.
struct BenchmarkLines {
  std::string json;
  std::vector<std::string> remarks;  // what was left out, with its first line
};

// Returns the file as JSON. Strings whose backslashes, quotes or control characters were not
// escaped are escaped; numbers of the program's locale are read by the marks of all numbers of the
// file; missing commas and brackets are added; values that are none of these, and lines that are
// not Google Benchmark's, are left out. Returns nullopt if the text has no list of benchmarks, or
// is dlroof's own. Throws BadInput ("WHERE:LINE: ...") if a number has two readings.
std::optional<BenchmarkLines> RepairedBenchmarkLines(std::string_view text,
                                                     const std::string& where);

}  // namespace dlroof::record
