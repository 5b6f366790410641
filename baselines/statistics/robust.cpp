#include "baselines/statistics/robust.h"

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <numeric>

#include "counters/base/numbers.h"

namespace dlroof::statistics {
namespace {

constexpr double kCut = 4;               // [standard errors] of the biweight
constexpr double kWindow = 2.5;          // [standard errors] of the central values
constexpr double kWindowSquare = 0.911;  // mean square of a normal value within kWindow
constexpr double kMinInside = 0.7;
constexpr std::size_t kMinForBiweight = 4;
constexpr int kSteps = 40;

double Total(const Estimate& one, double between) {
  return std::max(one.variance + 2 * between * between, 1e-16);
}

// The values' scatter in the window, relative to the expected one, and how many are in it.
struct Central {
  double scatter = 0, inside = 0;
};

Central CentralScatter(const std::vector<Estimate>& values, double centre, double between) {
  double squares = 0, count = 0;
  for (const auto& one : values) {
    const double distance = one.value - centre;
    const double square = distance * distance / Total(one, between);
    if (square > kWindow * kWindow) continue;
    squares += square;
    ++count;
  }
  const auto all = static_cast<double>(values.size());
  return {count > 0 ? squares / count / kWindowSquare : 0, count / std::max(all, 1.0)};
}

// Returns x with trigamma(x) = value (Newton's method, Smyth's appendix).
double InverseTrigamma(double value) {
  if (value < 1e-6) return 1 / value;
  double x = 0.5 + 1 / value;
  for (int i = 0; i < 50; ++i) {
    const double now = boost::math::trigamma(x);
    const double step = now * (1 - now / value) / boost::math::polygamma(2, x);
    x += step;
    if (-step / x < 1e-8) break;
  }
  return x;
}

}  // namespace

std::optional<Estimate> BiweightLocation(const std::vector<Estimate>& values, double between) {
  if (values.empty()) return std::nullopt;
  std::vector<double> plain;
  plain.reserve(values.size());
  double weights = 0;
  for (const auto& one : values) {
    plain.push_back(one.value);
    weights += 1 / Total(one, between);
  }
  Estimate location{Median(std::move(plain)), 1 / weights};
  if (values.size() < kMinForBiweight) return location;
  for (int step = 0; step < kSteps; ++step) {
    double sum = 0, all = 0, squares = 0, slope = 0;
    for (const auto& one : values) {
      const double total = Total(one, between);
      const double distance = one.value - location.value;
      const double share = distance * distance / total / (kCut * kCut);
      if (share >= 1) continue;
      const double weight = (1 - share) * (1 - share) / total;
      sum += weight * one.value;
      all += weight;
      squares += weight * weight * distance * distance;  // of the estimating equation
      slope += (1 - share) * (1 - 5 * share) / total;    // its derivative
    }
    if (all <= 0) break;
    const double next = sum / all;
    const bool done = std::abs(next - location.value) < 1e-9;
    location.value = next;
    // Huber's sandwich, and at least what the known errors allow.
    if (slope > 0) location.variance = std::max(squares / (slope * slope), 1 / weights);
    if (done) break;
  }
  return location;
}

std::optional<double> CentralDeviation(const std::vector<Estimate>& values, double centre) {
  constexpr double kMax = 0.5;
  const auto inside = [&](double between) {
    return CentralScatter(values, centre, between).inside >= kMinInside;
  };
  double low = 0, high = kMax;
  if (CentralScatter(values, centre, 0).scatter > 1 || !inside(0)) {
    for (int i = 0; i < kSteps; ++i) {
      const double middle = (low + high) / 2;
      const auto central = CentralScatter(values, centre, middle);
      (central.scatter <= 1 && central.inside >= kMinInside ? high : low) = middle;
    }
  } else {
    high = 0;
  }
  if (!inside(high)) return std::nullopt;
  return high;
}

SpreadPrior PriorOfSpreads(const std::vector<Spread>& spreads) {
  // Benchmarks whose noise is between 1 and 3 % have log variances that scatter by 0.4.
  constexpr double kAssumedScatter = 0.4, kAssumedCount = 5;
  std::vector<double> logs;
  double sampling = 0;
  for (const auto& [variance, degrees] : spreads) {
    if (!(variance > 0) || !(degrees > 0)) continue;
    logs.push_back(std::log(variance) - boost::math::digamma(degrees / 2) + std::log(degrees / 2));
    sampling += boost::math::trigamma(degrees / 2);
  }
  if (logs.empty()) return {};
  const auto count = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  double squares = 0;
  for (const double one : logs) squares += (one - mean) * (one - mean);
  const double own = count > 1 ? squares / (count - 1) - sampling / count : kAssumedScatter;
  const double scatter = std::max(
      (count * std::max(own, 0.0) + kAssumedCount * kAssumedScatter) / (count + kAssumedCount),
      0.01);
  const double half = InverseTrigamma(scatter);
  return {std::exp(mean + boost::math::digamma(half) - std::log(half)), 2 * half};
}

}  // namespace dlroof::statistics
