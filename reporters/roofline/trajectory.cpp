#include "reporters/roofline/trajectory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <tuple>

#include "counters/base/keys.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr KeyRow<Cause> kKeys[] = {
    {Cause::kBandwidth, "bandwidth"}, {Cause::kIntensity, "intensity"},
    {Cause::kArithmetic, "clock"},    {Cause::kOverhead, "overhead"},
    {Cause::kImbalance, "imbalance"}, {Cause::kIdle, "idle"},
    {Cause::kStolen, "stolen"},       {Cause::kSharing, "sharing"},
    {Cause::kFunctions, "functions"}, {Cause::kProducts, "products"},
    {Cause::kLanes, "lanes"},         {Cause::kKernel, "kernel"},
    {Cause::kLevels, "levels"},       {Cause::kUnexplained, "unexplained"}};

// The cause of each breakdown component, except kRoof (see AddRoofCauses) and kUnexplained.
using enum ComponentKind;
constexpr std::pair<ComponentKind, Cause> kCauses[] = {
    {kFunctions, Cause::kFunctions}, {kProducts, Cause::kProducts}, {kFixed, Cause::kOverhead},
    {kSharing, Cause::kSharing},     {kLanes, Cause::kLanes},       {kInstructions, Cause::kKernel},
    {kLevels, Cause::kLevels},       {kDistance, Cause::kLevels},   {kKernel, Cause::kKernel},
    {kImbalance, Cause::kImbalance}, {kForkJoin, Cause::kOverhead}, {kSerial, Cause::kOverhead},
    {kCall, Cause::kOverhead},       {kStolen, Cause::kStolen},     {kTail, Cause::kImbalance},
    {kLaunch, Cause::kOverhead},     {kIdle, Cause::kOverhead}};

// The three factors of the cost at the roof (trajectory.h): max(arithmetic, bytes x rate).
struct Factors {
  double arithmetic = 0;          // [thread seconds / unit of work]
  std::map<Level, double> bytes;  // [byte / unit of work]
  std::map<Level, double> rate;   // [thread seconds / byte]
};

Factors FactorsOf(const CostFacts& facts, const RoofTime& other) {
  const auto& roof = *facts.roof;
  Factors factors{.arithmetic = roof.arithmetic_seconds * facts.threads / facts.work};
  for (const auto& [level, seconds] : roof.memory_seconds) {
    if (!other.memory_seconds.contains(level)) continue;
    const double bytes = roof.bytes.at(level);
    factors.bytes[level] = bytes / facts.work;
    factors.rate[level] = seconds * facts.threads / bytes;
  }
  return factors;
}

// Returns the cost at the roof. Each factor may be from the point before or after a step.
double RoofCost(const Factors& arithmetic, const Factors& bytes, const Factors& rate) {
  double cost = arithmetic.arithmetic;
  for (const auto& [level, count] : bytes.bytes) cost = std::max(cost, count * rate.rate.at(level));
  return cost;
}

void AddRoofCauses(const Factors& before, const Factors& after, Loss& loss) {
  constexpr Cause kFactors[] = {Cause::kArithmetic, Cause::kIntensity, Cause::kBandwidth};
  std::array<int, 3> order = {0, 1, 2};
  for (const auto cause : kFactors) loss.by[cause] = 0;
  do {
    std::array<const Factors*, 3> from = {&before, &before, &before};
    double cost = RoofCost(*from[0], *from[1], *from[2]);
    for (const int factor : order) {
      from.at(factor) = &after;
      const double next = RoofCost(*from[0], *from[1], *from[2]);
      loss.by[kFactors[factor]] += (next - cost) / 6;  // mean over 6 orders
      cost = next;
    }
  } while (std::ranges::next_permutation(order).found);
}

double CostOf(ComponentKind kind, const CostFacts& facts) {
  const auto* component = facts.breakdown->Find(kind);
  return component == nullptr ? 0 : component->seconds * facts.team / facts.work;
}

void AddBreakdownCauses(const CostFacts& before, const CostFacts& after, Loss& loss) {
  for (const auto& [kind, cause] : kCauses)
    loss.by[cause] += CostOf(kind, after) - CostOf(kind, before);
  const auto idle = [](const CostFacts& facts) {
    return facts.seconds * std::max(0, facts.threads - facts.team) / facts.work;
  };
  loss.by[Cause::kIdle] = idle(after) - idle(before);
}

std::vector<std::string> PartsOf(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream text(name);
  for (std::string part; std::getline(text, part, '/');) parts.push_back(part);
  return parts;
}

