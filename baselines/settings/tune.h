// The tuner: searches a program's fastest setting by trials, starting from its default setting. It
// is independent of the program.
//
// A survey measures all choices of all coordinates (groups of knobs) against the default, each
// coordinate in one block, then each in another one, so that a small budget tries everything once.
// Then the coordinates are searched one after the other, the one that promises most first, starting
// from the best setting so far (coordinate descent), and again if another coordinate has changed
// since. The choices of a coordinate are halved (successive halving, Jamieson and Talwalkar,
// AISTATS 2016): all are measured in two blocks interleaved with the best setting so far, then the
// better half in twice as many, until one choice is left. It becomes a step (accepted change) if it
// is faster. No choice is judged by one block.
//
// The search selects the best of many, so its ratios are biased and not reported as gains. Default,
// steps and best are measured again in new blocks, with the stopping rule of interleaved
// comparisons (judge.h). All tests of one confirmation share its error (Bonferroni). Steps that are
// not confirmed are dropped, and the others are confirmed once more with half of the remaining
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
  std::function<void(const std::string&)> say = {};  // gets progress messages
};

// Tunes by `plan`. Reuses `recorded`, the blocks of an interrupted tuning of the same plan, as long
// as the search needs the same blocks. Does not throw for a setting that fails. The state is
// kUnfinished after an interrupt.
Tuning Tune(const TuningPlan& plan, std::vector<TrialBlock> recorded, const TuneHooks& hooks);

// Measures the best setting of a tuning against its default once more, in new blocks. If it returns
// nothing, `reason` is set: interrupted, a setting has no time, or too few blocks were clean.
std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks,
                             std::optional<Reason>& reason);

// Thrown when the user interrupts the tuning.
struct TuningInterrupted {};
// Thrown when the search cannot continue.
struct TuningFailed {
  std::string reason;
  bool unsupported = false;
};

// The blocks of one tuning in their order: measured now, or recorded before an interrupt.
class TrialSequence {
 public:
  // `tuning` has the recorded blocks; new ones are appended. Both must outlive the sequence.
  TrialSequence(Tuning& tuning, const TuneHooks& hooks) : tuning_(tuning), hooks_(hooks) {}

  // Returns the next block with these settings: recorded if it fits, else measured, as are all
  // blocks after it. The reference is valid until the next call. Throws TuningInterrupted.
  const TrialBlock& Measure(const std::string& stage, const std::vector<Setting>& settings);

  // Returns the duration of the blocks so far [s].
  double seconds() const { return seconds_; }
  void Say(const std::string& sentence) const;

 private:
  Tuning& tuning_;
  const TuneHooks& hooks_;
  std::size_t next_ = 0;
  double seconds_ = 0;
};

// Searches the coordinates one by one, the choices of each by successive halving. Sets `best`,
// `steps` (without effects) and `tried`. Ends early when 60 % of the budget are spent; the rest is
// for the confirmation.
// Throws TuningInterrupted, and TuningFailed if the best setting so far has no time.
void Search(TrialSequence& trials, Tuning& tuning);

}  // namespace dlroof::settings
