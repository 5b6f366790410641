#include "bench/supervise/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <random>

namespace dlroof::supervise {

std::vector<bool> DrawnSides(std::size_t count, std::uint64_t seed, std::uint64_t stream) {
  std::seed_seq both{seed, seed >> 32, stream, stream >> 32};
  std::mt19937_64 engine(both);
  std::vector<bool> sides(count);
  for (std::size_t i = 0; i < count; ++i) sides[i] = (engine() >> 40) % 2 == 0;
  return sides;
}

std::string LeftText(const std::vector<double>& seconds, double left) {
  if (seconds.empty()) return {};
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const auto whole =
      static_cast<long long>(std::llround(left * sum / static_cast<double>(seconds.size())));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace dlroof::supervise
