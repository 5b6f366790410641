// dlroof tune: benchmarks one after the other, in one file.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "baselines/tune/tuning_file.h"
#include "bench/tune/space.h"

namespace dlroof::tune {

struct TuneRequest {
  std::vector<std::string> names;  // of benchmarks
  std::string bench;               // dlroof_bench; empty: the one beside this program
  std::string machine;             // roofs of the ledger; empty: cached, or measured now; "none"
  std::string output = "tune.json";
  bool resume = false;
  bool compare_with_itself = false;  // A/A: settings that change nothing, to see that none wins
  double budget_seconds = 120;       // [s] for each benchmark; more resumes one whose was spent
  double timeout_seconds = 60;       // [s] for each answer of a process
  double min_effect = 0.02;          // [1]
  std::uint64_t seed = 1;
  SpaceRequest space;
};

// Tunes and writes the file after each block. Returns the exit code: 0, 1 if a default failed, 130
// after an interrupt. Throws BadInput.
int TuneBenchmarks(const TuneRequest& request, std::ostream& log, std::ostream& out);

// VerifyAll of the file's tunings.
int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out);

// Writes the file's tunings as they were written when they were made.
void ShowTunings(const std::string& path, std::ostream& out);

}  // namespace dlroof::tune
