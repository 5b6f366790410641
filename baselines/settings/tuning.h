// The data of a tuning (tune.h): settings of a program, the plan of choices to try, the measured
// blocks and their results; and the file of tunings, which is saved after every block. Pure, but
// for ReadTuningFile.
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

namespace dlroof::settings {

// Knob -> value: "OMP_WAIT_POLICY" -> "active". A missing knob has its default, so the empty
// setting is the unchanged program.
using Setting = std::map<std::string, std::string>;

// Returns "OMP_WAIT_POLICY=active, threads=1", or "default".
std::string SettingText(const Setting& setting);

struct Choice {
  Setting values;      // of the coordinate's knobs; a missing knob has its default
  std::string reason;  // why it may be faster, for people

  bool operator==(const Choice&) const = default;
};

// Knobs that are chosen together, because the best value of one depends on the others.
struct Coordinate {
  std::string name;             // "threads"
  std::vector<Choice> choices;  // besides the default, all different

  bool operator==(const Coordinate&) const = default;
};

// Returns the setting with the coordinate's knobs replaced by `values`.
Setting With(Setting setting, const Coordinate& coordinate, const Setting& values);
// Returns the setting's values of the coordinate's knobs.
Setting PartOf(const Setting& setting, const Coordinate& coordinate);

// Returns all combinations of two coordinates, except the default of both.
Coordinate Crossed(const Coordinate& inner, const Coordinate& other);

// The times of one setting in one block.
struct TrialResult {
  std::vector<record::Repetition>
      windows;  // in the order measured; as many as for the block's other settings
  std::optional<Reason> failure;  // set if the program crashed, hung or printed no result
  bool unsupported = false;       // it failed because this machine cannot run it
  std::string algorithm = {};     // that the library chose; not in files
};

// Settings that were measured interleaved, each in new processes.
struct TrialBlock {
  std::string stage;                 // "threads", "confirmation"
  std::vector<Setting> settings;     // in a search the first is the best setting so far
  std::vector<TrialResult> results;  // one per setting
  double seconds = 0;                // [s] duration
};

// Measures the block's settings interleaved, in a random order by `seed`, and sets `results` and
// `seconds`. Returns false if interrupted (the block is then invalid), but not if settings fail.
using MeasureBlock = std::function<bool(TrialBlock& block, std::uint64_t seed)>;

// Returns log(time of the block's setting `contender` / time of its setting `base`), or nothing if
// a setting of the two failed or too few windows are clean (BlockLogRatios).
std::optional<double> LogRatio(const TrialBlock& block, std::size_t contender,
                               std::size_t base = 0);

// Returns whether the block was too noisy: it has no ratio, although two settings have times.
bool IsNoisy(const TrialBlock& block);

struct TuningPlan {
  std::string subject;                  // what is tuned: a benchmark's name
  std::vector<Coordinate> coordinates;  // in the order of the search
  double budget_seconds = 120;          // [s] total duration of blocks; no block is started later
  double min_effect = 0.02;             // [1] relative gains below this are ignored
  std::uint64_t seed = 1;               // of the random order within blocks
  std::size_t together = 6;             // [1] maximum number of settings in one block of the search

  // A GPU's kernel times are alike in all processes: one block decides, two confirm.
  bool OnGpu() const { return subject.find("/gpu/") != std::string::npos; }
};

enum class TuningState {
  kUnfinished,    // interrupted, or not started
  kNothingWon,    // no setting was faster than the default
  kNotConfirmed,  // a setting seemed faster, but new blocks did not confirm it
  kConfirmed,     // `best` is faster than the default
  kUnsupported,   // the default cannot run here
  kFailed,        // the default has no time
};
std::string_view Key(TuningState state);  // "nothing_won"

// A ratio of times of two settings, measured in blocks after the search.
struct Effect {
  double ratio = 1;                    // [1] time after / time before
  std::pair<double, double> interval;  // [1] of the ratio; 95 % for all effects together
  int blocks = 0;                      // [1] clean blocks
  bool confirmed = false;              // the interval excludes 1, and the gain is large enough
};

// Returns the effect as text: "1.23x as fast (1.19x to 1.27x)".
std::string EffectText(const Effect& effect);

// One accepted change of the setting, on the way from the default to the best setting.
struct TuningStep {
  std::string coordinate;
  Setting values;                // new values of the coordinate's knobs
  std::string reason;            // of the choice
  std::optional<Effect> effect;  // against the previous step, if measured
};

// A choice that was tried, and why it did not become a step.
struct TriedChoice {
  std::string coordinate;
  Setting values;
  int blocks = 0;               // [1] blocks with a ratio
  std::optional<double> ratio;  // [1] time / best time so far; biased, only for people; absent for
                                // fewer than two blocks
  bool failed = false;          // in a trial; `verdict` has the reason
  // "slower", "no effect", "seems faster, not confirmed: ...", "not faster than threads=1",
  // "failed: ..."
  std::string verdict;
};

struct Tuning {
  TuningPlan plan;
  std::vector<TrialBlock> blocks;  // all measured blocks, in order
  TuningState state = TuningState::kUnfinished;
  std::string reason;              // explains kNotConfirmed, kUnsupported and kFailed
  Setting best;                    // the fastest setting; not confirmed unless kConfirmed
  std::vector<TuningStep> steps;   // from the default to `best`
  std::optional<Effect> total;     // best against default, from new blocks
  std::optional<Effect> verified;  // best against default, measured once more by Verify
  std::vector<TriedChoice> tried;
  std::vector<std::string> dropped;       // steps that new blocks did not confirm, as text
  std::optional<double> default_seconds;  // [s] median of the default's clean windows
  bool budget_spent = false;
};

// Returns the duration of all blocks [s].
double SecondsOf(const Tuning& tuning);
// Returns the number of blocks that were too noisy (IsNoisy).
int NoisyBlocks(const Tuning& tuning);

// How much the times of one setting differ between blocks, although nothing has changed.
struct Spread {
  double deviation = 0;   // [1] relative standard deviation
  std::size_t pairs = 0;  // [1] pairs of successive blocks with the same setting
};
// Returns the spread over all settings of the tuning, robust against single wild blocks: from the
// median difference of successive blocks. Returns nothing for fewer than 8 pairs.
std::optional<Spread> SpreadOf(const Tuning& tuning);

struct TuningFile {
  nlohmann::json about;         // the command and its flags
  std::vector<Tuning> tunings;  // the last may be unfinished
};

nlohmann::json ToJson(const Tuning& tuning);
nlohmann::json ToJson(const Effect& effect);
nlohmann::json ToJson(const TuningFile& file);

// Throws BadInput, with `where` and the JSON member, for other files, other versions, and tunings
// of any program, which dlroof 1 made.
TuningFile ParseTuningFile(const std::string& text, const std::string& where);
// Reads the file for ParseTuningFile. Throws BadInput also if it cannot be read.
TuningFile ReadTuningFile(const std::string& path);

}  // namespace dlroof::settings
