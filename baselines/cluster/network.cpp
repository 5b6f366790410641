#include "baselines/cluster/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <sstream>

#include "baselines/cluster/network_file.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

constexpr KeyRow<Allreduce> kAllreduceKeys[] = {
    {Allreduce::kRing, "ring"},
    {Allreduce::kRecursiveDoubling, "recursive-doubling"},
    {Allreduce::kTree, "tree"},
    {Allreduce::kRabenseifner, "rabenseifner"}};

// Returns the largest power of two that is at most `nodes`. Sets the time of the two messages in
// which each node beyond this number sends its vector and receives the sum.
int PowerOfTwo(const Network& network, int nodes, double bytes, double& folding_seconds) {
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes)));
  folding_seconds = power == nodes ? 0 : 2 * MessageSeconds(network, bytes);
  return power;
}

double RabenseifnerSeconds(const Network& network, int nodes, double bytes) {
  double seconds = 0;
  const int power = PowerOfTwo(network, nodes, bytes, seconds);
  for (int parts = 2; parts <= power; parts *= 2)
    seconds += 2 * MessageSeconds(network, bytes / parts);
  return seconds;
}

double RecursiveDoublingSeconds(const Network& network, int nodes, double bytes) {
  double seconds = 0;
  const int power = PowerOfTwo(network, nodes, bytes, seconds);
  return seconds + std::countr_zero(static_cast<unsigned>(power)) * MessageSeconds(network, bytes);
}

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

double MedianRate(const BestRates& best) {
  std::vector<double> known;
  for (const auto& rate : best)
    if (rate) known.push_back(*rate);
  return Median(known);
}

void AddSlowNodes(const BestRates& best, bool sends, std::vector<SlowLink>& slow) {
  const double median = MedianRate(best);
  for (std::size_t rank = 0; rank < best.size(); ++rank) {
    if (!best[rank] || *best[rank] >= kSlowLink * median) continue;
    SlowLink node{.bytes_per_second = *best[rank], .ratio = *best[rank] / median};
    (sends ? node.from : node.to) = rank;
    slow.push_back(node);
  }
}

std::string SlowText(const MeasuredNetwork& measured, const SlowLink& slow) {
  const auto name = [&](const std::optional<std::size_t>& rank) { return measured.ranks[*rank]; };
  const auto rate = text::WithPrefix(slow.bytes_per_second, "B/s");
  if (slow.from && slow.to)
    return fmt::format("slow link: {} to {}, {}, {:.0f} % of what its nodes reach with others",
                       name(slow.from), name(slow.to), rate, 100 * slow.ratio);
  return fmt::format("slow node: {} {} at most {}, {:.0f} % of the median node's",
                     name(slow.from ? slow.from : slow.to), slow.from ? "sends" : "receives", rate,
                     100 * slow.ratio);
}

constexpr int kFloat = 4;  // [byte]

// Returns SimGrid's first error message without its source location, else the last line of `text`.
std::string Complaint(const std::string& text) {
  constexpr std::string_view kError = "/ERROR] ";
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (const auto at = line.find(kError); at != std::string::npos)
      return line.substr(at + kError.size());
    if (!line.empty()) last = line;
  }
  return last.empty() ? "no message" : last;
}

// Returns the number after the last "Simulation time ".
double SimulatedSeconds(const ChildResult& ran) {
  constexpr std::string_view kBefore = "Simulation time ";
  const auto text = ran.out + ran.err;
  if (ran.exit_code != 0)
    throw SimulationFailed("smpirun ended with exit code {}: {}", ran.exit_code, Complaint(text));
  const auto at = text.rfind(kBefore);
  double seconds = 0;
  if (at != std::string::npos)
    std::from_chars(text.data() + at + kBefore.size(), text.data() + text.size(), seconds);
  if (seconds > 0) return seconds;
  throw SimulationFailed("smpirun simulated no time above 0 s");
}

