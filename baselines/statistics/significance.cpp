#include "baselines/statistics/significance.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace dlroof::statistics {

using boost::math::cdf, boost::math::complement, boost::math::quantile;
using boost::math::normal, boost::math::students_t;

double NormalTail(double z) { return cdf(complement(normal(), z)); }

double NormalQuantile(double probability) { return quantile(normal(), probability); }

double StudentTwoSided(double t, double degrees) {
  return 2 * cdf(complement(students_t(degrees), std::abs(t)));
}

double StudentQuantile95(double degrees) {
  // From 200 degrees on the quantile is the normal distribution's to half a percent.
  return quantile(complement(students_t(std::floor(std::clamp(degrees, 1.0, 200.0))), 0.025));
}

std::vector<double> AdjustedPValues(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  const auto count = static_cast<double>(p_values.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    least = std::min(least, p_values[order[rank - 1]] * count / static_cast<double>(rank));
    adjusted[order[rank - 1]] = least;
  }
  return adjusted;
}

}  // namespace dlroof::statistics
