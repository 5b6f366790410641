// Work <-> the flat counters of Google Benchmark. The only place that knows how the keys are
// spelled, so that a run can carry its work from the benchmark's body through any reporter and any
// plain Google Benchmark file.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "counters/work.h"
#include "reporters/record/record.h"

namespace dlroof::record {

struct JsonPlace;

// "modelled/flops/fp32.vector", "modelled/bytes/dram", "modelled/launches",
// "modelled/parts/matrix".
std::map<std::string, double> ToCounters(Provenance from, const Work& work);
// The works in these counters; keys of anyone else are left alone.
std::map<Provenance, Work> WorkFromCounters(const std::map<std::string, double>& counters);

// Other values of a repetition. All but `threads` may be unknown.
inline constexpr const char* kCpuSecondsCounter =
    "dlroof/cpu_seconds";  // [s] all threads, per call
inline constexpr const char* kMainCpuSecondsCounter =
    "dlroof/main_cpu_seconds";  // [s] main thread, per call, where Google Benchmark's is not that
inline constexpr const char* kEvictedBytesCounter =
    "dlroof/evicted_bytes";  // [byte] dropped from the caches before each call
inline constexpr const char* kHeuristicOverBestCounter = "dlroof/heuristic_over_best";  // [1]
inline constexpr const char* kRunDelayCounter = "dlroof/run_delay_seconds";  // [s] per call
inline constexpr const char* kCoreShareCounter = "dlroof/core_share";        // [1]
inline constexpr const char* kLinkShareCounter = "dlroof/link_share";        // [1]
// A repetition that was read part by part has the calls of its clean parts, and their time.
inline constexpr const char* kCleanCallsCounter = "dlroof/clean_calls";  // [1]
inline constexpr const char* kSecondsCounter = "dlroof/seconds";         // [s] per call
inline constexpr const char* kThreadsCounter = "dlroof/threads";
inline constexpr const char* kSeedCounter = "dlroof/seed";
inline constexpr const char* kCacheCounter = "dlroof/cold";  // 0 warm, 1 cold, 2 cold-weights

// "dlroof/gpu/throughput_seconds" and so on: every quantity that is known.
std::map<std::string, double> ToCounters(const GpuSample& sample);
// Returns the facts of a repetition that Google Benchmark does not keep, without its GpuSample.
std::map<std::string, double> ToCounters(const Repetition& repetition);
// Absent when no counter is of this kind.
std::optional<GpuSample> GpuSampleFromCounters(const std::map<std::string, double>& counters);

// On every repetition of a run that judges none for interference.
inline constexpr const char* kKeptCounter = "dlroof/disturbed_kept";

// Returns a record's "algorithm", "isa", "verified", "repro", "counting" and "kernels", each only
// where it is known.
nlohmann::json LabelFacts(const Record& record);
// Google Benchmark carries one free text per benchmark. Ours is {"dlroof": FACTS}, empty where
// there are none.
std::string ToLabel(const Record& record);
// Reads a label of any schema. Throws BadInput with `place`.
void ReadLabel(const std::string& label, const JsonPlace& place, Record& record);

}  // namespace dlroof::record
