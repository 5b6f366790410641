#include "baselines/network/measured_network.h"

#include <fmt/format.h>

#include "baselines/network/network_fit.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"

namespace dlroof::cluster {
namespace {

using nlohmann::json;

constexpr int kNetworkSchema = 1;

json PointsJson(const std::vector<NetworkPoint>& points) {
  auto list = json::array();
  for (const auto& point : points) {
    list.push_back(
        {{"bytes", point.bytes}, {"seconds", point.seconds}, {"repetitions", point.repetitions}});
    if (point.ci95) list.back()["ci95"] = {point.ci95->first, point.ci95->second};
  }
  return list;
}

std::vector<NetworkPoint> PointsFrom(const JsonReader& reader) {
  std::vector<NetworkPoint> points;
  for (std::size_t i = 0; i < reader.Array("points").size(); ++i) {
    const auto point = reader.Item("points", i);
    points.push_back({.bytes = point.Positive("bytes"),
                      .seconds = point.Positive("seconds"),
                      .ci95 = std::nullopt,
                      .repetitions = point.AtLeastOne("repetitions")});
    if (point.Has("ci95")) points.back().ci95 = point.PositivePair("ci95");
    if (i > 0 && points[i].bytes <= points[i - 1].bytes)
      point.Refuse("bytes", "more than the point before");
  }
  return points;
}

std::size_t RankFrom(const JsonReader& reader, const std::string& key, std::size_t ranks) {
  const double rank = reader.NotNegative(key);
  if (rank >= static_cast<double>(ranks)) reader.Refuse(key, "an index into the ranks");
  return static_cast<std::size_t>(rank);
}

}  // namespace

json ToJson(const MeasuredNetwork& measured) {
  json object = {{"dlroof_net", kNetworkSchema},      {"mpi", measured.mpi},
                 {"started_at", measured.started_at}, {"pairs_at_once", measured.pairs_at_once},
                 {"ranks", measured.ranks},           {"pairs", json::array()},
                 {"allreduce", json::array()}};
  for (const auto& pair : measured.pairs)
    object["pairs"].push_back(
        {{"from", pair.from}, {"to", pair.to}, {"points", PointsJson(pair.points)}});
  for (const auto& times : measured.allreduce)
    object["allreduce"].push_back({{"nodes", times.nodes}, {"points", PointsJson(times.points)}});
  if (const auto fit = FitNetwork(measured)) object["network"] = ToJson(*fit);
  return object;
}

MeasuredNetwork ParseMeasuredNetwork(const std::string& text, const std::string& where) {
  const auto file = ParsedJson(text, where);
  const JsonReader reader(file, where);
  if (!reader.Has("dlroof_net"))
    throw BadInput("{}: has no 'dlroof_net', expected a file of dlroof_net", where);
  reader.Schema("dlroof_net", kNetworkSchema, "dlroof_net");
  MeasuredNetwork measured{.mpi = reader.Text("mpi"),
                           .started_at = reader.Text("started_at"),
                           .pairs_at_once = reader.Flag("pairs_at_once"),
                           .ranks = reader.Texts("ranks"),
                           .pairs = {},
                           .allreduce = {}};
  for (std::size_t i = 0; i < reader.Array("pairs").size(); ++i) {
    const auto pair = reader.Item("pairs", i);
    measured.pairs.push_back({RankFrom(pair, "from", measured.ranks.size()),
                              RankFrom(pair, "to", measured.ranks.size()), PointsFrom(pair)});
  }
  for (std::size_t i = 0; i < reader.Array("allreduce").size(); ++i) {
    const auto times = reader.Item("allreduce", i);
    measured.allreduce.push_back({times.AtLeastOne("nodes"), PointsFrom(times)});
  }
  return measured;
}

MeasuredNetwork ReadMeasuredNetwork(const std::string& path) {
  return ParseMeasuredNetwork(ReadFile(path, "a file of dlroof_net"), path);
}

}  // namespace dlroof::cluster
