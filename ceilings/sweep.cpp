#include "ceilings/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "ceilings/working_sets.h"

namespace dlroof {
namespace {

constexpr double kSmallest = 4096;  // [byte]
constexpr int kPerOctave = 4;
constexpr double kStepFalls = 0.03, kEdgeFalls = 0.12;  // [1] of the rate
constexpr std::size_t kLevelPoints = 4;                 // of a curve, at about the same rate
constexpr double kPartOfFall = 0.25;                    // where in the fall the level ends
constexpr double kAgreeFactor = 1.5, kNearFactor = 4;

// Logarithms of the rates, each raised to that of every larger working set.
std::vector<double> Envelope(const std::vector<SweepPoint>& curve) {
  std::vector<double> rates;
  rates.reserve(curve.size());
  for (const auto& point : curve) rates.push_back(std::log(point.per_second));
  for (std::size_t i = rates.size(); i-- > 1;) rates[i - 1] = std::max(rates[i - 1], rates[i]);
  return rates;
}

// A run of falling steps, from point `first` to point `last`.
struct Fall {
  std::size_t first, last;
};

double Step(const std::vector<double>& rates, std::size_t i) { return rates[i] - rates[i + 1]; }

// Falls that no level lies between are one.
std::vector<Fall> Falls(const std::vector<double>& rates) {
  const double least = -std::log(1 - kStepFalls);
  std::vector<Fall> falls;
  for (std::size_t i = 0; i + 1 < rates.size(); ++i) {
    if (Step(rates, i) < least) continue;
    if (!falls.empty() && i - falls.back().last + 1 < kLevelPoints)
      falls.back().last = i + 1;
    else
      falls.push_back({i, i + 1});
  }
  return falls;
}

CapacityEdge EdgeOf(const std::vector<SweepPoint>& curve, const std::vector<double>& rates,
                    const Fall& fall) {
  const double wanted = rates[fall.first] - kPartOfFall * (rates[fall.first] - rates[fall.last]);
  std::size_t i = fall.first;
  while (rates[i + 1] > wanted) ++i;
  const double part = (rates[i] - wanted) / Step(rates, i);
  const double ratio = curve[i + 1].bytes / curve[i].bytes;
  return {curve[i].bytes * std::pow(ratio, part), std::exp(rates[fall.first]),
          std::exp(rates[fall.last])};
}

double Apart(double left, double right) { return std::max(left / right, right / left); }

}  // namespace

std::vector<double> SweepSizes(double largest_bytes) {
  std::vector<double> sizes;
  for (int i = 0;; ++i) {
    // Whole KiB, so that small sets are whole steps of the kernels.
    const double bytes = kSmallest * std::exp2(static_cast<double>(i) / kPerOctave);
    const double whole = std::round(bytes / 1024) * 1024;
    if (whole > largest_bytes) return sizes;
    sizes.push_back(whole);
  }
}

std::vector<CapacityEdge> FindCapacityEdges(const std::vector<SweepPoint>& curve) {
  const auto rates = Envelope(curve);
  std::vector<CapacityEdge> edges;
  for (const auto& fall : Falls(rates))
    if (rates[fall.first] - rates[fall.last] >= -std::log(1 - kEdgeFalls) &&
        rates.size() - fall.last >= kLevelPoints)
      edges.push_back(EdgeOf(curve, rates, fall));
  return edges;
}

std::string EdgeSentence(const std::vector<CapacityEdge>& edges, double share_bytes) {
  const auto nearest =
      std::min_element(edges.begin(), edges.end(), [&](const auto& left, const auto& right) {
        return Apart(left.bytes, share_bytes) < Apart(right.bytes, share_bytes);
      });
  if (nearest == edges.end() || Apart(nearest->bytes, share_bytes) > kNearFactor)
    return fmt::format("the curve does not fall near {}, which hwloc says: they disagree",
                       SizeText(share_bytes));
  return fmt::format("the curve falls at {}, from {:.3g} to {:.3g} GB/s; hwloc says {}: they {}",
                     SizeText(nearest->bytes), nearest->before / 1e9, nearest->after / 1e9,
                     SizeText(share_bytes),
                     Apart(nearest->bytes, share_bytes) <= kAgreeFactor ? "agree" : "disagree");
}

}  // namespace dlroof
