// One sentence on a trajectory, and the largest cause of a step.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporters/roofline/trajectory.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr double kIdealWithin = 0.05;  // [1] largest change of the cost

// [1] Returns the loss as a share of the larger cost, negative for a gain.
double TotalShare(const Loss& loss) { return loss.Share(loss.Total()); }

// Returns "8 threads are 4.10x as fast as 1 thread, 51 % of ideal".
std::string RateText(const Trajectory& trajectory, const TrajectoryStep& step) {
  const auto& to = trajectory.points.back();
  const auto name = ValueText(trajectory, to.value),
             from = ValueText(trajectory, trajectory.points.front().value);
  const auto ratio = text::ThreeDigits(step.rate_ratio);
  if (trajectory.along != kAlongThreads)
    return fmt::format("{} has {}x the FLOP/s of {}", name, ratio, from);
  return fmt::format("{} {} {}x as fast as {}, {:.0f} % of ideal", name,
                     to.value == 1 ? "is" : "are", ratio, from,
                     100 * step.loss.before / step.loss.after);
}

// Returns whether the 95 % intervals of the costs overlap. A time without an interval is exact.
bool WithinIntervals(const TrajectoryPoint& one, const TrajectoryPoint& other) {
  const auto interval = [](const TrajectoryPoint& point) {
    const double scale = point.cost.Cost() / point.seconds;
    const auto [low, high] = point.ci95.value_or(std::pair(point.seconds, point.seconds));
    return std::pair(low * scale, high * scale);
  };
  const auto a = interval(one), b = interval(other);
  return a.first <= b.second && b.first <= a.second;
}

}  // namespace

std::string DiagnosisText(const Trajectory& trajectory) {
  const auto& points = trajectory.points;
  const std::string mark(MarkOf(std::ranges::any_of(points, &TrajectoryPoint::noisy)));
  if (points.size() < 2) return mark + "one point only: no step to compare.";
  if (trajectory.steps.empty())
    return mark +
           "the FLOPs of its points were counted in different ways: its steps are not comparable.";
  const auto step = StepOf(trajectory, points.front(), points.back());
  const auto rate = mark + RateText(trajectory, step);
  const double share = TotalShare(step.loss);
  if (std::abs(share) <= kIdealWithin) return rate + ": the cost is the same within 5 %.";
  const auto cause = step.loss.Largest();
  const double by = 100 * std::abs(step.loss.Share(step.loss.by.at(cause)));
  return fmt::format(
      "{}: {:.0f} points are {}, {}{}.", rate, 100 * std::abs(share), share > 0 ? "lost" : "gained",
      cause == Cause::kUnexplained ? fmt::format("and no measurement explains {:.0f} of them", by)
                                   : fmt::format("{:.0f} by {}", by, Key(cause)),
      WithinIntervals(points.front(), points.back()) ? "; the 95 % intervals of the times overlap"
                                                     : "");
}

std::string StepText(const TrajectoryStep& step) {
  if (std::abs(TotalShare(step.loss)) < kIdealWithin) return "";
  const auto cause = step.loss.Largest();
  return fmt::format("{} {:+.0f}", Key(cause), 100 * step.loss.Share(step.loss.by.at(cause)));
}

}  // namespace dlroof::roofline