// Returns smpirun's options for an allreduce algorithm. The simulator's corrections for real
// networks are off: its messages take latency + bytes / bandwidth.
std::vector<std::string> SmpiOptions(Allreduce algorithm) {
  std::vector<std::string> options = {
      "--cfg=network/model:CM02",         "--cfg=network/TCP-gamma:0",
      "--cfg=network/crosstraffic:0",     "--cfg=network/latency-factor:1",
      "--cfg=network/bandwidth-factor:1", "--cfg=smpi/bw-factor:1",
      "--cfg=smpi/lat-factor:1",          "--cfg=smpi/os:0:0:0:0:0",
      "--cfg=smpi/or:0:0:0:0:0",          "--cfg=smpi/ois:0:0:0:0:0"};
  constexpr KeyRow<Allreduce> kNames[] = {
      {Allreduce::kRing, "lr"},
      {Allreduce::kRecursiveDoubling, "rdb"},
      {Allreduce::kTree, "redbcast"},
      {Allreduce::kRabenseifner, "mvapich2_rs"}};  // "rab" takes 5 GB for 64 ranks of 100 MB
  options.push_back(fmt::format("--cfg=smpi/allreduce:{}", KeyIn(kNames, algorithm)));
  if (algorithm == Allreduce::kTree)
    options.insert(options.end(), {"--cfg=smpi/reduce:binomial", "--cfg=smpi/bcast:binomial_tree"});
  return options;
}

}  // namespace

double MessageSeconds(const Network& network, double bytes) {
  const auto piece = std::ranges::find_if(network.pieces, [&](const NetworkPiece& one) {
    return !one.up_to_bytes || bytes <= *one.up_to_bytes;
  });
  const auto& used = piece == network.pieces.end() ? network.pieces.back() : *piece;
  return used.latency_seconds + bytes / used.bytes_per_second;
}

double Bandwidth(const Network& network) { return network.pieces.back().bytes_per_second; }

std::string NetworkText(const Network& network) {
  std::string text = network.name.empty() ? "" : network.name + ": ";
  for (const auto& piece : network.pieces) {
    if (&piece != &network.pieces.front()) text += ", ";
    text += fmt::format("{} + bytes / ({})", text::WithPrefix(piece.latency_seconds, "s"),
                        text::WithPrefix(piece.bytes_per_second, "B/s"));
    if (piece.up_to_bytes)
      text += fmt::format(" up to {}", text::WithPrefix(*piece.up_to_bytes, "B"));
  }
  return text;
}

std::string_view Key(Allreduce algorithm) { return KeyIn(kAllreduceKeys, algorithm); }

std::optional<Allreduce> AllreduceFromKey(std::string_view key) {
  return ValueIn(kAllreduceKeys, key);
}

double AllreduceSeconds(Allreduce algorithm, const Network& network, int nodes, double bytes) {
  if (nodes < 2) return 0;
  switch (algorithm) {
    case Allreduce::kRing:
      return 2.0 * (nodes - 1) * MessageSeconds(network, bytes / nodes);
    case Allreduce::kRecursiveDoubling:
      return RecursiveDoublingSeconds(network, nodes, bytes);
    case Allreduce::kTree:
      return 2.0 * std::bit_width(static_cast<unsigned>(nodes - 1)) *
             MessageSeconds(network, bytes);
    case Allreduce::kRabenseifner:
      return RabenseifnerSeconds(network, nodes, bytes);
  }
  return 0;
}

double AllreduceBound(const Network& network, int nodes, double bytes) {
  return nodes < 2 ? 0 : 2.0 * (nodes - 1) / nodes * bytes / Bandwidth(network);
}

AllreduceTime AllreduceOf(const Network& network, std::optional<Allreduce> algorithm, int nodes,
                          double bytes) {
  const auto time = [&](Allreduce one) {
    return AllreduceTime{AllreduceSeconds(one, network, nodes, bytes), one};
  };
  auto taken = time(algorithm.value_or(Allreduce::kRing));
  for (const auto& [one, key] : kAllreduceKeys)
    if (const auto other = time(one); !algorithm && other.seconds < taken.seconds) taken = other;
  if (!algorithm) taken.seconds *= network.allreduce_over_model.value_or(1);
  taken.seconds = std::max(taken.seconds, AllreduceBound(network, nodes, bytes));
  return taken;
}

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

std::optional<double> RateOf(const PairTimes& pair) {
  if (pair.points.empty()) return std::nullopt;
  return pair.points.back().bytes / pair.points.back().seconds;
}

BestRates BestOf(const MeasuredNetwork& measured, std::size_t PairTimes::*end) {
  BestRates best(measured.ranks.size());
  for (const auto& pair : measured.pairs)
    if (const auto rate = RateOf(pair))
      best[pair.*end] = std::max(best[pair.*end].value_or(0), *rate);
  return best;
}

