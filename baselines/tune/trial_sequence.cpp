#include "baselines/tune/trial_sequence.h"

#include <fmt/format.h>

namespace dlroof {

void TrialSequence::Say(const std::string& sentence) const {
  if (hooks_.say) hooks_.say(sentence);
}

const TrialBlock& TrialSequence::Measure(const std::string& stage,
                                         const std::vector<Setting>& settings) {
  auto& blocks = tuning_.blocks;
  if (next_ < blocks.size() &&
      (blocks[next_].stage != stage || blocks[next_].settings != settings)) {
    Say(fmt::format("{} recorded blocks are of another course of the search: measured again",
                    blocks.size() - next_));
    blocks.resize(next_);
  }
  if (next_ == blocks.size()) {
    TrialBlock block{stage, settings, {}, 0};
    if (!hooks_.measure(block, tuning_.plan.seed + 1009 * next_)) throw TuningInterrupted{};
    blocks.push_back(std::move(block));
    if (hooks_.save) hooks_.save(tuning_);
  }
  seconds_ += blocks[next_].seconds;
  return blocks[next_++];
}

}  // namespace dlroof
