// dlroof tune: finds the best settings of benchmarks, or of any program (dlroof tune -- CMD).
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/tuning/tuning.h"
#include "bench/tune/space.h"
#include "bench/tune/trials.h"

namespace dlroof::tune {

struct TuneCommandRequest {
  CommandTrialRequest trial;
  std::vector<std::string> knobs = {"openmp", "onednn", "allocator"};  // sets and files
  // Further environment variables, with values to try.
  std::vector<std::pair<std::string, std::vector<std::string>>> environment;
  bool may_change_results = false;
  bool compare_with_itself = false;  // A/A test with settings that change nothing
  std::string output = "tune.json";
  std::optional<std::string> exported;  // file to write `export` lines to
  bool resume = false;
  double budget_seconds = 900;  // [s]
  double min_effect = 0.02;     // [1]
  std::uint64_t seed = 1;
};

// Returns coordinates of variables that no program reads.
std::vector<tuning::Coordinate> EqualCoordinates();

// Tunes the program and writes the file after each block. Returns the exit code: 0, 1 if the
// program fails with its default settings, 130 after an interrupt. Throws BadInput.
int TuneCommand(const TuneCommandRequest& request, std::ostream& log, std::ostream& out);

// Returns whether TuneCommand wrote the file.
bool IsOfCommand(const tuning::TuningFile& file);
// Calls VerifyAll for the file's program.
int VerifyCommand(const std::string& path, tuning::TuningFile file, double timeout_seconds,
                  std::ostream& log, std::ostream& out);
// Writes the report of a file of TuneCommand.
void ShowCommand(const tuning::TuningFile& file, std::ostream& out);

// Returns a line for each variable and argument of the setting: "export A='b'".
std::string ExportLines(const std::vector<std::string>& command, const tuning::Setting& setting);
// Returns the command line for a shell, with the variables in front.
std::string ShellCommand(const TunedCommand& tuned);

struct TuneRequest {
  std::vector<std::string> names;      // of benchmarks
  std::optional<std::string> bench;    // see supervise::BenchProgram
  std::optional<std::string> machine;  // machine file for the breakdown, or "none" for no breakdown
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

// Calls VerifyAll for the file's benchmarks.
int VerifyTunings(const std::string& path, const TuneRequest& request, std::ostream& log,
                  std::ostream& out);

// Writes the report of a file of TuneBenchmarks.
void ShowTunings(const std::string& path, std::ostream& out);

}  // namespace dlroof::tune
