// dlroof tune: finds the best settings of benchmarks.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/settings/tuning.h"
#include "bench/tune/space.h"
#include "reporters/document/document.h"

namespace dlroof::tune {

struct TuneRequest {
  std::vector<std::string> names;    // of benchmarks
  std::optional<std::string> bench;  // see supervise::BenchProgram
  std::string output = "tune.json";
  bool resume = false;
  bool compare_with_itself = false;  // A/A test with settings that change nothing
  double budget_seconds = 120;       // [s] for each benchmark; a larger budget resumes a tuning
  double timeout_seconds = 60;       // [s] for each answer of a process
  double min_effect = 0.02;          // [1]
  std::uint64_t seed = 1;
  SpaceRequest space;
};

// Tunes the benchmarks one after the other and writes the file after each block. Returns the exit
// code: 0, 1 if a benchmark fails with its default settings, InterruptCode() after an interrupt.
// Throws BadInput.
int TuneBenchmarks(const TuneRequest& request, std::ostream& log, std::ostream& out);

// Measures the confirmed best setting of each tuning of the file against the default again, and
// writes the effects into the file. Returns the exit code: 0, 3 if a gain is not confirmed again,
// InterruptCode() after an interrupt.
int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out);

// Returns the report of a tuning: the steps from the default to the best setting with the confirmed
// speedups, what else was tried, and settings to copy. `program` is the path of dlroof_bench in
// the command line that the report shows.
document::List ReportOf(const settings::Tuning& tuning, const std::string& program);

// Writes the reports of a file of TuneBenchmarks.
void ShowTunings(const std::string& path, std::ostream& out);

}  // namespace dlroof::tune
