#include <fmt/format.h>

#include <map>

#include "bench/predict/tables.h"

namespace dlroof {
namespace {

// Less would print as 0 %.
constexpr double kLeastShare = 0.005;

}  // namespace

std::string TileText(const CtaTile& tile) {
  const auto text = fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
  return tile.slices > 1 ? fmt::format("{}/{}", text, tile.slices) : text;
}

std::string BoundShares(const PredictedGroup& group) {
  std::string text;
  for (const auto& [bottleneck, seconds] : group.bound_seconds) {
    if (seconds < kLeastShare * group.seconds) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", Key(bottleneck),
                        100 * seconds / group.seconds);
  }
  return text;
}

std::string NewBottlenecks(const PredictedGroup& before, const PredictedGroup& after) {
  std::map<std::string, double> changes;
  for (size_t i = 0; i < before.layers.size(); ++i) {
    const auto from = before.layers[i].prediction.time.bottleneck;
    const auto to = after.layers[i].prediction.time.bottleneck;
    if (from != to)
      changes[fmt::format("{} -> {}", Key(from), Key(to))] += after.layers[i].layer.count;
  }
  std::string text;
  for (const auto& [change, layers] : changes)
    text += fmt::format("{}{} ({} call{})", text.empty() ? "" : ", ", change, layers,
                        layers == 1 ? "" : "s");
  return text.empty() ? "none" : text;
}

int Assumptions(const GpuSpec& gpu) {
  int assumed = 0;
  for (const auto& [key, source] : gpu.sources) assumed += source.starts_with("assumed") ? 1 : 0;
  return assumed;
}

int MeasuredCeilings(const GpuSpec& gpu) {
  int measured = 0;
  for (const auto& [key, source] : gpu.sources)
    measured += source.starts_with("measured on ") ? 1 : 0;
  return measured;
}

}  // namespace dlroof
