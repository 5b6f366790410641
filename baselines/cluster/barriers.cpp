#include "baselines/cluster/barriers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "baselines/cluster/gather.h"
#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

using nlohmann::json;
using NodeBarriers = std::vector<std::pair<std::string, std::vector<Barrier>>>;

constexpr double kAnotherBarrier = 10;  // [s] starts that are this far apart do not belong together

// Returns the nodes that missed a deadline, by name.
std::vector<LateNode> LateNodes(const NodeBarriers& by_node) {
  struct First {
    double began_seconds = 0;
    std::string benchmark;
    std::size_t by = 0;
  };
  const auto less = [](const std::string& a, const std::string& b) { return NodeNameLess(a, b); };
  std::map<std::string, First, decltype(less)> firsts(less);
  for (const auto& [node, barriers] : by_node)
    for (const auto& barrier : barriers)
      for (const auto& name : barrier.late) {
        auto& first = firsts[name];
        if (first.by++ > 0 && first.began_seconds <= barrier.began_seconds) continue;
        first.began_seconds = barrier.began_seconds;
        first.benchmark = barrier.benchmark;
      }
  std::vector<LateNode> late;
  for (const auto& [name, first] : firsts) late.push_back({name, first.benchmark, first.by});
  return late;
}

// Returns the largest spread within the starts of one benchmark that belong together, if any do.
std::optional<double> SpreadOf(std::vector<double> began) {
  std::ranges::sort(began);
  std::optional<double> widest;
  for (std::size_t begin = 0, i = 1; i <= began.size(); ++i) {
    if (i < began.size() && began[i] - began[i - 1] < kAnotherBarrier) continue;
    if (i - begin > 1) widest = std::max(widest.value_or(0), began[i - 1] - began[begin]);
    begin = i;
  }
  return widest;
}

std::vector<double> Spreads(const NodeBarriers& by_node, const std::vector<LateNode>& late) {
  std::map<std::string, std::vector<double>> began;
  for (const auto& [node, barriers] : by_node) {
    if (std::ranges::find(late, node, &LateNode::name) != late.end()) continue;
    for (const auto& barrier : barriers)
      if (barrier.with > 0) began[barrier.benchmark].push_back(barrier.began_seconds);
  }
  std::vector<double> spreads;
  for (auto& [benchmark, times] : began)
    if (const auto spread = SpreadOf(std::move(times))) spreads.push_back(*spread);
  return spreads;
}

}  // namespace

json ToJson(const Barrier& barrier) {
  json object = {{"benchmark", barrier.benchmark},
                 {"began_seconds", barrier.began_seconds},
                 {"waited_seconds", barrier.waited_seconds},
                 {"with", barrier.with},
                 {"ahead", barrier.ahead}};
  if (!barrier.late.empty()) object["late"] = barrier.late;
  return object;
}

std::vector<Barrier> BarriersFromJson(const json& list, const std::string& where) {
  if (!list.is_array()) throw BadInput("{}: expected an array of barriers", where);
  std::vector<Barrier> barriers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonReader reader(list[i], fmt::format("{}[{}]", where, i));
    Barrier barrier{.benchmark = reader.NonEmptyText("benchmark"),
                    .began_seconds = reader.Positive("began_seconds"),
                    .waited_seconds = reader.NotNegative("waited_seconds"),
                    .with = static_cast<std::size_t>(reader.NotNegative("with")),
                    .ahead = static_cast<std::size_t>(reader.NotNegative("ahead")),
                    .late = {}};
    if (reader.Has("late")) barrier.late = reader.Texts("late");
    barriers.push_back(std::move(barrier));
  }
  return barriers;
}

