#include "baselines/network/network_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "baselines/network/allreduce.h"
#include "counters/base/order_statistics.h"
#include "reporters/text/units.h"

namespace dlroof::cluster {
namespace {

constexpr std::size_t kLeastPoints = 3;  // of a piece
constexpr std::size_t kMostPieces = 3;
constexpr double kMostResidual = 0.10;  // [1]
constexpr double kMostSpread = 0.05;    // [1]
constexpr double kLeastLatency = 1e-9;  // [s] where the line through the points has none
constexpr double kMostRate = 1e13;      // [byte/s] where larger messages take no longer

using Points = std::vector<NetworkPoint>;

double Residual(const NetworkPiece& piece, const NetworkPoint& point) {
  const double fitted = piece.latency_seconds + point.bytes / piece.bytes_per_second;
  return fitted / point.seconds - 1;
}

double SumOfResiduals(const NetworkPiece& piece, const Points& points, std::size_t begin,
                      std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += std::abs(Residual(piece, points[i]));
  return sum;
}

// Returns a line that begins at a latency above 0 and rises.
NetworkPiece LineOf(double latency, double seconds_per_byte) {
  return {std::nullopt, std::max(latency, kLeastLatency),
          1 / std::max(seconds_per_byte, 1 / kMostRate)};
}

// Returns the line of points [begin, end) with the least sum of absolute relative residuals. Sizes
// that a buffer makes faster or slower do not move it, as they would move a least squares fit. One
// of the best lines goes through two of the points, or through one with the least latency or slope.
NetworkPiece LineThrough(const Points& points, std::size_t begin, std::size_t end) {
  std::vector<NetworkPiece> lines;
  for (std::size_t i = begin; i < end; ++i) {
    lines.push_back(LineOf(points[i].seconds, 0));
    lines.push_back(LineOf(0, points[i].seconds / points[i].bytes));
    for (std::size_t j = i + 1; j < end; ++j) {
      const double slope =
          (points[j].seconds - points[i].seconds) / (points[j].bytes - points[i].bytes);
      lines.push_back(LineOf(points[i].seconds - slope * points[i].bytes, slope));
    }
  }
  return *std::ranges::min_element(lines, {}, [&](const NetworkPiece& line) {
    return SumOfResiduals(line, points, begin, end);
  });
}

struct Pieces {
  std::vector<NetworkPiece> pieces;
  double residuals = 0;  // [1] sum of absolute relative ones
  double worst = 0;      // [1]
};

// Puts a piece of the points [begin, end) before the others.
Pieces WithFirst(const Points& points, std::size_t begin, std::size_t end, Pieces rest) {
  auto piece = LineThrough(points, begin, end);
  if (end < points.size()) piece.up_to_bytes = points[end - 1].bytes;
  for (std::size_t i = begin; i < end; ++i) {
    const double residual = std::abs(Residual(piece, points[i]));
    rest.residuals += residual;
    rest.worst = std::max(rest.worst, residual);
  }
  rest.pieces.insert(rest.pieces.begin(), piece);
  return rest;
}

// Returns the best `count` pieces of the points from `begin` on, of which there are enough.
Pieces BestPieces(const Points& points, std::size_t begin, std::size_t count) {
  if (count == 1) return WithFirst(points, begin, points.size(), {});
  Pieces best;
  for (auto end = begin + kLeastPoints; end + (count - 1) * kLeastPoints <= points.size(); ++end) {
    auto tried = WithFirst(points, begin, end, BestPieces(points, end, count - 1));
    if (best.pieces.empty() || tried.residuals < best.residuals) best = std::move(tried);
  }
  return best;
}

// Returns the allreduce of the most nodes, and its largest size; null without one.
const NetworkPoint* LargestAllreduce(const MeasuredNetwork& measured) {
  if (measured.allreduce.empty() || measured.allreduce.back().points.empty()) return nullptr;
  return &measured.allreduce.back().points.back();
}

// Returns the time of the largest size over that of half of it; of the two largest without one.
double Doubling(const Points& points) {
  const auto& last = points.back();
  const auto half = std::ranges::find(points, last.bytes / 2, &NetworkPoint::bytes);
  const auto& less = half == points.end() ? points[points.size() - 2] : *half;
  return std::pow(last.seconds / less.seconds, std::log(2) / std::log(last.bytes / less.bytes));
}

std::string DoubtOf(const NetworkProof& proof) {
  if (proof.worst_residual > kMostResidual)
    return fmt::format("the fit misses the time of {} by {:.0f} %",
                       text::WithPrefix(proof.worst_bytes, "B"), 100 * proof.worst_residual);
  if (std::abs(proof.doubling / 2 - 1) > kMostResidual)
    return fmt::format("twice the bytes take {:.2f} times as long", proof.doubling);
  if (proof.spread.value_or(0) > kMostSpread)
    return fmt::format("repetitions of the largest message differ by {:.0f} %",
                       100 * *proof.spread);
  if (proof.over_bound.value_or(1) < 1 - kMostSpread)
    return fmt::format("an allreduce takes {:.2f} times what the bandwidth allows",
                       *proof.over_bound);
  return "";
}

// Returns the points by size, each the median over all pairs and directions that have it.
std::vector<NetworkPoint> TypicalPoints(const MeasuredNetwork& measured) {
  std::map<double, std::vector<const NetworkPoint*>> by_size;
  for (const auto& pair : measured.pairs)
    for (const auto& point : pair.points) by_size[point.bytes].push_back(&point);
  std::vector<NetworkPoint> typical;
  for (const auto& [bytes, points] : by_size) {
    std::vector<double> seconds, low, high;
    NetworkPoint point{.bytes = bytes};
    for (const auto* one : points) {
      seconds.push_back(one->seconds);
      low.push_back(one->ci95 ? one->ci95->first / one->seconds : 0);
      high.push_back(one->ci95 ? one->ci95->second / one->seconds : 0);
      point.repetitions += one->repetitions;
    }
    point.seconds = Median(seconds);
    if (std::ranges::none_of(low, [](double x) { return x == 0; }))
      point.ci95 = {point.seconds * Median(low), point.seconds * Median(high)};
    typical.push_back(point);
  }
  return typical;
}

}  // namespace

std::optional<std::vector<NetworkPiece>> FitPieces(const std::vector<NetworkPoint>& points) {
  if (points.size() < kLeastPoints) return std::nullopt;
  Pieces best;
  for (std::size_t count = 1; count <= kMostPieces && count * kLeastPoints <= points.size();
       ++count) {
    auto pieces = BestPieces(points, 0, count);
    if (count == 1 || pieces.residuals < best.residuals) best = std::move(pieces);
    if (best.worst <= kMostResidual) break;
  }
  return best.pieces;
}

std::optional<NetworkFit> FitNetwork(const MeasuredNetwork& measured) {
  const auto points = TypicalPoints(measured);
  const auto pieces = FitPieces(points);
  if (!pieces) return std::nullopt;
  NetworkFit fit{.network = {.name = measured.mpi, .pieces = *pieces}, .proof = {}};
  for (const auto& point : points) {
    const double residual = std::abs(MessageSeconds(fit.network, point.bytes) / point.seconds - 1);
    if (residual <= fit.proof.worst_residual) continue;
    fit.proof.worst_residual = residual;
    fit.proof.worst_bytes = point.bytes;
  }
  fit.proof.doubling = Doubling(points);
  if (const auto& ci95 = points.back().ci95)
    fit.proof.spread = (ci95->second - ci95->first) / 2 / points.back().seconds;
  if (const auto* largest = LargestAllreduce(measured)) {
    const int nodes = measured.allreduce.back().nodes;
    fit.proof.over_bound = largest->seconds / AllreduceBound(fit.network, nodes, largest->bytes);
    fit.network.allreduce_over_model =
        largest->seconds /
        AllreduceOf({.name = "", .pieces = *pieces}, std::nullopt, nodes, largest->bytes).seconds;
  }
  fit.proof.doubt = DoubtOf(fit.proof);
  return fit;
}

nlohmann::json ToJson(const Network& network) {
  nlohmann::json object = {{"pieces", nlohmann::json::array()}};
  if (!network.name.empty()) object["name"] = network.name;
  for (const auto& piece : network.pieces) {
    object["pieces"].push_back(
        {{"latency_seconds", piece.latency_seconds}, {"bytes_per_second", piece.bytes_per_second}});
    if (piece.up_to_bytes) object["pieces"].back()["up_to_bytes"] = *piece.up_to_bytes;
  }
  if (network.allreduce_over_model) object["allreduce_over_model"] = *network.allreduce_over_model;
  return object;
}

nlohmann::json ToJson(const NetworkFit& fit) {
  auto object = ToJson(fit.network);
  object["name"] = fit.network.name;
  auto& proof = object["proof"];
  proof = {{"worst_residual", fit.proof.worst_residual},
           {"doubling", fit.proof.doubling},
           {"proved", fit.proof.doubt.empty()}};
  if (fit.proof.spread) proof["spread"] = *fit.proof.spread;
  if (fit.proof.over_bound) proof["allreduce_over_bound"] = *fit.proof.over_bound;
  if (!fit.proof.doubt.empty()) proof["reason"] = fit.proof.doubt;
  return object;
}

}  // namespace dlroof::cluster
