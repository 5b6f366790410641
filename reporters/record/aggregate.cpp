#include "reporters/record/aggregate.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>

namespace dlroof::record {
namespace {

constexpr int kMinRepetitions = 3;  // the deviation of two is hardly known

}  // namespace

std::optional<double> RelativeError(const AggregateTime& aggregate) {
  if (!aggregate.deviation || aggregate.repetitions.value_or(0) < kMinRepetitions)
    return std::nullopt;
  const double of_mean = *aggregate.deviation / std::sqrt(*aggregate.repetitions);
  return aggregate.statistic == "median" ? of_mean * std::sqrt(std::numbers::pi / 2) : of_mean;
}

std::optional<Timing> TimingOfAggregate(const std::vector<Repetition>& repetitions) {
  if (repetitions.size() != 1 || repetitions.front().aggregate == nullptr) return std::nullopt;
  const auto& [seconds, aggregate] =
      std::pair(repetitions.front().seconds, *repetitions.front().aggregate);
  Timing timing{.median = seconds, .clean = aggregate.repetitions.value_or(1)};
  if (const auto error = RelativeError(aggregate)) {
    const boost::math::students_t student(*aggregate.repetitions - 1);
    const double half = quantile(complement(student, 0.025)) * *error;
    timing.ci95 = {seconds * std::max(0.0, 1 - half), seconds * (1 + half)};
  }
  return timing;
}

}  // namespace dlroof::record
