// Converts a record's facts to and from Google Benchmark's counters and label, which all its
// reporters and files store. Only this module uses the counters' keys.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "counters/base/work.h"
#include "reporters/record/record.h"

namespace dlroof::record {

struct JsonPlace;

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
// Set on every repetition of a run that does not mark noisy repetitions.
inline constexpr const char* kNoiseIgnoredCounter = "dlroof/disturbed_kept";

// Returns the numbers of a repetition of the record that Google Benchmark lacks. With `own_seconds`
// its time too is another than Google Benchmark's.
std::map<std::string, double> ToCounters(const Record& record, const Repetition& repetition,
                                         bool own_seconds = false);
// Returns nullopt if no counter is a quantity of a GpuSample.
std::optional<GpuSample> GpuSampleFromCounters(const std::map<std::string, double>& counters);

// Google Benchmark stores one free text per benchmark. Returns {"dlroof": FACTS} as text, or an
// empty text for a record without facts.
std::string ToLabel(const Record& record);
// Reads a label of any schema. Throws BadInput, which begins with `place`, for a wrong label.
void ReadLabel(const std::string& label, const JsonPlace& place, Record& record);

}  // namespace dlroof::record
