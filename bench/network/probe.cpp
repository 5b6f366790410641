#include "bench/network/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "counters/base/json_text.h"
#include "counters/base/numbers.h"

namespace dlroof::network {
namespace {

using nlohmann::json;

cluster::NetworkPoint PointOf(std::size_t bytes, const std::vector<double>& seconds) {
  return {.bytes = static_cast<double>(bytes),
          .seconds = Median(seconds),
          .ci95 = MedianInterval95(seconds),
          .repetitions = static_cast<int>(seconds.size())};
}

// Returns the sizes of messages: 8, 16, 32, ... up to most_bytes, and half of most_bytes. [byte]
std::vector<std::size_t> Sizes(const ProbeRules& rules) {
  std::set<std::size_t> sizes = {rules.most_bytes / 2, rules.most_bytes};
  for (std::size_t bytes = 8; bytes < rules.most_bytes; bytes *= 2) sizes.insert(bytes);
  return {sizes.begin(), sizes.end()};
}

// One direction of a pair. Both ends call the same functions in the same order.
class Direction {
 public:
  Direction(Messages& messages, int from, int to)
      : messages_(messages), from_(from), to_(to), sends_(messages.rank() == from) {}

  // Returns the points on the sender, and nothing on the receiver.
  std::vector<cluster::NetworkPoint> Measure(const ProbeRules& rules) {
    const double answer = Median(Times(0, rules, 0)) / 2;
    std::vector<cluster::NetworkPoint> points;
    for (const auto bytes : Sizes(rules)) {
      const auto times = Times(bytes, rules, answer);
      if (sends_) points.push_back(PointOf(bytes, times));
    }
    return points;
  }

 private:
  void ThereAndBack(std::size_t bytes) {
    if (sends_) {
      messages_.Send(to_, bytes);
      messages_.Receive(to_, 0);
    } else {
      messages_.Receive(from_, bytes);
      messages_.Send(from_, 0);
    }
  }

  // Returns the time of a message in each repetition, minus `answer`. [s] The sender decides how
  // many (short) messages a repetition has and how many repetitions run.
  std::vector<double> Times(std::size_t bytes, const ProbeRules& rules, double answer) {
    constexpr double kLeastTimed = 100e-6;  // [s]
    ThereAndBack(bytes);                    // warms up: fills buffers, touches pages
    const double start = messages_.Now();
    ThereAndBack(bytes);
    const double once = std::max(messages_.Now() - start, 1e-9);
    const int calls = Agreed(static_cast<int>(std::clamp(kLeastTimed / once, 1.0, 1000.0)));
    const auto fit = std::clamp(rules.most_seconds / once / calls, 0.0, 1e6);
    const int repetitions =
        Agreed(std::clamp(static_cast<int>(fit), rules.least_repetitions, rules.repetitions));
    std::vector<double> times;
    for (int i = 0; i < repetitions; ++i) {
      const double before = messages_.Now();
      for (int call = 0; call < calls; ++call) ThereAndBack(bytes);
      const double seconds = (messages_.Now() - before) / calls;
      times.push_back(std::max(seconds - answer, 1e-9));
    }
    return times;
  }

  // Returns the sender's `number` on both ranks.
  int Agreed(int number) {
    if (!sends_) return static_cast<int>(messages_.ReceiveNumber(from_));
    messages_.SendNumber(to_, number);
    return number;
  }

