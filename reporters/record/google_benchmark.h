// Reader of Google Benchmark's JSON, versions 1.5 to 1.9: converts its entries to records. dlroof's
// own run files have the same entries.
//
// The entries of a benchmark's repetitions become a record; aggregates and complexity rows beside
// repetitions are ignored, since they are derived from the repetitions. A benchmark with aggregates
// only becomes a record with one repetition: the median or, without it, the mean, with the
// deviation of the repetitions. NaN and infinite times give no repetition.
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

// An entry of the file, with the members that distinguish it from other entries of its name.
struct FileEntry {
  Entry entry;
  std::optional<std::string> statistic;  // e.g. "median"; set if the entry is an aggregate
  // Index of the benchmark's family, of the benchmark in it, and of the repetition, if in the file.
  std::optional<double> family, instance, repetition;
  std::optional<int> repetitions;  // [1] number of repetitions that the program ran
  std::optional<int> threads;
  std::optional<double> share;  // [1] value of an aggregate that is not a time, e.g. "cv"
};

// CountingNote::source of work that was computed from an entry's rates, e.g. bytes_per_second.
inline constexpr std::string_view kRateSource = "google-benchmark";

// Items [1] per call that a program declares (items_per_second), by the benchmark's name.
using BenchmarkItems = std::map<std::string, double>;
// Returns the items in the text of a file; `where` begins the message of a BadInput.
BenchmarkItems ItemsIn(const std::string& text, const std::string& where);

// Groups entries by benchmark, in order of first appearance: Google Benchmark's random interleaving
// separates the entries of one benchmark.
class EntryGroups {
 public:
  // Adds an entry. Throws BadInput if its repetition was added before (concatenated files).
  void Add(const JsonObject& at);
  std::size_t size() const { return groups_.size(); }

  // Returns a record for each benchmark. If the context is dlroof's, a record's name lacks the
  // settings (BareName), unless two benchmarks differ in settings only. Fills `items` if not null.
  std::vector<Record> Records(const JsonPlace& file, const nlohmann::json& context,
                              BenchmarkItems* items = nullptr);

  // Returns sentences on what Records() assumed or found missing, without the file's name.
  const std::vector<std::string>& Remarks() const { return remarks_; }

 private:
  struct Group {
    std::string name;                                // the benchmark's name in the file
    std::vector<Entry> entries;                      // repetitions, without names
    boost::container::flat_set<double> repetitions;  // indices of the repetitions
    int announced = 0;  // [1] repetitions that the program ran; 0 if the file does not say
    std::optional<int> threads;
    std::vector<FileEntry> aggregates;
  };
  Group& GroupOf(const std::string& name, const FileEntry& read);
  // Gives each benchmark that has aggregates only an entry made of them (EntryOfAggregates).
  void Complete();
  // Converts the work of benchmarks with n threads to that of one call. Programs may sum a counter
  // over threads or average it: the same benchmark with one thread shows which; without it removes
  // the FLOPs. dlroof's own counters are sums (importing.md).
  void AddWorkOfThreads(std::vector<Record>& records);
  void Remark(int count, const char* what);

  // A benchmark with several threads whose work AddWorkOfThreads has to convert.
  struct PendingWork {
    std::size_t record;      // index of the record
    std::string one_thread;  // name of the same benchmark with one thread
    int threads;
    std::map<Provenance, Work> own;  // work by dlroof's counters, not yet converted
  };

  std::vector<Group> groups_;
  std::vector<PendingWork> pending_;
  std::unordered_map<std::string, std::size_t>
      group_of_;  // index into groups_, by name and the indices of family and instance
  std::vector<std::string> remarks_;
};

// Google Benchmark's counters and label carry a record's facts through all its reporters and files.

// Returns counters by key, e.g. "modelled/flops/fp32.vector", "modelled/bytes/dram",
// "modelled/launches" and "modelled/parts/matrix".
std::map<std::string, double> ToCounters(const std::map<Provenance, Work>& works);
// Returns the Work of each provenance in these counters; ignores keys of other programs.
std::map<Provenance, Work> WorkFromCounters(const std::map<std::string, double>& counters);

// Keys of a repetition's other values. Only kThreadsCounter is always present.
inline constexpr const char* kCpuSecondsCounter =
    "dlroof/cpu_seconds";  // [s] of all threads, per call
inline constexpr const char* kMainCpuSecondsCounter =
    "dlroof/main_cpu_seconds";  // [s] of the main thread per call, if cpu_time is another time
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
// Record::cache as a number: warm = 0, cold = 1, cold-weights = 2.
inline constexpr const char* kCacheCounter = "dlroof/cold";
// Set on every repetition of a run that treats noisy repetitions as clean.
inline constexpr const char* kNoiseIgnoredCounter = "dlroof/disturbed_kept";

// Returns the counters of a record and a repetition. With `own_seconds` includes the repetition's
// time (kSecondsCounter), because Google Benchmark measures another one.
std::map<std::string, double> ToCounters(const Record& record, const Repetition& repetition,
                                         bool own_seconds = false);
// Returns the GpuSample in these counters, or nullopt if they have none of its quantities.
std::optional<GpuSample> GpuSampleFromCounters(const std::map<std::string, double>& counters);

// Returns the label of the record's entries, the text {"dlroof": FACTS} (LabelFacts), or an empty
// text for a record without facts.
std::string ToLabel(const Record& record);
// Reads the facts of a label of any schema. Throws BadInput (`place` first) for a wrong label.
void ReadLabel(const std::string& label, const JsonPlace& place, Record& record);

}  // namespace dlroof::record
