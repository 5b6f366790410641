#include "reporters/roofline/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporters/roofline/chart.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr double kIdealWithin = 0.05;  // [1] largest change of the cost
constexpr double kBytesChange = 0.1;   // [1] smaller changes of bytes are not mentioned

struct CauseWords {
  Cause cause;
  std::string_view lost, gained;
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
  return lost ? found->lost : found->gained;
}

// Two points of a trajectory and the step between them.
struct Comparison {
  const Trajectory& trajectory;
  const TrajectoryPoint& from;
  const TrajectoryPoint& to;
  TrajectoryStep step;
  std::string from_note = {};  // ", the peak (...)"

  bool AlongThreads() const { return trajectory.along == kAlongThreads; }
  bool Lost() const { return step.loss.Total() > 0; }
  double Points(double change) const { return 100 * std::abs(step.loss.Share(change)); }
};

// [1] Returns a thread's rate at the arithmetic or the binding memory roof, `to` / `from`.
double RoofRatio(const Comparison& pair, bool arithmetic) {
  const auto thread_seconds = [&](const TrajectoryPoint& point) {
    const auto& roof = *point.cost.roof;
    const double threads = point.threads;
    if (arithmetic) return roof.arithmetic_seconds * threads / point.cost.work;
    const auto level = *pair.step.loss.level;
    return roof.memory_seconds.at(level) * threads / roof.bytes.at(level);
  };
  return thread_seconds(pair.from) / thread_seconds(pair.to);
}

std::string BandwidthText(const Comparison& pair) {
  if (!pair.step.loss.level) return "the bytes' time overlaps more with the arithmetic";
  const double ratio = RoofRatio(pair, false);
  return fmt::format("each thread's share of the {} roof {} to {:.0f} %",
                     roofline::LevelName(Key(*pair.step.loss.level)), ratio < 1 ? "falls" : "grows",
                     100 * ratio);
}

// [1] Returns the bytes of `level` per unit of work, `to` / `from`.
double BytesRatio(const Comparison& pair, Level level) {
  const auto bytes = [&](const TrajectoryPoint& point) {
    return point.cost.roof->bytes.at(level) / point.cost.work;
  };
  return bytes(pair.to) / bytes(pair.from);
}

// Returns "the same work moves 2.00x the bytes of DRAM, modelled". Needs `level` at both points.
std::string BytesText(const Comparison& pair, Level level) {
  return fmt::format("the same work moves {}x the bytes of {}, {}",
                     text::ThreeDigits(BytesRatio(pair, level)), roofline::LevelName(Key(level)),
                     Key(pair.to.cost.roof->bytes_from.at(level)));
}

// Returns the level with the longest roof time at the worse point, if both points have its bytes.
std::optional<Level> SlowestLevel(const Comparison& pair) {
  const auto& worse = pair.Lost() ? pair.to : pair.from;
  const auto& other = pair.Lost() ? pair.from : pair.to;
  std::optional<Level> slowest;
  double most = 0;
  for (const auto& [level, seconds] : worse.cost.roof->memory_seconds) {
    if (seconds <= most || !other.cost.roof->bytes.contains(level)) continue;
    most = seconds;
    slowest = level;
  }
  return slowest;
}

std::string IntensityText(const Comparison& pair) {
  const auto level = pair.step.loss.level;
  return level ? BytesText(pair, *level) : "";
}

std::string ArithmeticText(const Comparison& pair) {
  const double ratio = RoofRatio(pair, true);
  return fmt::format("the arithmetic roof {} {} to {:.0f} %",
                     pair.AlongThreads() ? "of a thread" : "for these pipes",
                     ratio < 1 ? "falls" : "grows", 100 * ratio);
}

// Returns a text that names the largest breakdown component of a cause.
std::string ComponentText(const Comparison& pair, Cause cause) {
  const auto found = pair.step.loss.components.find(cause);
  if (found == pair.step.loss.components.end()) return "";
  const auto& components = found->second;
  const double sign = pair.Lost() ? 1 : -1;
  const auto most = std::ranges::max_element(
      components, {}, [&](const auto& component) { return sign * component.second; });
  if (components.size() == 1) return std::string(roofline::Words(most->first));
  return fmt::format("most of it: {}, {:.0f}", roofline::Words(most->first),
                     pair.Points(most->second));
}

std::string IdleText(const Comparison& pair) {
  return fmt::format("the library works on {} of {} threads",
                     pair.Lost() ? pair.to.cost.team : pair.from.cost.team,
                     pair.Lost() ? pair.to.threads : pair.from.threads);
}

// Returns the measured evidence for a cause as text.
std::string EvidenceText(const Comparison& pair, Cause cause) {
  switch (cause) {
    case Cause::kBandwidth:
      return BandwidthText(pair);
    case Cause::kIntensity:
      return IntensityText(pair);
    case Cause::kArithmetic:
      return ArithmeticText(pair);
    case Cause::kIdle:
      return IdleText(pair);
    default:
      return ComponentText(pair, cause);
  }
}

// Returns "bandwidth shared (each thread's share of the DRAM roof falls to 61 %)".
std::string CauseText(const Comparison& pair, Cause cause) {
  const auto evidence = EvidenceText(pair, cause);
  return fmt::format("{}{}", WordsOfCause(cause, pair.Lost()),
                     evidence.empty() ? "" : " (" + evidence + ")");
}