std::vector<SlowLink> SlowLinks(const MeasuredNetwork& measured) {
  std::vector<SlowLink> slow;
  if (measured.ranks.size() < kLeastLinkRanks || measured.pairs.empty()) return slow;
  const auto sends = BestOf(measured, &PairTimes::from),
             receives = BestOf(measured, &PairTimes::to);
  AddSlowNodes(sends, true, slow);
  AddSlowNodes(receives, false, slow);
  for (const auto& pair : measured.pairs) {
    const auto rate = RateOf(pair);
    if (!rate) continue;
    const double expected = std::min(*sends[pair.from], *receives[pair.to]);
    if (*rate < kSlowLink * expected) slow.push_back({pair.from, pair.to, *rate, *rate / expected});
  }
  std::ranges::stable_sort(slow, {}, &SlowLink::ratio);
  return slow;
}

std::vector<std::string> NetworkNotes(const MeasuredNetwork& measured) {
  std::vector<std::string> notes = {fmt::format(
      "{} ranks, {} directions of pairs, {}{}", measured.ranks.size(), measured.pairs.size(),
      measured.mpi, measured.pairs_at_once ? "; pairs sent at the same time" : "")};
  const auto fit = FitNetwork(measured);
  if (!fit) {
    notes.emplace_back("too few sizes for a fit");
  } else {
    notes.push_back(
        NetworkText({.name = "", .pieces = fit->network.pieces}) +
        (fit->validation.reason ? " (not validated: " + fit->validation.reason->text + ")" : ""));
    if (const auto ratio = fit->network.allreduce_over_model)
      notes.push_back(
          fmt::format("allreduce of {} on {} nodes: {:.2f} times the fastest closed form",
                      text::WithPrefix(measured.allreduce.back().points.back().bytes, "B"),
                      measured.allreduce.back().nodes, *ratio));
  }
  const auto slow = SlowLinks(measured);
  for (const auto& one : slow) notes.push_back(SlowText(measured, one));
  if (measured.ranks.size() < kLeastLinkRanks)
    notes.push_back(fmt::format("{} nodes are needed to tell which link is slow", kLeastLinkRanks));
  else if (slow.empty())
    notes.push_back(
        fmt::format("no node and no link is below {:.0f} % of the others", 100 * kSlowLink));
  return notes;
}

std::string SmpiPlatform(const Network& network, int nodes) {
  const auto& large = network.pieces.back();
  return fmt::format(
      "<?xml version='1.0'?>\n"
      "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\">\n"
      "  <cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\" "
      "bw=\"{:.17g}Bps\" "
      "lat=\"{:.17g}s\"/>\n</platform>\n",
      nodes - 1, large.bytes_per_second, large.latency_seconds / 2);
}

std::string SmpiTrace(int nodes, long elements) {
  std::string trace;
  for (int rank = 0; rank < nodes; ++rank)
    trace += fmt::format("{0} init\n{0} allreduce {1} 0 1\n{0} finalize\n", rank, elements);
  return trace;
}

bool CanSimulate() { return IsInPath("smpirun"); }

SimulatedAllreduce ClosedAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                   double bytes) {
  // A ring would need extra messages for a remainder.
  const double sent = nodes * std::ceil(bytes / (kFloat * nodes)) * kFloat;
  const Network plain{.name = "",
                      .pieces = {{std::nullopt, network.pieces.back().latency_seconds,
                                  network.pieces.back().bytes_per_second}}};
  return {.nodes = nodes,
          .bytes = sent,
          .algorithm = algorithm,
          .closed_seconds = AllreduceSeconds(algorithm, plain, nodes, sent),
          .simulated_seconds = {}};
}

SimulatedAllreduce SimulateAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                     double bytes) {
  if (!CanSimulate())
    throw BadInput(
        "smpirun is not installed, so nothing is simulated (apt-get install libsimgrid-dev)");
  auto allreduce = ClosedAllreduce(network, algorithm, nodes, bytes);
  const auto elements = std::lround(allreduce.bytes / kFloat);
  const TemporaryFolder folder;
  std::string hosts;
  for (int node = 0; node < nodes; ++node) hosts += fmt::format("n{}\n", node);
  WriteFile(folder / "platform.xml", SmpiPlatform(network, nodes));
  WriteFile(folder / "hosts", hosts);
  WriteFile(folder / "trace", SmpiTrace(nodes, elements));
  WriteFile(folder / "traces", folder / "trace" + "\n");
  std::vector<std::string> command = {"smpirun",
                                      "-np",
                                      std::to_string(nodes),
                                      "-platform",
                                      folder / "platform.xml",
                                      "-hostfile",
                                      folder / "hosts",
                                      "-replay",
                                      folder / "traces"};
  const auto options = SmpiOptions(algorithm);
  command.insert(command.end(), options.begin(), options.end());
  allreduce.simulated_seconds = SimulatedSeconds(RunChild(command));
  return allreduce;
}

}  // namespace dlroof::cluster
