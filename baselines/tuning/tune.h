// The tuner's engine: from a program's default to its best setting, by trials. It is independent of
// the program.
//
// Coordinates are tried one after the other, from the best setting so far (coordinate descent), and
// again when another one has changed since. Choices of one coordinate are halved (successive
// halving, Jamieson and Talwalkar, AISTATS 2016): all get two blocks interleaved with the best so
// far, then the better half twice as many, until one is left. It becomes a step if it is still
// faster.
//
// The search takes the best of many, so its ratios are biased and none is reported as a gain.
// Default, steps and best are measured again in new blocks, by the rule of interleaved comparisons
// (judge.h). All statements of one confirmation share its error (Bonferroni). A step that is not
// confirmed is dropped, and the rest is confirmed once more with half of the remaining error, so
// that fewer than 5 % of tunings report a false gain.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "baselines/tuning/tuning.h"

namespace dlroof::tuning {

// [1] of the budget; the rest is for the confirmation.
inline constexpr double kSearchShare = 0.6;

struct TuneHooks {
  MeasureBlock measure;
  std::function<void(const Tuning&)> save = {};      // called after each block
  std::function<void(const std::string&)> say = {};  // gets progress messages
};

// Continues from `recorded`, blocks of the same plan, which are reused as long as the search asks
// for the same ones. Does not throw for a setting that fails. The state is kUnfinished after an
// interrupt.
Tuning Tune(const TuningPlan& plan, std::vector<TrialBlock> recorded, const TuneHooks& hooks);

// Measures the best setting of a tuning against its default once more, in new blocks. Without an
// effect `reason` says why: it was interrupted, a setting has no time, too few blocks were clean.
std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks,
                             std::optional<Reason>& reason);

// Thrown through the search when the user interrupts it.
struct TuningInterrupted {};
// Thrown through the search when it cannot go on.
struct TuningFailed {
  std::string reason;
  bool unsupported = false;
};

// The blocks of one tuning in their order: measured now, or recorded before an interrupt.
class TrialSequence {
 public:
  // `tuning` holds the recorded blocks and gets the new ones; both must outlive this.
  TrialSequence(Tuning& tuning, const TuneHooks& hooks) : tuning_(tuning), hooks_(hooks) {}

  // Returns the next block, of these settings; the reference is valid until the next call. From the
  // first recorded block that does not fit, all are measured again. Throws TuningInterrupted.
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
// `steps` (without effects) and `tried`. Ends early when its share of the budget is spent. Throws
// TuningInterrupted, and TuningFailed if the best setting so far has no time.
void Search(TrialSequence& trials, Tuning& tuning);

// Confirms the search: measures the default, each step and the best interleaved, in new blocks.
// Sets effects, total, state, reason and `dropped`; `steps` and `best` become the confirmed ones.
// Throws like Search.
void Confirm(TrialSequence& trials, Tuning& tuning);

// Returns the effect of setting `after` against `before`, unless too few blocks are clean within
// the plan's budget. Throws like Search.
std::optional<Effect> EffectBetween(TrialSequence& trials, const TuningPlan& plan,
                                    const std::string& stage, const Setting& before,
                                    const Setting& after);

}  // namespace dlroof::tuning
