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
  std::vector<std::string> names;    // names of benchmarks
  std::optional<std::string> bench;  // path of dlroof_bench (supervise::BenchProgram)
  std::string output = "tune.json";
  bool resume = false;
  bool compare_with_itself = false;  // A/A test: settings that change nothing
  double budget_seconds = 120;       // [s] per benchmark; a larger budget continues a tuning
  double timeout_seconds = 60;       // [s] for each response of a process
  double min_effect = 0.02;          // [1]
  std::uint64_t seed = 1;
  SpaceRequest space;
};

// Tunes the benchmarks one after another; writes the file after each block. Returns the exit code:
// 0; 1 if a benchmark fails with its default settings; InterruptCode() after an interrupt. Throws
// BadInput.
int TuneBenchmarks(const TuneRequest& request, std::ostream& log, std::ostream& out);

// Measures the confirmed best setting of each tuning in the file against the default again, and
// adds the effects to the file. Returns the exit code: 0; 3 if a gain is not confirmed;
// InterruptCode() after an interrupt.
int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out);

// Returns the report of a tuning: steps from default to best setting with confirmed speedups, other
// choices tried, and settings to copy. `program`: path of dlroof_bench in the shown command line.
document::List ReportOf(const settings::Tuning& tuning, const std::string& program);

// Prints the reports of a tuning file.
void ShowTunings(const std::string& path, std::ostream& out);

}  // namespace dlroof::tune
