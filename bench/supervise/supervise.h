// dlroof run: each benchmark in its own process, with a journal; or the benchmarks of two builds,
// interleaved.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/compare/name_map.h"

namespace dlroof::supervise {

struct RunRequest {
  std::vector<std::string> programs;   // one, or BASE's and NEW's
  std::vector<std::string> outputs;    // as many run files
  std::vector<std::string> arguments;  // for the programs
  bool resume = false;
  bool random_order = true;
  std::optional<std::uint64_t> seed;     // of the order; absent: drawn
  std::optional<double> budget_seconds;  // [s] no benchmark begins later
  double timeout_seconds = 600;          // [s] for one benchmark, or one block of it
  int retries = 2;                       // [1] of a disturbed benchmark
  double cooldown_seconds = 2;           // [s] before the first retry, doubled each time
  double min_effect = 0.02;              // [1] of two programs, as in StopRule
  compare::NameMap names;                         // of two programs, BASE's -> NEW's
  // Called before each benchmark of one program with its place in the order, from 0, and its name
  // as the program lists it. Empty: nothing is.
  std::function<void(std::size_t turn, const std::string& listed)> before;
};

// Returns the exit code: 0, 1 if a benchmark failed, 130 after an interrupt. Writes progress to
// `log`.
int Supervise(const RunRequest& request, std::ostream& log);
// Returns the exit code of the comparison (compare.h), or 130. Writes the comparison to standard
// output.
int SuperviseBlocks(const RunRequest& request, std::ostream& log);

}  // namespace dlroof::supervise
