#include "baselines/network/network_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "baselines/network/allreduce.h"
#include "counters/base/order_statistics.h"

namespace dlroof {
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

// Returns the line through points [begin, end) with the least sum of squared relative residuals.
NetworkPiece LineThrough(const Points& points, std::size_t begin, std::size_t end) {
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const double x = points[i].bytes, y = points[i].seconds, weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * y;
    wxy += weight * x * y;
  }
  double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  double latency = (wy - slope * wx) / w;
  if (latency < kLeastLatency) {
    latency = kLeastLatency;
    slope = (wxy - latency * wx) / wxx;
  }
  if (slope < 1 / kMostRate) {
    slope = 1 / kMostRate;
    latency = (wy - slope * wx) / w;
  }
  return {std::nullopt, latency, 1 / slope};
}

struct Pieces {
  std::vector<NetworkPiece> pieces;
  double squares = 0;  // [1] of relative residuals
  double worst = 0;    // [1]
};

// Puts a piece of the points [begin, end) before the others.
Pieces WithFirst(const Points& points, std::size_t begin, std::size_t end, Pieces rest) {
  auto piece = LineThrough(points, begin, end);
  if (end < points.size()) piece.up_to_bytes = points[end - 1].bytes;
  for (std::size_t i = begin; i < end; ++i) {
    const double residual = Residual(piece, points[i]);
    rest.squares += residual * residual;
    rest.worst = std::max(rest.worst, std::abs(residual));
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
    if (best.pieces.empty() || tried.squares < best.squares) best = std::move(tried);
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
    return fmt::format("the fit misses a measured time by {:.0f} %", 100 * proof.worst_residual);
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

}  // namespace

std::optional<std::vector<NetworkPiece>> FitPieces(const std::vector<NetworkPoint>& points) {
  if (points.size() < kLeastPoints) return std::nullopt;
  Pieces best;
  for (std::size_t count = 1; count <= kMostPieces && count * kLeastPoints <= points.size();
       ++count) {
    auto pieces = BestPieces(points, 0, count);
    if (count == 1 || pieces.squares < best.squares) best = std::move(pieces);
    if (best.worst <= kMostResidual) break;
  }
  return best.pieces;
}

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

std::optional<NetworkFit> FitNetwork(const MeasuredNetwork& measured) {
  const auto points = TypicalPoints(measured);
  const auto pieces = FitPieces(points);
  if (!pieces) return std::nullopt;
  NetworkFit fit{.network = {.name = measured.mpi, .pieces = *pieces}, .proof = {}};
  for (const auto& point : points)
    fit.proof.worst_residual =
        std::max(fit.proof.worst_residual,
                 std::abs(MessageSeconds(fit.network, point.bytes) / point.seconds - 1));
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

nlohmann::json ToJson(const NetworkFit& fit) {
  nlohmann::json object = {{"name", fit.network.name}, {"pieces", nlohmann::json::array()}};
  for (const auto& piece : fit.network.pieces) {
    object["pieces"].push_back(
        {{"latency_seconds", piece.latency_seconds}, {"bytes_per_second", piece.bytes_per_second}});
    if (piece.up_to_bytes) object["pieces"].back()["up_to_bytes"] = *piece.up_to_bytes;
  }
  if (fit.network.allreduce_over_model)
    object["allreduce_over_model"] = *fit.network.allreduce_over_model;
  auto& proof = object["proof"];
  proof = {{"worst_residual", fit.proof.worst_residual},
           {"doubling", fit.proof.doubling},
           {"proved", fit.proof.doubt.empty()}};
  if (fit.proof.spread) proof["spread"] = *fit.proof.spread;
  if (fit.proof.over_bound) proof["allreduce_over_bound"] = *fit.proof.over_bound;
  if (!fit.proof.doubt.empty()) proof["reason"] = fit.proof.doubt;
  return object;
}

}  // namespace dlroof
