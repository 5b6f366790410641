// The data of a tuning (settings of a program, the plan of choices to try, measured blocks,
// results) and the file of tunings, which is saved after every block. Pure, except ReadTuningFile.
#pragma once

#include <cstddef>
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
#include "counters/base/keys.h"
#include "reporters/record/record.h"

namespace dlroof::settings {

// Values of a program's knobs, e.g. {"OMP_WAIT_POLICY": "active"}. Missing knobs have defaults.
using Setting = std::map<std::string, std::string>;

// Returns e.g. "OMP_WAIT_POLICY=active, threads=1", or "default" for an empty setting.
std::string SettingText(const Setting& setting);

struct Choice {
  Setting values;      // of the coordinate's knobs; missing knobs have their defaults
  std::string reason;  // why it may be faster, shown to users

  bool operator==(const Choice&) const = default;
};

// Knobs that are chosen together, because the best value of one depends on the others.
struct Coordinate {
  std::string name;             // e.g. "threads"
  std::vector<Choice> choices;  // all different; the default is not among them

  bool operator==(const Coordinate&) const = default;
};

// Returns the setting with the coordinate's knobs replaced by `values`.
Setting With(Setting setting, const Coordinate& coordinate, const Setting& values);
// Returns the part of `setting` with the coordinate's knobs.
Setting PartOf(const Setting& setting, const Coordinate& coordinate);

// Returns all combinations of both coordinates' choices and defaults, except default with default.
Coordinate Crossed(const Coordinate& inner, const Coordinate& other);

// The times of one setting in one block.
struct TrialResult {
  std::vector<record::Repetition>
      windows;  // in measuring order; the same number for each setting of the block
  std::optional<Reason> failure;  // set if the program crashed, hung or printed no result
  bool unsupported = false;       // failed because this machine cannot run it
};

// Prefix of TrialBlock::stage in blocks that confirm steps.
inline constexpr std::string_view kConfirmationStage = "confirmation";

// Settings measured interleaved, each in new processes.
struct TrialBlock {
  std::string stage;                 // e.g. "threads" (a coordinate) or "confirmation 1"
  std::vector<Setting> settings;     // in a search the first is the best setting so far
  std::vector<TrialResult> results;  // one per setting
  double seconds = 0;                // [s] duration
};

// Measures the block's settings interleaved, in a random order from `seed`, and sets `results` and
// `seconds`. Returns false if the user interrupted it: the block is then invalid.
using MeasureBlock = std::function<bool(TrialBlock& block, std::uint64_t seed)>;

// Returns the times [s] of the clean windows, or of all windows if fewer than half are clean.
std::vector<double> TimesOf(const TrialResult& result);

// Returns log(time of setting `contender` / time of setting `base`) by BlockLogRatios, or nullopt
// if a setting failed. Both are indices into the block.
std::optional<double> LogRatio(const TrialBlock& block, std::size_t contender,
                               std::size_t base = 0);

struct TuningPlan {
  std::string subject;                  // name of the tuned benchmark
  std::vector<Coordinate> coordinates;  // in the order of the search
  double budget_seconds = 120;          // [s] no block starts once the blocks took this long
  double min_effect = 0.02;             // [1] relative gains below this are ignored
  std::uint64_t seed = 1;               // for the random order within blocks
  std::size_t together = 6;             // [1] maximum number of settings in one block of the search

  // Returns whether a GPU runs the benchmark. GPU times hardly differ between processes, so on a
  // GPU one block selects the fastest choice, and two new blocks confirm it.
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
inline constexpr KeyRow<TuningState> kTuningStates[] = {
    {TuningState::kUnfinished, "unfinished"},      {TuningState::kNothingWon, "nothing_won"},
    {TuningState::kNotConfirmed, "not_confirmed"}, {TuningState::kConfirmed, "confirmed"},
    {TuningState::kUnsupported, "unsupported"},    {TuningState::kFailed, "failed"}};
inline std::string_view Key(TuningState state) { return KeyIn(kTuningStates, state); }

// [1] Number of repetitions in some blocks, and of those that other programs disturbed (noisy).
struct Repetitions {
  std::size_t all = 0, noisy = 0;

