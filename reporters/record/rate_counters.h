// Work of a benchmark by the rates that other people's Google Benchmark programs report.
#pragma once

#include "reporters/record/run_file.h"

namespace dlroof::record {

// Name of the notes that AddWorkOfRates adds (CountingNote::source).
inline constexpr std::string_view kRateSource = "google-benchmark";

// Returns the seconds [s] by which Google Benchmark divided an entry's rates: wall time if its name
// (as in the file) has /real_time or /manual_time, otherwise CPU time. Returns nullopt if the time
// is not known.
std::optional<double> RateSeconds(std::string_view name, const Entry& entry);

// Adds modelled bytes and FLOPs per call of the rates that the entry has, unless the record already
// has such work: bytes_per_second (SetBytesProcessed) are bytes at DRAM; FLOPS, FLOP/s, GFLOPS and
// the like are FLOPs. A FLOP rate does not say its type: it is that of the benchmark's name
// ("BM_Gemm<double>"), otherwise fp32.vector, whose roof is the highest of the vector units', so
// that percentages are lower limits. A note says so. `name`: the benchmark's name as in the file.
void AddWorkOfRates(std::string_view name, const Entry& entry, Record& record);

}  // namespace dlroof::record
