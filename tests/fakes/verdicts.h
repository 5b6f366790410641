// Comparisons in tests: the question and the answer.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "baselines/compare/compare.h"

namespace dlroof::fakes {

// Noise that is known keeps single benchmarks apart from what other tests look at.
inline compare::CompareOptions Options(double min_effect = 0.03) {
  return compare::CompareOptions{.min_effect = min_effect, .run_noise = 0.003};
}

// One word per row; what is gone begins with "-".
inline std::vector<std::string> Verdicts(const compare::CompareResult& result) {
  std::vector<std::string> verdicts;
  for (const auto& row : result.rows)
    verdicts.push_back(
        fmt::format("{}{}", row.contender == nullptr ? "-" : "", statistics::Key(row.verdict)));
  return verdicts;
}

}  // namespace dlroof::fakes
