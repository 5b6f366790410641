#include "bench/runner/timer.h"

#include <algorithm>
#include <cmath>

namespace dlroof::runner {
namespace {

constexpr double kFirstPause = 2e-3, kMaxPause = 0.1;  // [s]

bool IsKnownWell(const std::vector<record::Repetition>& done, const StoppingRule& rule) {
  const auto timing = record::Summarize(done);
  if (!timing || timing->clean < rule.repetitions) return false;
  if (!timing->ci95 || !(timing->median > 0))
    return true;  // too few repetitions for a confidence interval
  return (timing->ci95->second - timing->ci95->first) / 2 <= rule.max_noise * timing->median;
}

}  // namespace

NextRepetition NextAfter(const std::vector<record::Repetition>& done, double spent_seconds,
                         const StoppingRule& rule) {
  const bool enough = done.size() >= static_cast<std::size_t>(rule.repetitions);
  if (enough && (spent_seconds >= rule.max_seconds || IsKnownWell(done, rule))) return {false, 0};
  const auto last_clean = std::find_if(done.rbegin(), done.rend(),
                                       [](const auto& repetition) { return !repetition.noisy; });
  const auto in_a_row = std::distance(done.rbegin(), last_clean);
  if (in_a_row == 0) return {true, 0};
  const double doubled = kFirstPause * std::exp2(static_cast<double>(in_a_row - 1));
  return {true, std::min(doubled, kMaxPause)};
}

}  // namespace dlroof::runner