// Returns "8 threads are 4.10x as fast as 1 thread, 51 % of ideal".
std::string RateText(const Comparison& pair) {
  const auto& trajectory = pair.trajectory;
  const auto to = ValueText(trajectory, pair.to.value),
             from = ValueText(trajectory, pair.from.value);
  const auto ratio = text::ThreeDigits(pair.step.rate_ratio);
  if (!pair.AlongThreads())
    return fmt::format("{} has {}x the FLOP/s of {}{}", to, ratio, from, pair.from_note);
  return fmt::format("{} {} {}x as fast as {}, {:.0f} % of ideal", to,
                     pair.to.value == 1 ? "is" : "are", ratio, from,
                     100 * pair.step.loss.before / pair.step.loss.after);
}

// Returns why most of the loss is unexplained.
std::string UnexplainedReason(const Comparison& pair) {
  const auto& loss = pair.step.loss;
  if (!loss.placed) return "one of the points has no roofs";
  if (!loss.watched) return "the parallel regions were not watched: --dlroof_explain";
  std::string reason = "it is the threads' own busy time";
  const auto level = SlowestLevel(pair);
  if (!level || std::abs(BytesRatio(pair, *level) - 1) <= kBytesChange) return reason;
  return reason + ", while " + BytesText(pair, *level);
}

bool RestsOnRoofs(Cause cause) {
  return cause == Cause::kBandwidth || cause == Cause::kIntensity || cause == Cause::kArithmetic;
}

// Returns whether the 95 % intervals of the costs overlap. A time without an interval is exact.
bool WithinIntervals(const Comparison& pair) {
  const auto interval = [](const TrajectoryPoint& point) {
    const double scale = point.cost.Cost() / point.seconds;
    const auto [low, high] = point.ci95.value_or(std::pair(point.seconds, point.seconds));
    return std::pair(low * scale, high * scale);
  };
  const auto from = interval(pair.from), to = interval(pair.to);
  return from.first <= to.second && to.first <= from.second;
}

// Sets `cause` and `points`. Returns their text, with a warning if the roofs are uncertain.
std::string LargestText(const Comparison& pair, Diagnosis& diagnosis) {
  const auto& loss = pair.step.loss;
  const auto largest = loss.Largest();
  const double rest = (pair.Lost() ? 1 : -1) * loss.by.at(Cause::kUnexplained);
  const double known = largest ? std::abs(loss.by.at(*largest)) : 0;
  const bool explained = largest && known >= rest;
  diagnosis.cause = explained ? *largest : Cause::kUnexplained;
  diagnosis.points = pair.Points(explained ? known : rest);
  auto text = fmt::format("{:.0f} points are {}", pair.Points(loss.Total()),
                          pair.Lost() ? "lost" : "gained");
  if (explained)
    text += fmt::format(", {:.0f} by {}", diagnosis.points, CauseText(pair, *largest));
  else
    text += fmt::format(", and no measurement explains {:.0f} of them ({})", diagnosis.points,
                        UnexplainedReason(pair));
  if (!explained && pair.Points(known) >= 1)
    text += fmt::format("; {:.0f} by {}", pair.Points(known), CauseText(pair, *largest));
  if (!largest || !RestsOnRoofs(*largest)) return text;
  if (pair.from.specified || pair.to.specified) return text + "; the roofs are specified";
  if (pair.from.uncertain || pair.to.uncertain)
    return text + "; at least one of the roofs is not validated";
  return text;
}

// Returns the index of the point at which FLOP/s peak, or 0 without a peak between the ends.
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

Diagnosis DiagnoseStep(const Comparison& pair) {
  Diagnosis diagnosis;
  const double ratio = pair.step.loss.after / pair.step.loss.before;
  auto& sentence = diagnosis.sentence = RateText(pair);
  if (ratio <= 1 / (1 - kIdealWithin) && ratio >= 1 - kIdealWithin) {
    diagnosis.scaling = Scaling::kIdeal;
    sentence += pair.AlongThreads() ? ": scaling is ideal within 5 %" : ": the same within 5 %";
    return diagnosis;
  }
  diagnosis.scaling = pair.Lost() ? Scaling::kLoss : Scaling::kGain;
  sentence += ": " + LargestText(pair, diagnosis);
  if (WithinIntervals(pair)) sentence += "; the 95 % intervals of the times overlap";
  return diagnosis;
}

// Compares the last point with the peak of FLOP/s, or with the first point without a peak.
Comparison ComparisonOf(const Trajectory& trajectory) {
  const auto& points = trajectory.points;
  const auto peak = PeakOf(trajectory);
  Comparison pair{trajectory, points[peak], points.back(),
                  StepOf(trajectory, points[peak], points.back())};
  if (peak > 0)
    pair.from_note =
        fmt::format(", the peak ({}x those of {})",
                    text::ThreeDigits(StepOf(trajectory, points[0], points[peak]).rate_ratio),
                    ValueText(trajectory, points[0].value));
  return pair;
}

}  // namespace

Diagnosis Diagnose(const Trajectory& trajectory) {
  Diagnosis diagnosis;
  if (trajectory.points.size() < 2)
    diagnosis.sentence = "one point only: no step to compare";
  else if (trajectory.steps.empty())
    diagnosis = {.scaling = Scaling::kUnknown,
                 .sentence =
                     "the FLOPs of its points were counted in different ways: its steps are not "
                     "comparable"};
  else
    diagnosis = DiagnoseStep(ComparisonOf(trajectory));
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

}  // namespace dlroof::roofline
