#include "baselines/statistics/significance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace dlroof {
namespace {

constexpr double kTiny = 1e-300;

// The continued fraction of the incomplete beta function, evaluated by Lentz's method.
double BetaFraction(double a, double b, double x) {
  double c = 1, d = 1 / std::max(1 - (a + b) * x / (a + 1), kTiny), value = d;
  const auto step = [&](double coefficient) {
    d = 1 + coefficient * d;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = 1 + coefficient / c;
    if (std::abs(c) < kTiny) c = kTiny;
    value *= c * d;
    return std::abs(c * d - 1);
  };
  for (int k = 1; k < 1000; ++k) {
    step(k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)));
    if (step(-(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))) < 1e-14) break;
  }
  return value;
}

// I_x(a, b); `y` is 1 - x, which may be too small to be recovered from x.
double IncompleteBeta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  // The fraction converges fast below the mean of the distribution.
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, y) / b;
}

// Solves tail(t) = probability for a tail that falls from 1 at t = 0.
template <class Tail>
double Solve(const Tail& tail, double probability) {
  double low = 0, high = 1;
  while (tail(high) > probability) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (tail(middle) > probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double NormalTail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

double NormalQuantile(double probability) {
  if (probability < 0.5) return -NormalQuantile(1 - probability);
  if (probability == 0.5) return 0;
  return Solve([](double z) { return 2 * NormalTail(z); }, 2 * (1 - probability));
}

double StudentTwoSided(double t, double degrees) {
  const double square = t * t, sum = degrees + square;
  if (std::isinf(square)) return 0;
  return IncompleteBeta(degrees / 2, 0.5, degrees / sum, square / sum);
}

double StudentQuantile95(double degrees) {
  constexpr std::size_t kMost = 200;
  // From 200 on it is that of the normal distribution to half a percent.
  static const auto known = [] {
    std::array<double, kMost + 1> table = {};
    for (std::size_t i = 1; i <= kMost; ++i)
      table.at(i) =
          Solve([&](double t) { return StudentTwoSided(t, static_cast<double>(i)); }, 0.05);
    return table;
  }();
  return known.at(static_cast<std::size_t>(std::clamp(degrees, 1.0, static_cast<double>(kMost))));
}

std::vector<double> AdjustedPValues(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  const auto count = static_cast<double>(p_values.size());
  double least = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    least = std::min(least, p_values[order[rank - 1]] * count / static_cast<double>(rank));
    adjusted[order[rank - 1]] = least;
  }
  return adjusted;
}

}  // namespace dlroof
