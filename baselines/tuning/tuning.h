// Settings of a program, and the choices among which a tuning looks. Pure.
//
// Trials of settings: what measures them, and what they found.
//
// A tuning: its plan, the blocks that were measured, and what they prove. Facts; tune.h makes them.
//
// The file of one or more tunings: their state after every block, and their result.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::tuning {

// Knob -> value: "OMP_WAIT_POLICY" -> "active". A knob that is absent has its default, so the empty
// setting is the program as it is.
using Setting = std::map<std::string, std::string>;

// Returns "OMP_WAIT_POLICY=active, threads=1", or "default". A knob without a value (an argument)
// has no "=".
std::string SettingText(const Setting& setting);

struct Choice {
  Setting values;      // of its coordinate's knobs; those that it leaves out have their defaults
  std::string reason;  // why it may be faster, for people

  bool operator==(const Choice&) const = default;
};

// Knobs that are chosen together, because the best value of one depends on the others.
struct Coordinate {
  std::string name;             // "threads"
  std::string reason;           // why it is tried when it is, for people; may be empty
  std::vector<Choice> choices;  // beside the default, all different

  bool operator==(const Coordinate&) const = default;
};

// Returns the setting with the coordinate's knobs as `values` has them, and the others as they are.
Setting With(Setting setting, const Coordinate& coordinate, const Setting& values);
// Returns the part of the setting that the coordinate decides.
Setting PartOf(const Setting& setting, const Coordinate& coordinate);

// Returns all combinations of two coordinates, but for the default of both.
Coordinate Crossed(const Coordinate& one, const Coordinate& other);

// The times of one setting in one block.
struct TrialResult {
  std::vector<record::Repetition>
      windows;               // in the order measured; as many as the others of its block
  std::string failed;        // reason: it crashed, hung, has no result; empty: none
  bool unsupported = false;  // it failed because it cannot be here, which is no defect
};

// Settings that were measured interleaved, each in fresh processes.
struct TrialBlock {
  std::string stage;                 // "threads", "confirmation"
  std::vector<Setting> settings;     // of a search the first is the one to beat
  std::vector<TrialResult> results;  // one per setting
  double seconds = 0;                // [s] duration
};

// Measures the settings interleaved in an order drawn from `seed`, and sets `results` and
// `seconds`. Returns false: interrupted, and the block is void. A setting that fails is a result.
using MeasureBlock = std::function<bool(TrialBlock& block, std::uint64_t seed)>;

// Runs one setting alone, at most so many seconds: a command, and how its result is read. Absent:
// interrupted.
using Trial = std::function<std::optional<TrialResult>(const Setting& setting, double seconds)>;

// Returns the MeasureBlock of a program that cannot pause: its settings take turns run by run,
// `rounds` times, in a drawn order. `now` is a clock [s]. A trial that fails is not run again in
// the block.
MeasureBlock Interleaved(Trial trial, int rounds, double most_seconds, std::function<double()> now);

// Returns the logarithm of the ratio of the times of setting `fresh` of the block to those of
// setting 0. Absent: one of the two failed, or too few windows of both are clean
// (BlockLogRatios).
std::optional<double> LogRatio(const TrialBlock& block, std::size_t contender,
                               std::size_t base = 0);

// Returns whether the block has no ratio, although two settings have times.
bool IsNoisy(const TrialBlock& block);

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
  std::optional<double> ratio;  // [1] median, biased by the search: for people, validates nothing
  bool failed = false;          // in a trial, for the reason in `verdict`
  // "slower", "no effect", "seems faster, not validated: ...", "not faster than threads=1",
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
// [1] blocks without a ratio, although two settings have times: other programs noisy them.
int NoisyBlocks(const Tuning& tuning);

struct TuningFile {
  nlohmann::json about;         // the command and its flags
  std::vector<Tuning> tunings;  // the last may be unfinished
};

nlohmann::json ToJson(const Tuning& tuning);
nlohmann::json ToJson(const Effect& effect);
nlohmann::json ToJson(const TuningFile& file);

// Throws BadInput, which names the place: not a file of tunings, or one of another version.
TuningFile ParseTuningFile(const std::string& text, const std::string& where);
// The same of a file. Throws BadInput also where it cannot be read.
TuningFile ReadTuningFile(const std::string& path);

}  // namespace dlroof::tuning
