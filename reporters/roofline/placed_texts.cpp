// The numbers and texts that tables, page and figures show of a placement.
#include <fmt/format.h>

#include <algorithm>

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
    if (time.times_over_roof && binding->fraction) return RoofShare{*binding->fraction, false};
    if (time.times_over_roof_at_least && binding->fraction_at_most)
      return RoofShare{*binding->fraction_at_most, true};
  }
  const auto times_over_roof = LeastTimesOverRoof(time);
  if (!times_over_roof || !(*times_over_roof > 0)) return std::nullopt;
  return RoofShare{1 / *times_over_roof, !time.times_over_roof};
}

std::string RoofShareText(const std::optional<RoofShare>& share, bool noisy) {
  if (!share) return "";
  return fmt::format("{}{}{}", AtMostMark(share->at_most), MarkOf(noisy),
                     text::PercentText(share->value));
}

std::string TimesOverRoofText(const TimePoint& time) {
  const auto times_over_roof = LeastTimesOverRoof(time);
  if (!times_over_roof) return "";
  return fmt::format("{}{}x", AtLeastMark(!time.times_over_roof),
                     text::ThreeDigits(*times_over_roof));
}

std::optional<WorkRate> WorkRateOf(const record::Record& record, const record::Timing& timing,
                                   const PlaceView& view) {
  const auto flops = BestKnownFlops(record);
  if (!flops || !(*flops > 0) || !(timing.median > 0)) return std::nullopt;
  WorkRate rate{.flops_per_second = *flops / timing.median};
  auto known = BestKnown(record, view).bytes;
  std::erase_if(known, [](const auto& level) { return !(level.second.first > 0); });
  if (known.empty()) return rate;
  rate.level = known.contains(Level::kDram) ? Level::kDram : known.rbegin()->first;
  rate.intensity = *flops / known.at(*rate.level).first;
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
