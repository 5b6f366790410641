#include "baselines/network/allreduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "counters/base/keys.h"
#include "reporters/text/units.h"

namespace dlroof::cluster {
namespace {

constexpr KeyRow<Allreduce> kAllreduceKeys[] = {
    {Allreduce::kRing, "ring"},
    {Allreduce::kRecursiveDoubling, "recursive-doubling"},
    {Allreduce::kTree, "tree"},
    {Allreduce::kRabenseifner, "rabenseifner"}};

// Returns the largest power of two that is not above `nodes`, and the time of the two messages by
// which the other nodes hand their vectors to these and get the sum.
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
    if (piece.up_to_bytes) text += fmt::format(" up to {}", text::WithPrefix(*piece.up_to_bytes, "B"));
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

}  // namespace dlroof::cluster