// Returns the record's name with * for the swept value; along threads, without their number.
std::string NameOf(const record::Record& record, std::string_view along,
                   const OpVocabulary& words) {
  auto parts = PartsOf(record.name);
  const bool weak = along == kAlongWeak;
  if (along == kAlongThreads || weak)
    std::erase_if(parts, [](const auto& part) { return part.starts_with(kAlongThreads); });
  const auto op = words.find(record.op);
  for (auto& part : parts) {
    if (op == words.end() || part != record.problem) continue;
    for (const auto& word : op->second.sweep)
      if (word.name == (weak ? "batch" : along)) part = WithValue(part, word, "*").front();
  }
  auto name = fmt::format("{}", fmt::join(parts, "/"));
  if (weak) name += fmt::format(", batch {:g} a thread", BatchPerThread(record, words).value());
  return name;
}

// Returns the most trusted provenance that has FLOPs for all records of the line, or nullopt.
std::optional<Provenance> CommonOrigin(const PlacedRun& run, const SweepLine& line) {
  for (const auto from : AllProvenances())
    if (std::ranges::all_of(line.records, [&](std::size_t i) {
          const auto* const work = FindValue(run.file.records[i].work, from);
          return work != nullptr && TotalFlops(*work).value_or(0) > 0;
        }))
      return from;
  return std::nullopt;
}

std::optional<Level> CommonLevel(const PlacedRun& run, const SweepLine& line) {
  std::optional<Level> farthest;
  for (const auto level : AllLevels())
    if (level != Level::kHost && std::ranges::all_of(line.records, [&](std::size_t i) {
          const auto* point = PointOf(run.places[i].placement, level);
          return point != nullptr && std::isfinite(point->intensity);
        }))
      farthest = level;
  return farthest;
}

std::optional<RoofTime> RoofTimeOf(const Placement& placement) {
  if (!placement.time) return std::nullopt;
  RoofTime roof{.arithmetic_seconds = placement.time->compute_seconds};
  for (const auto& point : placement.classic) {
    const auto seconds = FindCopy(placement.time->memory_seconds, point.level);
    if (!seconds || !(*seconds > 0)) continue;
    roof.memory_seconds[point.level] = *seconds;
    roof.bytes[point.level] = point.flops_per_second * placement.time->seconds / point.intensity;
  }
  return roof;
}

TrajectoryPoint MakePoint(const PlacedRun& run, std::size_t index, double value,
                          const std::optional<Level>& level) {
  const auto& record = run.file.records[index];
  const auto& placed = run.places[index];
  TrajectoryPoint point{.record = index,
                        .value = value,
                        .threads = record.threads.value_or(1),
                        .seconds = placed.timing->median,
                        .ci95 = placed.timing->ci95,
                        .noisy = placed.timing->noisy};
  const auto& [placement, time] = std::tie(placed.placement, placed.placement.time);
  if (time) {
    point.share = RoofShare{1 / time->times_over_roof, time->at_least};
    point.specified = time->specified;
  }
  if (const auto* classic = level ? PointOf(placement, *level) : nullptr)
    point.intensity = classic->intensity;
  point.cost = {.seconds = point.seconds,
                .threads = point.threads,
                .roof = RoofTimeOf(placement),
                .breakdown = placed.breakdown,
                .team = record.parallel ? record.parallel->threads : point.threads};
  return point;
}

// Sets the work of each point. Returns whether the points' work is comparable.
bool AddWork(const PlacedRun& run, const SweepLine& line, Trajectory& trajectory) {
  const auto origin = CommonOrigin(run, line);
  const bool same_problem = trajectory.along == kAlongThreads && !trajectory.per_thread;
  for (auto& point : trajectory.points) {
    if (!origin) continue;
    const double flops = *TotalFlops(run.file.records[point.record].work.at(*origin));
    point.flops_per_second = flops / point.seconds;
    if (!same_problem) point.cost.work = flops;
  }
  return origin || same_problem;
}

Trajectory MakeTrajectory(const PlacedRun& run, std::string_view along, const SweepLine& line) {
  const bool weak = along == kAlongWeak;
  Trajectory trajectory{.along = std::string(weak ? kAlongThreads : along),
                        .level = CommonLevel(run, line)};
  const auto& words = run.view.words.empty() ? WordsOf(run.file.context) : run.view.words;
  const auto& first = run.file.records[line.records.front()];
  if (weak) trajectory.per_thread = BatchPerThread(first, words);
  trajectory.name = NameOf(first, along, words);
  for (std::size_t i = 0; i < line.records.size(); ++i)
    trajectory.points.push_back(MakePoint(run, line.records[i], line.values[i], trajectory.level));
  if (!AddWork(run, line, trajectory)) return trajectory;
  for (std::size_t i = 1; i < trajectory.points.size(); ++i)
    trajectory.steps.push_back(StepOf(trajectory, trajectory.points[i - 1], trajectory.points[i]));
  return trajectory;
}

// Returns, for each part of the first trajectory's name, whether all names have the same part at
// this position. Returns an empty vector for a single trajectory.
std::vector<bool> SharedParts(const std::vector<Trajectory>& trajectories) {
  if (trajectories.size() < 2) return {};
  const auto first = PartsOf(trajectories.front().name);
  std::vector<bool> shared(first.size(), true);
  for (const auto& trajectory : trajectories) {
    const auto parts = PartsOf(trajectory.name);
    for (std::size_t i = 0; i < shared.size(); ++i)
      shared[i] = shared[i] && i < parts.size() && parts[i] == first[i];
  }
  return shared;
}

