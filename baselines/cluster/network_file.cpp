#include "baselines/cluster/network_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "baselines/cluster/network.h"
#include "ceilings/machine_file/specified_machine.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

constexpr std::size_t kLeastPoints = 3;  // per piece
constexpr std::size_t kMostPieces = 3;
constexpr double kMostResidual = 0.10;  // [1]
constexpr double kMostSpread = 0.05;    // [1]
constexpr double kLeastLatency = 1e-9;  // [s] if the line through the points has none
constexpr double kMostRate = 1e13;      // [byte/s] if larger messages take no longer

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

// Returns the line of points [begin, end) with the least sum of absolute relative residuals. Unlike
// a least squares fit it is robust against sizes that a buffer makes faster or slower. One of the
// best lines goes through two of the points, or through one with the least latency or slope.
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

// Returns the best `count` pieces of the points from `begin` on; there must be enough points.
Pieces BestPieces(const Points& points, std::size_t begin, std::size_t count) {
  if (count == 1) return WithFirst(points, begin, points.size(), {});
  Pieces best;
  for (auto end = begin + kLeastPoints; end + (count - 1) * kLeastPoints <= points.size(); ++end) {
    auto tried = WithFirst(points, begin, end, BestPieces(points, end, count - 1));
    if (best.pieces.empty() || tried.residuals < best.residuals) best = std::move(tried);
  }
  return best;
}

// Returns the largest size of the allreduce on the most nodes, or null.
const NetworkPoint* LargestAllreduce(const MeasuredNetwork& measured) {
  if (measured.allreduce.empty() || measured.allreduce.back().points.empty()) return nullptr;
  return &measured.allreduce.back().points.back();
}

// Returns the time of the largest size over that of half of it, extrapolated from the two largest
// sizes if half of it was not measured.
double Doubling(const Points& points) {
  const auto& last = points.back();
  const auto half = std::ranges::find(points, last.bytes / 2, &NetworkPoint::bytes);
  const auto& less = half == points.end() ? points[points.size() - 2] : *half;
  return std::pow(last.seconds / less.seconds, std::log(2) / std::log(last.bytes / less.bytes));
}

std::optional<Reason> ReasonOf(const NetworkValidation& validation) {
  if (validation.worst_residual > kMostResidual)
    return Reason{fmt::format("the fit misses the time of {} by {:.0f} %",
                              text::WithPrefix(validation.worst_bytes, "B"),
                              100 * validation.worst_residual)};
  if (std::abs(validation.doubling / 2 - 1) > kMostResidual)
    return Reason{fmt::format("twice the bytes take {:.2f} times as long", validation.doubling)};
  if (validation.spread.value_or(0) > kMostSpread)
    return Reason{fmt::format("repetitions of the largest message differ by {:.0f} %",
                              100 * *validation.spread)};
  if (validation.over_bound.value_or(1) < 1 - kMostSpread)
    return Reason{fmt::format("an allreduce takes {:.2f} times what the bandwidth allows",
                              *validation.over_bound)};
  return std::nullopt;
}

// Returns the points by size, each the median over all pairs and directions with this size.
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

using nlohmann::json;

NetworkPiece ReadPiece(const machine_file::LocatedObject& object) {
  return {.up_to_bytes = std::nullopt,
          .latency_seconds = object.Number("latency_seconds"),
          .bytes_per_second = object.Number("bytes_per_second")};
}

std::vector<NetworkPiece> ReadPieces(const machine_file::LocatedJson& file,
                                     const machine_file::LocatedObject& object) {
  const auto& list = object.Needed("pieces");
  if (!list.is_array() || list.empty())
    throw BadInput("{}: 'pieces': expected an array with at least one object",
                   object.Where("pieces"));
  std::vector<NetworkPiece> pieces;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto path = object.PathOf("pieces");
    path.push_back(fmt::format("[{}]", i));
    const machine_file::LocatedObject piece(file, list[i], path,
                                            {"up_to_bytes", "latency_seconds", "bytes_per_second"});
    pieces.push_back(ReadPiece(piece));
    const bool last = i + 1 == list.size();
    if (last && piece.Has("up_to_bytes"))
      throw BadInput("{}: 'up_to_bytes': not allowed in the last piece, which has no upper limit",
                     piece.Where("up_to_bytes"));
    if (last) break;
    pieces.back().up_to_bytes = piece.Number("up_to_bytes");
    if (i > 0 && *pieces[i].up_to_bytes <= *pieces[i - 1].up_to_bytes)
      throw BadInput("{}: 'up_to_bytes': expected more than the piece before, {:g}",
                     piece.Where("up_to_bytes"), *pieces[i - 1].up_to_bytes);
  }
  return pieces;
}