std::optional<ClusterBarriers> ClusterBarriersOf(const NodeBarriers& by_node) {
  ClusterBarriers all;
  std::vector<double> waited;
  for (const auto& [node, barriers] : by_node) {
    if (barriers.empty()) continue;
    ++all.nodes;
    waited.push_back(0);
    for (const auto& barrier : barriers) {
      waited.back() += barrier.waited_seconds;
      if (barrier.with == 0) ++all.apart[node];
    }
  }
  if (all.nodes == 0) return std::nullopt;
  all.median_waited_seconds = Median(std::move(waited));
  all.late = LateNodes(by_node);
  const auto spreads = Spreads(by_node, all.late);
  all.benchmarks = spreads.size();
  if (spreads.empty()) return all;
  all.median_spread_seconds = Median(spreads);
  all.most_spread_seconds = *std::ranges::max_element(spreads);
  return all;
}

json ToJson(const ClusterBarriers& barriers) {
  json object = {{"nodes", barriers.nodes},
                 {"benchmarks", barriers.benchmarks},
                 {"median_waited_seconds", barriers.median_waited_seconds},
                 {"late", json::array()},
                 {"apart", json::array()}};
  if (barriers.median_spread_seconds)
    object["median_spread_seconds"] = *barriers.median_spread_seconds;
  if (barriers.most_spread_seconds) object["most_spread_seconds"] = *barriers.most_spread_seconds;
  for (const auto& one : barriers.late)
    object["late"].push_back({{"node", one.name}, {"benchmark", one.benchmark}, {"by", one.by}});
  for (const auto& [node, count] : barriers.apart)
    object["apart"].push_back({{"node", node}, {"benchmarks", count}});
  return object;
}

ClusterBarriers ClusterBarriersFromJson(const json& object, const std::string& where) {
  const JsonReader reader(object, where);
  ClusterBarriers barriers{.nodes = static_cast<std::size_t>(reader.AtLeastOne("nodes")),
                           .benchmarks = static_cast<std::size_t>(reader.NotNegative("benchmarks")),
                           .median_spread_seconds = reader.OptionalNumber("median_spread_seconds"),
                           .most_spread_seconds = reader.OptionalNumber("most_spread_seconds"),
                           .median_waited_seconds = reader.NotNegative("median_waited_seconds"),
                           .late = {},
                           .apart = {}};
  for (std::size_t i = 0; i < reader.Array("late").size(); ++i) {
    const auto late = reader.Item("late", i);
    barriers.late.push_back({late.NonEmptyText("node"), late.NonEmptyText("benchmark"),
                             static_cast<std::size_t>(late.AtLeastOne("by"))});
  }
  for (std::size_t i = 0; i < reader.Array("apart").size(); ++i) {
    const auto apart = reader.Item("apart", i);
    barriers.apart[apart.NonEmptyText("node")] =
        static_cast<std::size_t>(apart.AtLeastOne("benchmarks"));
  }
  return barriers;
}

std::vector<std::string> BarrierNotes(const ClusterBarriers& barriers) {
  std::vector<std::string> notes;
  if (barriers.median_spread_seconds && barriers.most_spread_seconds)
    notes.push_back(fmt::format(
        "{} nodes started {} benchmarks together, within {} of each other (median; at most {}; by "
        "the nodes' clocks); a node waited for {} in total",
        barriers.nodes, barriers.benchmarks, text::WithPrefix(*barriers.median_spread_seconds, "s"),
        text::WithPrefix(*barriers.most_spread_seconds, "s"),
        text::WithPrefix(barriers.median_waited_seconds, "s")));
  else
    notes.emplace_back(
        "nodes waited for each other before each benchmark, but no two started any together");
  std::vector<std::string> late, apart;
  for (const auto& one : barriers.late)
    late.push_back(fmt::format("{} (before {}, {} nodes waited)", one.name, one.benchmark, one.by));
  for (const auto& [node, count] : barriers.apart)
    apart.push_back(fmt::format("{} ({})", node, count));
  if (!late.empty())
    notes.push_back(fmt::format("missed the deadline of a barrier, so the others started first: {}",
                                NamedNodes(late)));
  if (!apart.empty())
    notes.push_back(
        fmt::format("nodes that started benchmarks alone (number): {}", NamedNodes(apart)));
  return notes;
}

}  // namespace dlroof::cluster
