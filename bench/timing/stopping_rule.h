// When does a benchmark have enough repetitions? Pure: no clock and no device.
#pragma once

#include <vector>

#include "reporters/record/record.h"

namespace dlroof::timing {

// A disturbed repetition is replaced. More follow until the median is known well enough, or until
// the time is up.
struct StoppingRule {
  int repetitions = 9;      // [1] undisturbed ones wanted; so many run even if the time is up
  double max_noise = 0.05;  // [1] half the width of the median's interval, of the median
  double max_seconds = 2;   // [s] of one benchmark's repetitions and of the pauses between them
};

struct NextRepetition {
  bool wanted = true;
  double pause_seconds = 0;  // [s] before it: other programs get their turn, and bursts pass
};

// The share of clean ones among the repetitions that replaced others, of all benchmarks, the latest
// twenty or so counting most: it tells if replacing helps on this machine now.
class Replacements {
 public:
  void Add(bool clean);
  // [1] Of the rule's `max_seconds`: a quarter where fewer than one in ten came out clean.
  double BudgetShare() const;

 private:
  double clean_share_ = 1;
};

// `done` have their disturbed ones marked and took `spent_seconds` [s].
NextRepetition NextAfter(const std::vector<record::Repetition>& done, double spent_seconds,
                         const StoppingRule& rule, const Replacements& replacements = {});

}  // namespace dlroof::timing