void Label(std::vector<Trajectory>& trajectories) {
  const auto shared = SharedParts(trajectories);
  for (auto& trajectory : trajectories) {
    std::vector<std::string> own;
    const auto parts = PartsOf(trajectory.name);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (i >= shared.size() || !shared[i]) own.push_back(parts[i]);
    trajectory.label = own.empty() ? trajectory.name : fmt::format("{}", fmt::join(own, "/"));
  }
}

// Returns `along` (if it is empty, what Trajectories selects instead) and the lines along it.
std::pair<std::string, std::vector<SweepLine>> LinesAlong(const PlacedRun& run,
                                                          std::string_view along,
                                                          std::size_t least) {
  if (along.empty() || along == kAlongThreads) {
    auto lines = ThreadLines(run, least);
    if (!along.empty() || !lines.empty()) return {std::string(kAlongThreads), std::move(lines)};
    for (const auto& parameter : SweepParameters(WordsOf(run.file.context)))
      if (auto found = SweepLines(run, parameter, least); !found.empty())
        return {parameter.word.name, std::move(found)};
    return {std::string(kAlongThreads), {}};
  }
  if (along == kAlongWeak) return {std::string(along), ThreadLines(run, least, true)};
  return {std::string(along), SweepLines(run, along, least)};
}

constexpr double kIdealWithin = 0.05;  // [1] largest change of the cost that counts as no change

// Returns the loss as a share of the larger cost [1], negative for a gain.
double TotalShare(const Loss& loss) { return loss.Share(loss.Total()); }

// Returns e.g. "8 threads are 4.10x as fast as 1 thread, 51 % of ideal".
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

// Returns whether the 95 % intervals of the costs overlap; without one, a cost is taken as exact.
bool WithinIntervals(const TrajectoryPoint& first, const TrajectoryPoint& second) {
  const auto interval = [](const TrajectoryPoint& point) {
    const double scale = point.cost.Cost() / point.seconds;
    const auto [low, high] = point.ci95.value_or(std::pair(point.seconds, point.seconds));
    return std::pair(low * scale, high * scale);
  };
  const auto a = interval(first), b = interval(second);
  return a.first <= b.second && b.first <= a.second;
}

}  // namespace

std::string_view Key(Cause cause) { return KeyIn(kKeys, cause); }

double Loss::Share(double change) const { return change / std::max(before, after); }

Cause Loss::Largest() const {
  const double sign = Total() < 0 ? -1 : 1;
  return std::ranges::max_element(by, {}, [&](const auto& each) { return sign * each.second; })
      ->first;
}

Loss LossOf(const CostFacts& before, const CostFacts& after) {
  Loss loss{.before = before.Cost(), .after = after.Cost()};
  if (before.roof && after.roof)
    AddRoofCauses(FactorsOf(before, *after.roof), FactorsOf(after, *before.roof), loss);
  if (before.breakdown && after.breakdown) AddBreakdownCauses(before, after, loss);
  double rest = loss.Total();
  for (const auto& [cause, change] : loss.by) rest -= change;
  loss.by[Cause::kUnexplained] = rest;
  return loss;
}

TrajectoryStep StepOf(const Trajectory& trajectory, const TrajectoryPoint& before,
                      const TrajectoryPoint& after) {
  TrajectoryStep step{.loss = LossOf(before.cost, after.cost)};
  step.rate_ratio = (after.cost.work / after.seconds) / (before.cost.work / before.seconds);
  if (trajectory.along == kAlongThreads && after.threads != before.threads)
    step.efficiency =
        std::log2(step.rate_ratio) / std::log2(static_cast<double>(after.threads) / before.threads);
  return step;
}

std::vector<Trajectory> Trajectories(const PlacedRun& run, std::string_view along,
                                     std::size_t least) {
  const auto [name, lines] = LinesAlong(run, along, least);
  std::vector<Trajectory> trajectories;
  for (const auto& line : lines) trajectories.push_back(MakeTrajectory(run, name, line));
  Label(trajectories);
  return trajectories;
}

std::string ValueText(const Trajectory& trajectory, double value) {
  if (trajectory.along == kAlongThreads)
    return fmt::format("{:g} thread{}", value, value == 1 ? "" : "s");
  return fmt::format("{} {:g}", trajectory.along, value);
}

std::string SharedName(const std::vector<Trajectory>& trajectories) {
  const auto shared = SharedParts(trajectories);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shared.size(); ++i)
    if (shared[i]) parts.push_back(PartsOf(trajectories.front().name)[i]);
  return fmt::format("{}", fmt::join(parts, "/"));
}

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
