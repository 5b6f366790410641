// A tuning: settings of a program and the choices among them, trials that measure them, the plan,
// the blocks that were measured and what they show (tune.h makes it), and the file of tunings with
// their state after every block. Pure, but for ReadTuningFile.
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

#include "counters/base/error.h"
#include "reporters/record/record.h"

namespace dlroof::tuning {

// Knob -> value: "OMP_WAIT_POLICY" -> "active". A missing knob has its default, so the empty
// setting is the unchanged program.
using Setting = std::map<std::string, std::string>;

// Returns "OMP_WAIT_POLICY=active, threads=1", or "default". A knob without a value (an argument)
// has no "=".
std::string SettingText(const Setting& setting);

struct Choice {
  Setting values;      // of its coordinate's knobs; missing ones have their defaults
  std::string reason;  // why it may be faster, for people

  bool operator==(const Choice&) const = default;
};

// Knobs that are chosen together, because the best value of one depends on the others.
struct Coordinate {
  std::string name;             // "threads"
  std::string reason;           // why it is tried at its place, for people; may be empty
  std::vector<Choice> choices;  // besides the default, all different

  bool operator==(const Coordinate&) const = default;
};

// Returns the setting with the coordinate's knobs replaced by `values`.
Setting With(Setting setting, const Coordinate& coordinate, const Setting& values);
// Returns the setting's values of the coordinate's knobs.
Setting PartOf(const Setting& setting, const Coordinate& coordinate);

// Returns all combinations of two coordinates, except the default of both.
Coordinate Crossed(const Coordinate& one, const Coordinate& other);

// The times of one setting in one block.
struct TrialResult {
  std::vector<record::Repetition>
      windows;                    // in the order measured; as many as for others of its block
  std::optional<Reason> failure;  // crashed, hung, or has no result
  bool unsupported = false;       // it failed because it cannot run here
};

// Settings that were measured interleaved, each in new processes.
struct TrialBlock {
  std::string stage;                 // "threads", "confirmation"
  std::vector<Setting> settings;     // in a search the first is the best so far
  std::vector<TrialResult> results;  // one per setting
  double seconds = 0;                // [s] duration
};

// Measures the settings interleaved in an order drawn from `seed`, and sets `results` and
// `seconds`. Returns false if it was interrupted; the block is then invalid. A setting that fails
// is a result.
using MeasureBlock = std::function<bool(TrialBlock& block, std::uint64_t seed)>;

// Runs one setting by itself for at most `seconds`: runs a command and reads its result. Returns
// nothing if it was interrupted.
using Trial = std::function<std::optional<TrialResult>(const Setting& setting, double seconds)>;

// Returns the MeasureBlock of a program that cannot pause: its settings are run one after another,
// `rounds` times, in random order. `now` is a clock [s]. A setting whose trial fails is not run
// again in the block.
MeasureBlock Interleaved(Trial trial, int rounds, double most_seconds, std::function<double()> now);

// Returns the logarithm of the ratio of the times of setting `contender` of the block to those of
// setting `base`; nothing if one of the two failed, or too few windows of both are clean
// (BlockLogRatios).
std::optional<double> LogRatio(const TrialBlock& block, std::size_t contender,
                               std::size_t base = 0);

// Returns whether the block has no ratio, although two settings have times.
bool IsNoisy(const TrialBlock& block);

struct TuningPlan {
  std::string subject;                  // what is tuned: a benchmark's name, a command
  std::vector<Coordinate> coordinates;  // in the order of the search
  double budget_seconds = 120;          // [s] of blocks; none is started later
  double min_effect = 0.02;             // [1] smaller gains are ignored
  std::uint64_t seed = 1;               // of the order within blocks
  std::size_t together = 6;             // [1] maximum number of settings in one block of the search
};

enum class TuningState {
  kUnfinished,    // interrupted, or not started
  kNothingWon,    // no setting was faster than the default
  kNotConfirmed,  // one seemed faster, but new blocks did not confirm it
  kConfirmed,     // `best` is faster than the default
  kUnsupported,   // the default cannot run here
  kFailed,        // the default has no time
};
std::string_view Key(TuningState state);  // "nothing_won"
std::optional<TuningState> TuningStateFromKey(std::string_view key);

// A ratio of times, from new blocks only.
struct Effect {
  double ratio = 1;                    // [1] time after over time before
  std::pair<double, double> interval;  // [1] of the ratio; 95 % together with the others
  int blocks = 0;                      // [1] clean
  bool confirmed = false;              // the interval excludes 1, and the gain is large enough
};

// One step from the default to the best.
struct TuningStep {
  std::string coordinate;
  Setting values;                // of the coordinate, from this step on
  std::string reason;            // of the choice
  std::optional<Effect> effect;  // against the previous step, if measured
};

// A choice that was tried, and why it did not become a step.
struct TriedChoice {
  std::string coordinate;
  Setting values;
  int blocks = 0;               // [1] with a ratio
  std::optional<double> ratio;  // [1] median, biased by the search, so only for people
  bool failed = false;          // in a trial; `verdict` has the reason
  // "slower", "no effect", "seems faster, not confirmed: ...", "not faster than threads=1",
  // "failed: ..."
  std::string verdict;
};

struct Tuning {
  TuningPlan plan;
  std::vector<TrialBlock> blocks;  // all that was measured, in order
  TuningState state = TuningState::kUnfinished;
  std::string reason;              // explains kNotConfirmed, kUnsupported and kFailed
  Setting best;                    // the search's preference until it is confirmed
  std::vector<TuningStep> steps;   // from the default to `best`
  std::optional<Effect> total;     // best against default, from new blocks
  std::optional<Effect> verified;  // best against default once more, by Verify
  std::vector<TriedChoice> tried;
  std::vector<std::string> dropped;       // steps that new blocks did not confirm, as text
  std::optional<double> default_seconds;  // [s] median of the default's clean windows
  bool budget_spent = false;
};

// Returns the duration of all blocks [s].
double SecondsOf(const Tuning& tuning);
// Returns the number of blocks without a ratio although two settings have times: too noisy.
int NoisyBlocks(const Tuning& tuning);

struct TuningFile {
  nlohmann::json about;         // the command and its flags
  std::vector<Tuning> tunings;  // the last may be unfinished
};

nlohmann::json ToJson(const Tuning& tuning);
nlohmann::json ToJson(const Effect& effect);
nlohmann::json ToJson(const TuningFile& file);

// Throws BadInput, which names the place, for other files and another version.
TuningFile ParseTuningFile(const std::string& text, const std::string& where);
// Reads such a file. Throws BadInput also if it cannot be read.
TuningFile ReadTuningFile(const std::string& path);

}  // namespace dlroof::tuning
