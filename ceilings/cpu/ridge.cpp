#include "ceilings/cpu/ridge.h"

#include <fmt/format.h>

#include <algorithm>

#include "ceilings/machine/doubt.h"

namespace dlroof {
namespace {

constexpr std::ptrdiff_t kRows = 8;
constexpr double kAllowed = 1.03;

// The point furthest above `roof(point)`; null when none is by more than the noise.
template <class Roof>
const RidgePoint* FurthestAbove(const std::vector<RidgePoint>& ridge, const Roof& roof) {
  const RidgePoint* furthest = nullptr;
  double most = kAllowed;
  for (const auto& point : ridge) {
    const double above = point.flops_per_second / roof(point);
    if (above <= most) continue;
    most = above;
    furthest = &point;
  }
  return furthest;
}

void JudgeBandwidth(Level level, const std::vector<RidgePoint>& ridge, Ceiling& bandwidth) {
  const auto* point = FurthestAbove(
      ridge, [&](const RidgePoint& each) { return each.intensity * bandwidth.per_second; });
  if (point == nullptr) return;
  Doubt(bandwidth,
        fmt::format("loads with {:.3g} flop/byte moved {:.4g} GB/s at {}, this is {:.4g} GB/s: it "
                    "is too low",
                    point->intensity, point->flops_per_second / point->intensity / 1e9, Key(level),
                    bandwidth.per_second / 1e9));
}

void JudgeCompute(Level level, const std::vector<RidgePoint>& ridge,
                  std::map<std::string, Ceiling>& flops) {
  const auto plain = flops.find(kRidgePipe);
  if (plain == flops.end()) return;
  const double roof = plain->second.per_second;
  const auto* point = FurthestAbove(ridge, [&](const RidgePoint&) { return roof; });
  if (point == nullptr) return;
  const auto reason = fmt::format(
      "multiply-adds with {:.3g} flop/byte at {} reached {:.4g} GFLOP/s, this is {:.4g} GFLOP/s: "
      "it is too low",
      point->intensity, Key(level), point->flops_per_second / 1e9, roof / 1e9);
  for (auto& [key, ceiling] : flops)
    if (key.starts_with(kRidgePipe) && ceiling.per_second == roof) Doubt(ceiling, reason);
}

}  // namespace

std::vector<RidgeRow> RidgeRowsAround(std::span<const RidgeRow> rows, double knee) {
  const auto above =
      std::ranges::find_if(rows, [&](const RidgeRow& row) { return row.Intensity() >= knee; });
  const auto count = std::min(kRows, std::ssize(rows));
  const auto first =
      std::clamp<std::ptrdiff_t>(above - rows.begin() - kRows / 2, 0, std::ssize(rows) - count);
  const auto chosen =
      rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  return {chosen.begin(), chosen.end()};
}

void CompareRidges(CeilingSet& set) {
  for (const auto& [level, ridge] : set.ridges) {
    if (const auto found = set.bytes.find(level); found != set.bytes.end())
      JudgeBandwidth(level, ridge, found->second);
    JudgeCompute(level, ridge, set.flops);
  }
}

}  // namespace dlroof
