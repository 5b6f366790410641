// Counts one call of a benchmark in a child process under callgrind, Valgrind's cache simulator.
//
// Callgrind simulates a first-level and a last-level cache (LRU, write-allocate, no prefetch).
// Three levels therefore need two runs: one with the L2 as the last level, one with the L3.
// Callgrind counts between the marks of bench/runner/run_context.cpp. Valgrind User Manual,
// chapters 5.3 (cache simulation) and 6 (callgrind, client requests, output format).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/base/work.h"

namespace dlroof::caches {

struct CacheGeometry {
  double bytes = 0;  // [byte]
  int ways = 0;      // 0 if unknown
  int line = 64;     // [byte] of a cache line

  bool operator==(const CacheGeometry&) const = default;
};

// Returns the nearest geometry that callgrind accepts: the number of sets must be a power of two.
// Sliced caches have other numbers of sets, e.g. 53248 in 35.75 MiB with 11 ways; for them changes
// the ways, which keeps the capacity within a few per cent. `default_ways` replaces unknown ways.
CacheGeometry Simulable(const CacheGeometry& cache, int default_ways);

// Returns "32 KiB 8-way".
std::string Text(const CacheGeometry& cache);

// Returns the valgrind command that counts `program`, with these caches, between its two marks.
std::vector<std::string> CallgrindCommand(const CacheGeometry& first, const CacheGeometry& last,
                                          const std::string& out_file,
                                          const std::vector<std::string>& program);

// Misses of loads and stores; instruction fetches are not included.
struct CallgrindCounts {
  double first_misses = 0;  // [1] lines that the first level fetched
  double last_misses = 0;   // [1] lines that the last level fetched
};

// Parses callgrind's output file. Throws std::runtime_error that names the missing line or event.
CallgrindCounts ParseCallgrind(std::string_view text);

// Returns the bytes by level from two runs with the L2 and the L3 as last level. `line`: [byte].
Work WorkOfRuns(const CallgrindCounts& with_l2, const CallgrindCounts& with_l3, double line);

// Sets the program whose benchmarks are simulated; the default is dlroof_bench in this program's
// folder or the parent folder. The program must accept --dlroof_simulated_call=NAME and print its
// report (JSON) as the last line.
void SimulateCallsOf(const std::string& program);

}  // namespace dlroof::caches
