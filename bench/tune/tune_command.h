// dlroof tune: finds the best settings of benchmarks.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/tuning/tuning.h"
#include "bench/tune/space.h"

namespace dlroof::tune {

// Returns coordinates of environment variables that no program reads, for an A/A test.
std::vector<tuning::Coordinate> EqualCoordinates();

struct TuneRequest {
  std::vector<std::string> names;      // of benchmarks
  std::optional<std::string> bench;    // see supervise::BenchProgram
  std::optional<std::string> machine;  // file for the breakdown; "none": no breakdown
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
// code: 0, 1 if a benchmark fails with its default settings, 130 after an interrupt. Throws
// BadInput.
int TuneBenchmarks(const TuneRequest& request, std::ostream& log, std::ostream& out);

// Measures the confirmed settings of the file's benchmarks again (see VerifyAll).
int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out);

// Writes the report of a file of TuneBenchmarks.
void ShowTunings(const std::string& path, std::ostream& out);

}  // namespace dlroof::tune
