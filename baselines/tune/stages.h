// The stages of a tuning, search and proof, and the blocks that they measure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "baselines/tune/tune.h"

namespace dlroof::tuning {

// Thrown through the search: the user asked for an end.
struct TuningInterrupted {};
// Thrown through the search: no more can be learnt.
struct TuningFailed {
  std::string reason;
  bool unsupported = false;
};

// The blocks of one tuning in their order: measured now, or recorded before an interrupt.
class TrialSequence {
 public:
  // `tuning` holds the recorded blocks and gets the new ones; both must outlive this.
  TrialSequence(Tuning& tuning, const TuneHooks& hooks) : tuning_(tuning), hooks_(hooks) {}

  // Returns the next block of these settings; the reference lasts until the next call. Recorded
  // blocks that do not fit end here: the rest is measured again. Throws TuningInterrupted.
  const TrialBlock& Measure(const std::string& stage, const std::vector<Setting>& settings);

  // [s] of the blocks so far.
  double seconds() const { return seconds_; }
  void Say(const std::string& sentence) const;

 private:
  Tuning& tuning_;
  const TuneHooks& hooks_;
  std::size_t next_ = 0;
  double seconds_ = 0;
};

// The search: coordinates one by one, the choices of each by successive halving. Sets `best`,
// `steps` (without effects) and `tried`. Ends early where its share of the budget is spent. Throws
// TuningInterrupted, and TuningFailed where the setting to beat has no time.
void Search(TrialSequence& trials, Tuning& tuning);

// The proof: measures the default, each step and the best by turns, in fresh blocks. Sets effects,
// total, state, reason, `dropped`, and leaves in `steps` and `best` what is confirmed. Throws as
// Search does.
void Confirm(TrialSequence& trials, Tuning& tuning);

// Returns the effect of the second setting against the first. Absent: too few clean blocks within
// the plan's budget. Throws as Search does.
std::optional<Effect> EffectBetween(TrialSequence& trials, const TuningPlan& plan,
                                    const std::string& stage, const Setting& before,
                                    const Setting& after);

}  // namespace dlroof::tuning
