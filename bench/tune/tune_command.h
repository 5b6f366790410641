// dlroof tune -- CMD: the best setting of any program.
//
// dlroof tune: benchmarks one after the other, in one file.
#pragma once

#include <iosfwd>
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
  // Variables with values to try beside them.
  std::vector<std::pair<std::string, std::vector<std::string>>> environment;
  bool may_change_results = false;
  bool compare_with_itself = false;  // A/A: settings that change nothing, to see that none wins
  std::string output = "tune.json";
  std::string exported;  // path of a file of `export` lines; empty: none
  bool resume = false;
  double budget_seconds = 900;  // [s]
  double min_effect = 0.02;     // [1]
  std::uint64_t seed = 1;
};

// Returns coordinates of variables that no program reads.
std::vector<tuning::Coordinate> EqualCoordinates();

// Tunes and writes the file after each block. Returns the exit code: 0, 1 if the program as it is
// fails, 130 after an interrupt. Throws BadInput.
int TuneCommand(const TuneCommandRequest& request, std::ostream& log, std::ostream& out);

// Returns true for a file of TuneCommand's.
bool IsOfCommand(const tuning::TuningFile& file);
// VerifyAll of the file's program.
int VerifyCommand(const std::string& path, tuning::TuningFile file, double timeout_seconds,
                  std::ostream& log, std::ostream& out);
// Writes the tuning as it was written when it was made.
void ShowCommand(const tuning::TuningFile& file, std::ostream& out);

// Returns a line for each variable and argument of the setting: "export A='b'".
std::string ExportLines(const std::vector<std::string>& command, const tuning::Setting& setting);
// Returns the command as a shell takes it.
std::string ShellCommand(const TunedCommand& tuned);

struct TuneRequest {
  std::vector<std::string> names;  // of benchmarks
  std::string bench;               // dlroof_bench; empty: the one beside this program
  std::string machine;             // roofs of the breakdown; empty: cached, or measured now; "none"
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
