// Trials of any program: a process under a setting, and how its result is read.
#pragma once

#include <string>
#include <vector>

#include "baselines/tune/trial.h"
#include "counters/base/process.h"

namespace dlroof::tune {

// The number that a tuning makes small (a time) or large (a rate).
struct Objective {
  std::string read;         // regular expression with one group, of the output; empty: wall time
  bool per_second = false;  // the number is a rate: more is better
};

struct CommandTrialRequest {
  std::vector<std::string> command;
  Objective objective;
  double timeout_seconds = 600;  // [s] for a run
};

// A program's process under a setting.
struct TunedCommand {
  std::vector<std::string> command;
  Variables environment;  // beside its own
};
TunedCommand CommandUnder(const std::vector<std::string>& command, const tuning::Setting& setting);

// Returns what a run's end and output say: a window of the objective, whose `seconds` is the number
// itself, or one over it for a rate; or why it failed.
tuning::TrialResult ResultOf(const ProcessEnd& end, double wall_seconds, const std::string& out,
                     const std::string& err, const Objective& objective);

// Returns the trial. A run ends, and its setting fails, after the request's time, or after five
// times the longest run of the default. Throws BadInput: no pattern, or a program that cannot be
// started.
tuning::Trial CommandTrial(const CommandTrialRequest& request);

}  // namespace dlroof::tune
