// A tuning: its plan, the blocks that were measured, and what they prove. Facts; tune.h makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/tune/setting.h"
#include "baselines/tune/trial.h"

namespace dlroof::tuning {

struct TuningPlan {
  std::string subject;                  // what is tuned: a benchmark's name, a command
  std::vector<Coordinate> coordinates;  // the first is tried first
  double budget_seconds = 120;          // [s] of blocks; none begins later
  double min_effect = 0.02;             // [1] smaller gains are none
  std::uint64_t seed = 1;               // of the order of turns
  std::size_t together = 6;             // [1] most settings of one block of the search
};

enum class TuningState {
  kUnfinished,    // interrupted, or not begun
  kNothingWon,    // no setting was faster than the default
  kNotConfirmed,  // one seemed faster, and fresh blocks did not prove it
  kConfirmed,     // `best` is faster than the default
  kUnsupported,   // the default cannot run here
  kFailed,        // the default has no time
};
std::string_view Key(TuningState state);  // "nothing_won"
std::optional<TuningState> TuningStateFromKey(std::string_view key);

// A ratio of times, from fresh blocks alone.
struct Effect {
  double ratio = 1;                    // [1] time after over time before
  std::pair<double, double> interval;  // [1] of the ratio; together with those beside it 95 %
  int blocks = 0;                      // [1] clean
  bool confirmed = false;              // the interval excludes 1, and the gain is large enough
};

// One step from the default to the best.
struct TuningStep {
  std::string coordinate;
  Setting values;                // of the coordinate, from this step on
  std::string reason;            // the choice's
  std::optional<Effect> effect;  // against the step before; absent: not measured
};

// A choice that was tried, and why it is no step.
struct TriedChoice {
  std::string coordinate;
  Setting values;
  int blocks = 0;               // [1] that gave a ratio
  std::optional<double> ratio;  // [1] median, biased by the search: for people, proves nothing
  bool failed = false;          // in a trial, for the reason in `verdict`
  // "slower", "no effect", "seems faster, not proved: ...", "not faster than threads=1",
  // "failed: ..."
  std::string verdict;
};

struct Tuning {
  TuningPlan plan;
  std::vector<TrialBlock> blocks;  // all that was measured, in order
  TuningState state = TuningState::kUnfinished;
  std::string reason;              // why it failed, or was not confirmed
  Setting best;                    // without a confirmation: what the search prefers so far
  std::vector<TuningStep> steps;   // from the default to `best`
  std::optional<Effect> total;     // best against default, from fresh blocks
  std::optional<Effect> verified;  // best against default once more, by Verify
  std::vector<TriedChoice> tried;
  std::vector<std::string> dropped;       // steps that fresh blocks did not confirm, in words
  std::optional<double> default_seconds;  // [s] median of all its clean windows
  bool budget_spent = false;
};

// [s] of all blocks.
double SecondsOf(const Tuning& tuning);
// [1] blocks without a ratio, although two settings have times: other programs disturbed them.
int DisturbedBlocks(const Tuning& tuning);

}  // namespace dlroof::tuning