  Messages& messages_;
  int from_, to_;
  bool sends_;
};

json PointJson(const cluster::NetworkPoint& point) {
  json object = {
      {"bytes", point.bytes}, {"seconds", point.seconds}, {"repetitions", point.repetitions}};
  if (point.ci95) object["ci95"] = {point.ci95->first, point.ci95->second};
  return object;
}

// Measures both directions of each pairing that has this rank. Returns what this rank sent.
std::vector<cluster::PairTimes> MeasurePairs(Messages& messages, const ProbeRules& rules) {
  std::vector<cluster::PairTimes> sent;
  for (const auto& pairing : Pairings(messages.size(), rules)) {
    for (const auto& [a, b] : pairing) {
      if (messages.rank() != a && messages.rank() != b) continue;
      for (const auto& [from, to] : {std::pair(a, b), {b, a}}) {
        auto points = Direction(messages, from, to).Measure(rules);
        if (messages.rank() == from)
          sent.push_back({static_cast<std::size_t>(from), static_cast<std::size_t>(to), points});
      }
    }
    messages.WaitForAll();
  }
  return sent;
}

std::vector<cluster::NetworkPoint> MeasureSums(Messages& messages, int ranks,
                                               const ProbeRules& rules) {
  std::vector<cluster::NetworkPoint> points;
  for (const auto bytes : Sizes(rules)) {
    const double once = std::max(messages.Sum(ranks, bytes), 1e-9);
    const int repetitions = std::clamp(static_cast<int>(std::min(rules.most_seconds / once, 1e6)),
                                       rules.least_repetitions, rules.repetitions);
    std::vector<double> times;
    for (int i = 0; messages.rank() < ranks && i < repetitions; ++i)
      times.push_back(std::max(messages.Sum(ranks, bytes), 1e-9));
    if (messages.rank() < ranks) points.push_back(PointOf(bytes, times));
  }
  messages.WaitForAll();
  return points;
}

std::vector<cluster::AllreduceTimes> MeasureAllreduces(Messages& messages,
                                                       const ProbeRules& rules) {
  std::set<int> counts = {messages.size()};
  for (int ranks = 2; ranks < messages.size(); ranks *= 2) counts.insert(ranks);
  std::vector<cluster::AllreduceTimes> all;
  for (const int ranks : counts)
    if (ranks > 1) all.push_back({ranks, MeasureSums(messages, ranks, rules)});
  return all;
}

// Returns a rank's results as JSON, for rank 0.
std::string TextOfRank(const Messages& messages, const std::vector<cluster::PairTimes>& sent) {
  json object = {{"node", messages.NodeName()}, {"sent", json::array()}};
  for (const auto& pair : sent) {
    object["sent"].push_back({{"to", pair.to}, {"points", json::array()}});
    for (const auto& point : pair.points)
      object["sent"].back()["points"].push_back(PointJson(point));
  }
  return JsonText(object);
}

void AddRank(const std::string& text, std::size_t rank, cluster::MeasuredNetwork& measured) {
  const auto object = json::parse(text);
  measured.ranks.push_back(object.at("node").get<std::string>());
  for (const auto& pair : object.at("sent")) {
    measured.pairs.push_back({rank, pair.at("to").get<std::size_t>(), {}});
    for (const auto& point : pair.at("points")) {
      measured.pairs.back().points.push_back({.bytes = point.at("bytes").get<double>(),
                                              .seconds = point.at("seconds").get<double>(),
                                              .ci95 = std::nullopt,
                                              .repetitions = point.at("repetitions").get<int>()});
      if (point.contains("ci95"))
        measured.pairs.back().points.back().ci95 = {point.at("ci95").at(0).get<double>(),
                                                    point.at("ci95").at(1).get<double>()};
    }
  }
}

// Renames several ranks of one node to "n1-rank0", "n1-rank1".
void NameRanks(std::vector<std::string>& names) {
  std::map<std::string, int> counts;
  for (const auto& name : names) ++counts[name];
  for (std::size_t i = 0; i < names.size(); ++i)
    if (counts[names[i]] > 1) names[i] += fmt::format("-rank{}", i);
}

}  // namespace

std::vector<std::vector<std::pair<int, int>>> Pairings(int ranks, const ProbeRules& rules) {
  std::vector<std::vector<std::pair<int, int>>> pairings;
  if (ranks <= rules.all_pairs) {
    for (int a = 0; a < ranks; ++a)
      for (int b = a + 1; b < ranks; ++b) pairings.push_back({{a, b}});
    return pairings;
  }
  std::mt19937 random(1);
  std::vector<int> order(ranks);
  for (int i = 0; i < ranks; ++i) order[i] = i;
  for (int round = 0; round < rules.matchings; ++round) {
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[random() % (i + 1)]);
    auto& pairing = pairings.emplace_back();
    for (std::size_t i = 0; i + 1 < order.size(); i += 2)
      pairing.emplace_back(order[i], order[i + 1]);
  }
  return pairings;
}

std::optional<cluster::MeasuredNetwork> MeasureNetwork(Messages& messages,
                                                       const ProbeRules& rules) {
  messages.WaitForAll();
  const auto sent = MeasurePairs(messages, rules);
  auto allreduce = MeasureAllreduces(messages, rules);
  const auto texts = messages.Gather(TextOfRank(messages, sent));
  if (messages.rank() != 0) return std::nullopt;
  cluster::MeasuredNetwork measured;
  measured.mpi = messages.Library();
  measured.pairs_at_once = messages.size() > rules.all_pairs;
  measured.allreduce = std::move(allreduce);
  for (std::size_t rank = 0; rank < texts.size(); ++rank) AddRank(texts[rank], rank, measured);
  NameRanks(measured.ranks);
  return measured;
}

}  // namespace dlroof::network
