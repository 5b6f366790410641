#include "reporters/trajectory/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"

namespace dlroof::trajectory {
namespace {

constexpr double kIdealWithin = 0.05;  // [1]
constexpr double kBytesChange = 0.1;   // [1] beyond it bytes that no roof asks for are named

struct CauseWords {
  Cause cause;
  std::string_view lost, won;
};
constexpr CauseWords kWords[] = {
    {Cause::kBandwidth, "bandwidth shared", "bandwidth gained"},
    {Cause::kIntensity, "intensity lost", "intensity gained"},
    {Cause::kArithmetic, "clock lowered", "clock raised"},
    {Cause::kOverhead, "overhead grown", "overhead amortised"},
    {Cause::kImbalance, "imbalance", "less imbalance"},
    {Cause::kIdle, "idle threads", "fewer idle threads"},
    {Cause::kStolen, "time stolen by other programs", "less time stolen by other programs"},
    {Cause::kSharing, "sharing", "less sharing"},
    {Cause::kFunctions, "functions", "less time in functions"},
    {Cause::kProducts, "small products", "larger products"},
    {Cause::kLanes, "idle lanes", "fewer idle lanes"},
    {Cause::kKernel, "the kernel's own code", "a faster kernel"},
    {Cause::kLevels, "other levels", "less time at other levels"},
    {Cause::kUnexplained, "not explained", "not explained"}};

std::string_view WordsOfCause(Cause cause, bool lost) {
  const auto found = std::ranges::find(kWords, cause, &CauseWords::cause);
  return lost ? found->lost : found->won;
}

// One way through a trajectory.
struct Way {
  const Trajectory& trajectory;
  const TrajectoryPoint& from;
  const TrajectoryPoint& to;
  TrajectoryStep step;
  std::string about_from = {};  // "the peak"

