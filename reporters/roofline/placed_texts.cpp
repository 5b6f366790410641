// The numbers and texts that tables, page and figures show of a placement.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {

const ClassicPoint* PointOf(const Placement& placement, Level level) {
  const auto found = std::ranges::find(placement.classic, level, &ClassicPoint::level);
  return found == placement.classic.end() ? nullptr : &*found;
}

const ClassicPoint* Binding(const Placement& placement) {
  const ClassicPoint* binding = nullptr;
  for (const auto& point : placement.classic) {
    if (placement.time && placement.time->above_roof.contains(point.level)) continue;
    if (binding == nullptr || point.roof <= binding->roof) binding = &point;
  }
  return binding;
}

std::optional<RoofShare> RoofShareOf(const Placement& placement) {
  if (const auto& bandwidth = placement.bandwidth; bandwidth && !placement.time) {
    if (bandwidth->fraction) return RoofShare{*bandwidth->fraction, false};
    if (bandwidth->fraction_at_most) return RoofShare{*bandwidth->fraction_at_most, true};
  }
  if (!placement.time) return std::nullopt;
  const TimePoint& time = *placement.time;
  if (const auto* binding = Binding(placement)) {
    if (time.slowdown && binding->fraction) return RoofShare{*binding->fraction, false};
    if (time.slowdown_at_least && binding->fraction_at_most)
      return RoofShare{*binding->fraction_at_most, true};
  }
  const auto slowdown = LeastSlowdown(time);
  if (!slowdown || !(*slowdown > 0)) return std::nullopt;
  return RoofShare{1 / *slowdown, !time.slowdown};
}

std::string RoofShareText(const std::optional<RoofShare>& share, bool noisy) {
  if (!share) return "";
  return fmt::format("{}{}{}", AtMostMark(share->at_most), MarkOf(noisy),
                     text::PercentText(share->value));
}

std::string SlowdownText(const TimePoint& time) {
  const auto slowdown = LeastSlowdown(time);
  if (!slowdown) return "";
  return fmt::format("{}{}x", AtLeastMark(!time.slowdown), text::ThreeDigits(*slowdown));
}

std::optional<WorkRate> WorkRateOf(const record::Record& record, const record::Timing& timing,
                                   const PlaceView& view) {
  const auto flops = BestKnownFlops(record);
  if (!flops || !(*flops > 0) || !(timing.median > 0)) return std::nullopt;
  WorkRate rate{.flops_per_second = *flops / timing.median};
  std::map<Level, double> known;
  for (const Provenance from : AllProvenances())
    if (const auto work = record.work.find(from); work != record.work.end())
      for (const auto& [level, bytes] : work->second.bytes)
        if (view.levels.empty() || std::ranges::count(view.levels, level) > 0)
          known.try_emplace(level, bytes);
  std::erase_if(known, [](const auto& each) { return !(each.second > 0); });
  if (known.empty()) return rate;
  rate.level = known.contains(Level::kDram) ? Level::kDram : known.rbegin()->first;
  rate.intensity = *flops / known.at(*rate.level);
  return rate;
}

std::string SpreadText(const record::Timing& timing) {
  if (!(timing.median > 0)) return "";
  if (!timing.ci95) return fmt::format("n={}", timing.clean);
  const double half =
      std::max(timing.median - timing.ci95->first, timing.ci95->second - timing.median);
  return text::PercentText(half / timing.median);
}

std::string BoundText(const TimePoint& time) {
  return fmt::format(
      "{}{}", time.bound_level ? LevelName(Key(*time.bound_level)) : std::string(Key(time.bound)),
      time.specified ? " (specified)" : "");
}

std::string BoundText(const BandwidthPoint& point) {
  return fmt::format("{} roof{}", LevelName(Key(point.level)),
                     point.specified ? " (specified)" : "");
}

}  // namespace dlroof::roofline
