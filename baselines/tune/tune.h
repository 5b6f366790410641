// The tuner's engine: from a program's default to its best setting, by trials. It knows no program.
//
// Coordinates are tried one after the other, from the best setting so far (coordinate descent), and
// again while another one changed since. Choices of one coordinate are halved (successive halving,
// Jamieson and Talwalkar, AISTATS 2016): all get two blocks by turns with the best so far, then the
// better half twice as many, until one is left. It becomes a step if it is still faster.
//
// The search takes the best of many, so its ratios flatter. None of them is reported as a gain:
// default, steps and best are measured again in fresh blocks, by the rule of interleaved
// comparisons (sequential.h). All statements of one confirmation share its error (Bonferroni). A
// step that is not confirmed is dropped, and the rest confirmed once more with half of the error
// that is left, so that all false gains together stay below 5 % of tunings.
#pragma once

#include <functional>
#include <iosfwd>

#include "baselines/tune/tuning.h"

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

}  // namespace dlroof::tuning