  bool AreMostlyNoisy() const { return 2 * noisy > all; }
};
// Counts the repetitions of the blocks whose stage begins with `stage`.
Repetitions CountRepetitions(const std::vector<TrialBlock>& blocks, std::string_view stage);

// Ratio of the times of two settings, measured in blocks after the search.
struct Effect {
  double ratio = 1;  // [1] time with the later setting / time with the earlier setting
  // [1] of `ratio`: at 95 % for all effects of a tuning together; on a GPU the range of the blocks
  std::pair<double, double> interval;
  int blocks = 0;  // [1]
  // The interval excludes 1, the gain is above min_effect, at most half of the repetitions noisy.
  bool confirmed = false;
  Repetitions repetitions = {};  // of all blocks; 0 in older files
};

// Returns the effect as text, e.g. "1.23x as fast (1.190x to 1.270x)"; if most of its repetitions
// are noisy, adds this and that the user should measure on a quiet machine.
std::string EffectText(const Effect& effect);

// An accepted change of one coordinate, on the way from the default to the best setting.
struct TuningStep {
  std::string coordinate;
  Setting values;                // new values of the coordinate's knobs
  std::string reason;            // of the choice
  std::optional<Effect> effect;  // relative to the previous step, if measured
};

// A tried choice that did not become a step, and the reason.
struct TriedChoice {
  std::string coordinate;
  Setting values;
  int blocks = 0;  // [1] blocks that gave a ratio
  // [1] Time / time of `reference`. Only for display: it is biased, because the search selects low
  // ratios. nullopt if a trial failed, and for fewer than two blocks (on a GPU: one).
  std::optional<double> ratio;
  bool failed = false;  // a trial failed; `verdict` contains the reason
  // e.g. "slower", "no effect", "seems faster, not confirmed: ...", "not faster than threads=1",
  // "no effect on top of threads=1", "failed: ..."
  std::string verdict;
  std::optional<Setting> reference = {};  // best setting at that time; not in older files
};

struct Tuning {
  TuningPlan plan;
  std::vector<TrialBlock> blocks;  // all measured blocks, in order
  TuningState state = TuningState::kUnfinished;
  std::string reason;              // explains kNotConfirmed, kUnsupported and kFailed
  Setting best;                    // confirmed to be faster if state is kConfirmed
  std::vector<TuningStep> steps;   // from the default to `best`
  std::optional<Effect> total;     // `best` relative to the default, from new blocks
  std::optional<Effect> verified;  // `best` relative to the default, by Verify
  std::vector<TriedChoice> tried;
  std::vector<std::string> dropped;       // unconfirmed steps, as text
  std::optional<double> default_seconds;  // [s] median of the default's windows
  bool budget_spent = false;
};

// Counts the repetitions of the confirmation. If most are noisy, changes the state kConfirmed to
// kNotConfirmed: the gain (still in `total`) may exist only beside the other programs that ran.
void JudgeNoise(Tuning& tuning);

// Returns the total duration of all blocks [s].
double SecondsOf(const Tuning& tuning);

struct TuningFile {
  nlohmann::json about;         // the command and its flags
  std::vector<Tuning> tunings;  // the last may be unfinished
};

nlohmann::json ToJson(const Tuning& tuning);
nlohmann::json ToJson(const TuningFile& file);

// Reads what ToJson writes for a TuningFile. Throws BadInput with `where` and the JSON member for a
// malformed file, an unknown version, and a tuning of an arbitrary program, as written by dlroof 1.
TuningFile ParseTuningFile(const std::string& text, const std::string& where);
// Reads a file by ParseTuningFile. Throws BadInput also if the file cannot be read.
TuningFile ReadTuningFile(const std::string& path);

// The tuner: finds the fastest setting of a program by trials that start from its default. It runs
// the program only through TuneHooks::measure.
//
// A survey measures every choice of every coordinate (group of knobs) against the default in one
// block, then in a second block, so that a small budget tries everything once. Then the coordinates
// are searched one after another, the most promising first, each starting from the best setting so
// far (coordinate descent), and again if another coordinate has changed since. The choices of a
// coordinate are selected by successive halving (Jamieson and Talwalkar, AISTATS 2016): all are
// measured in two blocks, interleaved with the best setting so far, then the better half in twice
// as many, until one choice is left. If it is faster, it becomes a step (an accepted change). No
// choice is judged by a single block.
//
// The search selects the best of many choices, so its ratios are biased and are not reported as
// gains. The default, the steps and the best setting are measured again in new blocks, with the
// stopping rule of interleaved comparisons (shift.h). All tests of one confirmation share its error
// (Bonferroni). Steps that are not confirmed are dropped and the others are confirmed once more
// with half of the remaining error, so that fewer than 5 % of tunings report a false gain. On a GPU
// (TuningPlan::OnGpu) the fastest choice of one block becomes a step if two new blocks confirm it.

struct TuneHooks {
  MeasureBlock measure;
  std::function<void(const Tuning&)> save = {};      // called after each block
  std::function<void(const std::string&)> say = {};  // prints a progress message
};

// Tunes by `plan`. Reuses `recorded`, the blocks of an interrupted tuning of the same plan, as long
// as the search asks for the same blocks. If settings fail or the user interrupts, does not throw
// but returns a tuning with this state.
Tuning Tune(const TuningPlan& plan, std::vector<TrialBlock> recorded, const TuneHooks& hooks);

// Measures the best setting against the default once more, in new blocks. Returns nullopt and sets
// `reason` if the user interrupted it, a setting failed, or the budget allowed too few blocks.
std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks,
                             std::optional<Reason>& reason);

// Thrown when the user interrupts the tuning.
struct TuningInterrupted {};
// Thrown when the search or the confirmation cannot continue, because the default failed.
struct TuningFailed {
  std::string reason;
  bool unsupported = false;
};

// The blocks of one tuning in order: first those recorded before an interrupt, then measured ones.
class TrialSequence {
 public:
  // `tuning` contains the recorded blocks; new blocks are appended. Both must outlive this object.
  TrialSequence(Tuning& tuning, const TuneHooks& hooks) : tuning_(tuning), hooks_(hooks) {}

  // Returns the next recorded block if it has this stage and these settings. Otherwise discards
  // this and all later recorded blocks and measures a block. The reference is valid until the next
  // call. Throws TuningInterrupted.
  const TrialBlock& Measure(const std::string& stage, const std::vector<Setting>& settings);

  // Returns the total duration of the blocks so far [s].
  double seconds() const { return seconds_; }
  void Say(const std::string& sentence) const;

 private:
  Tuning& tuning_;
  const TuneHooks& hooks_;
  std::size_t next_ = 0;
  double seconds_ = 0;
};

// Searches the coordinates one by one, with successive halving of each one's choices. Sets `best`,
// `steps` (without effects) and `tried`. Stops when the budget is spent or, if there is a step to
// confirm, 60 % of it. Throws TuningInterrupted, and TuningFailed if the default has no time.
void Search(TrialSequence& trials, Tuning& tuning);

}  // namespace dlroof::settings
