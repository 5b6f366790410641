// The tuner's engine: from a program's default to its best setting, by trials. It knows no program.
//
// Coordinates are tried one after the other, from the best setting so far (coordinate descent), and
// again while another one changed since. Choices of one coordinate are halved (successive halving,
// Jamieson and Talwalkar, AISTATS 2016): all get two blocks interleaved with the best so far, then
// the better half twice as many, until one is left. It becomes a step if it is still faster.
//
// The search takes the best of many, so its ratios flatter. None of them is reported as a gain:
// default, steps and best are measured again in fresh blocks, by the rule of interleaved
// comparisons (sequential.h). All statements of one confirmation share its error (Bonferroni). A
// step that is not confirmed is dropped, and the rest confirmed once more with half of the error
// that is left, so that all false gains together stay below 5 % of tunings.
//
// The stages of a tuning, search and proof, and the blocks that they measure.
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
  std::function<void(const Tuning&)> save = {};      // after each block
  std::function<void(const std::string&)> say = {};  // progress, a sentence
};

// Continues from `recorded`, blocks of the same plan: they are not measured again where the search
// asks for the same ones. Never throws for a setting that fails. The state is kUnfinished after an
// interrupt.
Tuning Tune(const TuningPlan& plan, std::vector<TrialBlock> recorded, const TuneHooks& hooks);

// Measures the best setting of a tuning against its default once more, in fresh blocks. Absent: it
// was interrupted, one of the two has no time, or too few blocks were clean (`why`).
std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks, std::string& why);

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

// The proof: measures the default, each step and the best interleaved, in fresh blocks. Sets
// effects, total, state, reason, `dropped`, and leaves in `steps` and `best` what is confirmed.
// Throws as Search does.
void Confirm(TrialSequence& trials, Tuning& tuning);

// Returns the effect of the second setting against the first. Absent: too few clean blocks within
// the plan's budget. Throws as Search does.
std::optional<Effect> EffectBetween(TrialSequence& trials, const TuningPlan& plan,
                                    const std::string& stage, const Setting& before,
                                    const Setting& after);

}  // namespace dlroof::tuning