  bool AlongThreads() const { return trajectory.along == kAlongThreads; }
  bool Lost() const { return step.loss.Total() > 0; }
  double Points(double change) const { return 100 * std::abs(step.loss.Share(change)); }
};

// [1] Returns a thread's rate of the binding roof there, over that at the other end.
double RoofRatio(const Way& way, bool arithmetic) {
  const auto thread_seconds = [&](const TrajectoryPoint& point) {
    const auto& roof = *point.cost.roof;
    const double threads = point.threads;
    if (arithmetic) return roof.arithmetic_seconds * threads / point.cost.work;
    const auto level = *way.step.loss.level;
    return roof.memory_seconds.at(level) * threads / roof.bytes.at(level);
  };
  return thread_seconds(way.from) / thread_seconds(way.to);
}

std::string BandwidthText(const Way& way) {
  if (!way.step.loss.level) return "the arithmetic hides more of the bytes' time";
  const double ratio = RoofRatio(way, false);
  return fmt::format("each thread's share of the {} roof {} to {:.0f} %",
                     roofline::LevelName(Key(*way.step.loss.level)), ratio < 1 ? "falls" : "grows",
                     100 * ratio);
}

// [1] Returns the bytes of a unit of work, over those at the other end.
double BytesRatio(const Way& way, Level level) {
  const auto bytes = [&](const TrajectoryPoint& point) {
    return point.cost.roof->bytes.at(level) / point.cost.work;
  };
  return bytes(way.to) / bytes(way.from);
}

// "the same work moves 2.00x the bytes of DRAM, modelled"; both points know this level.
std::string BytesText(const Way& way, Level level) {
  return fmt::format("the same work moves {}x the bytes of {}, {}",
                     text::ThreeDigits(BytesRatio(way, level)), roofline::LevelName(Key(level)),
                     Key(way.to.cost.roof->bytes_from.at(level)));
}

// Returns the level that asks for most time at the worse end, of those that both ends know.
std::optional<Level> SlowestLevel(const Way& way) {
  const auto& worse = way.Lost() ? way.to : way.from;
  const auto& other = way.Lost() ? way.from : way.to;
  std::optional<Level> slowest;
  double most = 0;
  for (const auto& [level, seconds] : worse.cost.roof->memory_seconds) {
    if (seconds <= most || !other.cost.roof->bytes.contains(level)) continue;
    most = seconds;
    slowest = level;
  }
  return slowest;
}

std::string IntensityText(const Way& way) {
  const auto level = way.step.loss.level;
  return level ? BytesText(way, *level) : "";
}

std::string ArithmeticText(const Way& way) {
  const double ratio = RoofRatio(way, true);
  return fmt::format("the arithmetic roof {} {} to {:.0f} %",
                     way.AlongThreads() ? "of a thread" : "for these pipes",
                     ratio < 1 ? "falls" : "grows", 100 * ratio);
}

// The largest part of a cause that the breakdown tells.
std::string PartText(const Way& way, Cause cause) {
  const auto found = way.step.loss.parts.find(cause);
  if (found == way.step.loss.parts.end()) return "";
  const auto& parts = found->second;
  const double sign = way.Lost() ? 1 : -1;
  const auto most =
      std::ranges::max_element(parts, {}, [&](const auto& part) { return sign * part.second; });
  if (parts.size() == 1) return std::string(breakdown::Words(most->first));
  return fmt::format("most of it: {}, {:.0f}", breakdown::Words(most->first),
                     way.Points(most->second));
}

std::string IdleText(const Way& way) {
  return fmt::format("the library works on {} of {} threads",
                     way.Lost() ? way.to.cost.team : way.from.cost.team,
                     way.Lost() ? way.to.threads : way.from.threads);
}

// Returns the cause's evidence.
std::string EvidenceText(const Way& way, Cause cause) {
  switch (cause) {
    case Cause::kBandwidth:
      return BandwidthText(way);
    case Cause::kIntensity:
      return IntensityText(way);
    case Cause::kArithmetic:
      return ArithmeticText(way);
    case Cause::kIdle:
      return IdleText(way);
    default:
      return PartText(way, cause);
  }
}

// "bandwidth shared (each thread's share of the DRAM roof falls to 61 %)"
std::string CauseText(const Way& way, Cause cause) {
  const auto evidence = EvidenceText(way, cause);
  return fmt::format("{}{}", WordsOfCause(cause, way.Lost()),
                     evidence.empty() ? "" : " (" + evidence + ")");
}

// "4.10x as fast as 1 thread, 51 % of ideal"
std::string RateText(const Way& way) {
  const auto& trajectory = way.trajectory;
  const auto to = ValueText(trajectory, way.to.value), from = ValueText(trajectory, way.from.value);
  const auto ratio = text::ThreeDigits(way.step.rate_ratio);
  if (!way.AlongThreads())
    return fmt::format("{} has {}x the FLOP/s of {}{}", to, ratio, from, way.about_from);
  return fmt::format("{} {} {}x as fast as {}, {:.0f} % of ideal", to,
                     way.to.value == 1 ? "is" : "are", ratio, from,
                     100 * way.step.loss.before / way.step.loss.after);
}

std::string WhyNotKnown(const Way& way) {
  const auto& loss = way.step.loss;
  if (!loss.placed) return "no roofs at both ends";
  if (!loss.watched) return "the parallel regions were not watched: --dlroof_explain";
  std::string why = "it is the threads' own busy time";
  const auto level = SlowestLevel(way);
  if (!level || std::abs(BytesRatio(way, *level) - 1) <= kBytesChange) return why;
  return why + ", while " + BytesText(way, *level);
}

bool RestsOnRoofs(Cause cause) {
  return cause == Cause::kBandwidth || cause == Cause::kIntensity || cause == Cause::kArithmetic;
}

// Returns whether the change is within the 95 % intervals of the times; without intervals it is
// not.
bool WithinIntervals(const Way& way) {
  const auto interval = [](const TrajectoryPoint& point) {
    const double scale = point.cost.Cost() / point.seconds;
    const auto [low, high] = point.ci95.value_or(std::pair(point.seconds, point.seconds));
    return std::pair(low * scale, high * scale);
  };
  const auto from = interval(way.from), to = interval(way.to);
  return from.first <= to.second && to.first <= from.second;
}

// Returns the cause with its points, and doubts about the roofs that it rests on.
std::string LargestText(const Way& way, Diagnosis& diagnosis) {
  const auto& loss = way.step.loss;
  const auto largest = loss.Largest();
  const double rest = (way.Lost() ? 1 : -1) * loss.by.at(Cause::kUnexplained);
  const double known = largest ? std::abs(loss.by.at(*largest)) : 0;
  const bool told = largest && known >= rest;
  diagnosis.cause = told ? *largest : Cause::kUnexplained;
  diagnosis.points = way.Points(told ? known : rest);
  auto text =
      fmt::format("{:.0f} points are {}", way.Points(loss.Total()), way.Lost() ? "lost" : "won");
  if (told)
    text += fmt::format(", {:.0f} by {}", diagnosis.points, CauseText(way, *largest));
  else
    text += fmt::format(", and nothing that was measured tells the cause of {:.0f} ({})",
                        diagnosis.points, WhyNotKnown(way));
  if (!told && way.Points(known) >= 1)
    text += fmt::format("; {:.0f} by {}", way.Points(known), CauseText(way, *largest));
  if (!largest || !RestsOnRoofs(*largest)) return text;
  if (way.from.specified || way.to.specified) return text + "; by roofs that are given";
  if (way.from.uncertain || way.to.uncertain) return text + "; a roof of these is not validated";
  return text;
}

// Returns where FLOP/s peak in between, as an index; the first point's without a peak.
std::size_t PeakOf(const Trajectory& trajectory) {
  if (trajectory.along == kAlongThreads) return 0;
  std::size_t peak = 0;
  double rate = 1, best = 1;
  for (std::size_t i = 0; i < trajectory.steps.size(); ++i) {
    rate *= trajectory.steps[i].rate_ratio;
    if (rate <= best) continue;
    best = rate;
    peak = i + 1;
  }
  const double more = 1 + kIdealWithin;
  return best > more && best > more * rate ? peak : 0;
}

std::string EstimateText(const Trajectory& trajectory) {
  const auto noisy =
      std::ranges::count_if(trajectory.points, [](const auto& point) { return point.noisy; });
  if (noisy == 0) return ".";
  return fmt::format("; {} of the {} times {} noisy, an estimate.", noisy, trajectory.points.size(),
                     noisy == 1 ? "is" : "are");
}

std::string MarkFor(const Trajectory& trajectory) {
  return std::string(roofline::MarkOf(
      std::ranges::any_of(trajectory.points, [](const auto& point) { return point.noisy; })));
}

Diagnosis DiagnoseWay(const Way& way) {
  Diagnosis diagnosis;
  const double ratio = way.step.loss.after / way.step.loss.before;
  auto& sentence = diagnosis.sentence = RateText(way);
  if (ratio <= 1 / (1 - kIdealWithin) && ratio >= 1 - kIdealWithin) {
    diagnosis.scaling = Scaling::kIdeal;
    sentence += way.AlongThreads() ? ": scaling is ideal within 5 %" : ": the same within 5 %";
    return diagnosis;
  }
  diagnosis.scaling = way.Lost() ? Scaling::kLoss : Scaling::kGain;
  sentence += ": " + LargestText(way, diagnosis);
  if (WithinIntervals(way)) sentence += "; the 95 % intervals of the times allow no change";
  return diagnosis;
}

// From the first point, or the peak, to the last.
Way WayOf(const Trajectory& trajectory) {
  const auto& points = trajectory.points;
  const auto peak = PeakOf(trajectory);
  Way way{trajectory, points[peak], points.back(), StepOf(trajectory, points[peak], points.back())};
  if (peak > 0)
    way.about_from =
        fmt::format(", the peak ({}x those of {})",
                    text::ThreeDigits(StepOf(trajectory, points[0], points[peak]).rate_ratio),
                    ValueText(trajectory, points[0].value));
  return way;
}

}  // namespace

Diagnosis Diagnose(const Trajectory& trajectory) {
  Diagnosis diagnosis;
  if (trajectory.points.size() < 2)
    diagnosis.sentence = "one point only: no step to compare";
  else if (trajectory.steps.empty())
    diagnosis = {.scaling = Scaling::kUnknown,
                 .sentence =
                     "the FLOPs of its points were counted in different ways: no step can "
                     "be compared"};
  else
    diagnosis = DiagnoseWay(WayOf(trajectory));
  diagnosis.sentence = MarkFor(trajectory) + diagnosis.sentence + EstimateText(trajectory);
  return diagnosis;
}

std::string StepText(const TrajectoryStep& step) {
  const auto& loss = step.loss;
  if (std::abs(loss.Share(loss.Total())) < kIdealWithin) return "";
  const bool lost = loss.Total() > 0;
  const auto largest = loss.Largest();
  const double rest = (lost ? 1 : -1) * loss.by.at(Cause::kUnexplained);
  const auto cause =
      largest && std::abs(loss.by.at(*largest)) >= rest ? *largest : Cause::kUnexplained;
  return fmt::format("{} {:+.0f}", WordsOfCause(cause, lost), 100 * loss.Share(loss.by.at(cause)));
}

}  // namespace dlroof::trajectory
