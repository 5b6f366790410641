// Valgrind's cache simulator (callgrind) in words and numbers: the geometry that it takes, its
// command, its output file. Pure.
//
// It simulates a first-level and a last-level cache (LRU, write-allocate, no prefetch); three
// levels take two runs, with the L2 and with the L3 as last level. Valgrind User Manual, chapters
// 5.3 (cache simulation) and 6 (callgrind, client requests, output format).
//
// One call of a benchmark in a child process under valgrind, which counts between the marks that
// bench/runner/simulation_marks.h makes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parallel_time.h"
#include "counters/work.h"

namespace dlroof::caches {

struct CacheGeometry {
  double bytes = 0;  // [byte]
  int ways = 0;      // 0: not known
  int line = 64;     // [byte]

  bool operator==(const CacheGeometry&) const = default;
};

// The nearest geometry that the simulator takes: a power of two of sets. Sliced caches have another
// number of them (35.75 MiB of 11 ways: 53248); their ways are changed so that the capacity stays
// within some per cent. `otherwise` are the ways where they are not known.
CacheGeometry Simulable(const CacheGeometry& cache, int otherwise);

// "32 KiB 8-way"
std::string Text(const CacheGeometry& cache);

// valgrind and its arguments, to count between two marks of `program`'s
// (bench/runner/simulation_marks.h).
std::vector<std::string> CallgrindCommand(const CacheGeometry& first, const CacheGeometry& last,
                                          const std::string& out_file,
                                          const std::vector<std::string>& program);

// The same without caches: instructions alone.
std::vector<std::string> CallgrindWithoutCaches(const std::string& out_file,
                                                const std::vector<std::string>& program);

// Data only; instructions are fetched besides.
struct CallgrindCounts {
  double accesses = 0;      // [1] loads and stores
  double first_misses = 0;  // [1] lines that the first level fetched
  double last_misses = 0;   // [1] lines that the last level fetched
};

// Reads the file that a mark made callgrind write. Throws std::runtime_error with the missing part.
CallgrindCounts ParseCallgrind(std::string_view text);
// [1] > 0. Throws as ParseCallgrind does.
double CallgrindInstructions(std::string_view text);

// Bytes by level of two runs whose last levels were the L2 and the L3.
Work WorkOfRuns(const CallgrindCounts& with_l2, const CallgrindCounts& with_l3, double line);

struct SimulatedRun {
  std::string counts;   // the file that callgrind wrote at the mark
  nlohmann::json said;  // by the program (bench/runner/run_context.h)
};

// Returns the command that runs `program` and writes counts to `file`.
using SimulationCommand = std::function<std::vector<std::string>(
    const std::string& file, const std::vector<std::string>& program)>;

// Runs it on one thread, by dlroof_bench beside this program. Throws std::runtime_error with the
// program's last line where it fails.
SimulatedRun RunSimulated(const std::string& name, unsigned seed, const SimulationCommand& command);

// Counts the instructions of one call of the benchmark on one thread by callgrind, in some seconds
// and fifty times the call's own. Gives a reason instead where valgrind is missing or fails, and
// where the library chooses another implementation under valgrind (which knows no AVX-512) than
// `algorithm` with `isa`.
CountedInstructions SimulateInstructions(const std::string& name, unsigned seed,
                                         const std::string& algorithm, const std::string& isa);

}  // namespace dlroof::caches
