// The blocks of one tuning in their order: measured now, or recorded before an interrupt.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "baselines/tune/tune.h"

namespace dlroof {

// Thrown through the search: the user asked for an end.
struct TuningInterrupted {};
// Thrown through the search: no more can be learnt.
struct TuningFailed {
  std::string reason;
  bool unsupported = false;
};

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

}  // namespace dlroof
