#include "counters/base/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace dlroof {

int EditDistance(std::string_view from, std::string_view to) {
  // Rows of the distances from the first i - 2, i - 1 and i characters of `from` to all beginnings
  // of `to`.
  std::vector<int> before(to.size() + 1), last(to.size() + 1), row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (std::size_t k = 1; k <= to.size(); ++k) {
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + (from[i - 1] != to[k - 1])});
      if (i > 1 && k > 1 && from[i - 1] == to[k - 2] && from[i - 2] == to[k - 1])
        row[k] = std::min(row[k], before[k - 2] + 1);
    }
  }
  return row.back();
}

std::optional<std::string> NearestName(std::string_view name,
                                       const std::vector<std::string>& candidates) {
  std::optional<std::string> nearest;
  int least = 0;
  for (const auto& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    const auto longer = std::max(name.size(), candidate.size());
    if (distance > static_cast<int>((longer + 2) / 3) || (nearest && distance >= least)) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
}

std::string UnknownName(std::string_view kind, std::string_view name,
                        const std::optional<std::string>& nearest, std::string_view program) {
  const auto suggestion = nearest ? fmt::format("did you mean '{}'? ", *nearest) : std::string();
  return fmt::format("unknown {} '{}'; {}{} --help lists all", kind, name, suggestion, program);
}

}  // namespace dlroof
