// The tuner: finds a program's fastest setting by trials, starting from its default setting. Knows
// nothing about the program itself.
//
// A survey first measures every choice of every coordinate (group of knobs) against the default in
// one block, then all of them in a second block, so that a small budget tries everything once. Then
// the coordinates are searched one after another, the most promising first, each starting from the
// best setting so far (coordinate descent), and again if another coordinate has changed since. The
// choices of a coordinate are selected by successive halving (Jamieson and Talwalkar, AISTATS
// 2016): all are measured in two blocks, interleaved with the best setting so far, then the better
// half in twice as many, until one choice is left. If it is faster, it becomes a step (an accepted
// change). No choice is judged by a single block.
//
// The search selects the best of many, so its ratios are biased and not reported as gains. Default,
// steps and best setting are measured again in new blocks, with the stopping rule of interleaved
// comparisons (shift.h). All tests of one confirmation share its error (Bonferroni). Steps that are
// not confirmed are dropped and the others are confirmed once more with half of the remaining
// error, so that fewer than 5 % of tunings report a false gain. On a GPU (TuningPlan::OnGpu) the
// fastest choice of one block becomes a step if two new blocks confirm it.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "baselines/settings/tuning.h"

namespace dlroof::settings {

struct TuneHooks {
  MeasureBlock measure;
  std::function<void(const Tuning&)> save = {};      // called after each block
  std::function<void(const std::string&)> say = {};  // prints a progress message
};

// Tunes by `plan`. Reuses `recorded`, the blocks of an interrupted tuning of the same plan, while
// the search asks for the same blocks. Settings that fail do not throw. After an interrupt the
// state is kUnfinished.
Tuning Tune(const TuningPlan& plan, std::vector<TrialBlock> recorded, const TuneHooks& hooks);

// Measures the best setting against the default once more, in new blocks. Returns nullopt and sets
// `reason` if interrupted, a setting has no time, or too few blocks are clean.
std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks,
                             std::optional<Reason>& reason);

// Thrown when the user interrupts the tuning.
struct TuningInterrupted {};
// Thrown when the search cannot continue.
struct TuningFailed {
  std::string reason;
  bool unsupported = false;
};

// The blocks of one tuning in order: recorded before an interrupt, or measured now.
class TrialSequence {
 public:
  // `tuning` contains the recorded blocks; new blocks are appended. Both must outlive this object.
  TrialSequence(Tuning& tuning, const TuneHooks& hooks) : tuning_(tuning), hooks_(hooks) {}

  // Returns the next recorded block if it has these settings; otherwise measures it and all later
  // ones. The reference is valid until the next call. Throws TuningInterrupted.
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

// Searches the coordinates one by one, with successive halving of the choices of each. Sets `best`,
// `steps` (without effects) and `tried`. Stops when 60 % of the budget are spent; the rest is for
// the confirmation. Throws TuningInterrupted, and TuningFailed if the default has no time.
void Search(TrialSequence& trials, Tuning& tuning);

}  // namespace dlroof::settings