// Returns why the network is not validated, if it is not.
std::optional<Reason> ReasonIn(const machine_file::LocatedJson& file,
                               const machine_file::LocatedObject& object) {
  const machine_file::LocatedObject validation(
      file, object.Needed("proof"), object.PathOf("proof"),
      {"worst_residual", "doubling", "spread", "allreduce_over_bound", "proved", "reason"});
  if (!validation.Has("reason")) return std::nullopt;
  return Reason{validation.Text("reason")};
}

Network ReadNetworkObject(const machine_file::LocatedJson& file, const json& value,
                          machine_file::LocatedJson::Path path) {
  const machine_file::LocatedObject object(
      file, value, std::move(path),
      {"name", "latency_seconds", "bytes_per_second", "pieces", "allreduce_over_model", "proof"});
  Network network;
  if (object.Has("name")) network.name = object.Text("name");
  if (object.Has("pieces")) {
    for (const char* key : {"latency_seconds", "bytes_per_second"})
      if (object.Has(key))
        throw BadInput("{}: '{}' belongs to each of 'pieces'", object.Where(key), key);
    network.pieces = ReadPieces(file, object);
  } else {
    network.pieces = {ReadPiece(object)};
  }
  if (object.Has("allreduce_over_model"))
    network.allreduce_over_model = object.Number("allreduce_over_model");
  if (object.Has("proof")) network.reason = ReasonIn(file, object);
  return network;
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
  NetworkFit fit{.network = {.name = measured.mpi, .pieces = *pieces}, .validation = {}};
  for (const auto& point : points) {
    const double residual = std::abs(MessageSeconds(fit.network, point.bytes) / point.seconds - 1);
    if (residual <= fit.validation.worst_residual) continue;
    fit.validation.worst_residual = residual;
    fit.validation.worst_bytes = point.bytes;
  }
  fit.validation.doubling = Doubling(points);
  if (const auto& ci95 = points.back().ci95)
    fit.validation.spread = (ci95->second - ci95->first) / 2 / points.back().seconds;
  if (const auto* largest = LargestAllreduce(measured)) {
    const int nodes = measured.allreduce.back().nodes;
    fit.validation.over_bound =
        largest->seconds / AllreduceBound(fit.network, nodes, largest->bytes);
    fit.network.allreduce_over_model =
        largest->seconds /
        AllreduceOf({.name = "", .pieces = *pieces}, std::nullopt, nodes, largest->bytes).seconds;
  }
  fit.validation.reason = ReasonOf(fit.validation);
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
  auto& validation = object["proof"];
  validation = {{"worst_residual", fit.validation.worst_residual},
                {"doubling", fit.validation.doubling},
                {"proved", !fit.validation.reason}};
  if (fit.validation.spread) validation["spread"] = *fit.validation.spread;
  if (fit.validation.over_bound) validation["allreduce_over_bound"] = *fit.validation.over_bound;
  if (fit.validation.reason) validation["reason"] = fit.validation.reason->text;
  return object;
}

Network ParseNetwork(const std::string& text, const std::string& where) {
  const machine_file::LocatedJson file(text, where);
  if (!file.value().is_object() || file.value().empty())
    throw BadInput(BadInput::Place{where, 1},
                   "expected an object with 'latency_seconds' and 'bytes_per_second'");
  if (!file.value().contains("dlroof_net")) return ReadNetworkObject(file, file.value(), {});
  if (!file.value().contains("network"))
    throw BadInput("{}: has no 'network': dlroof_net could not fit its times", where);
  return ReadNetworkObject(file, file.value().at("network"), {"network"});
}

Network ReadNetwork(const std::string& path) {
  return ParseNetwork(ReadFile(path, "a file of a network"), path);
}

}  // namespace dlroof::cluster
