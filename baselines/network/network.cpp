#include "baselines/network/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/text/units.h"

namespace dlroof {

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
    text += fmt::format("{} + bytes / ({})", WithPrefix(piece.latency_seconds, "s"),
                        WithPrefix(piece.bytes_per_second, "B/s"));
    if (piece.up_to_bytes) text += fmt::format(" up to {}", WithPrefix(*piece.up_to_bytes, "B"));
  }
  return text;
}

}  // namespace dlroof
