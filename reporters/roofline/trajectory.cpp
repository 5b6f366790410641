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

// Cause of each breakdown component, except kRoof (divided by AddRoofCauses) and kUnexplained.
constexpr std::pair<roofline::ComponentKind, Cause> kCauses[] = {
    {roofline::ComponentKind::kFunctions, Cause::kFunctions},
    {roofline::ComponentKind::kProducts, Cause::kProducts},
    {roofline::ComponentKind::kFixed, Cause::kOverhead},
    {roofline::ComponentKind::kSharing, Cause::kSharing},
    {roofline::ComponentKind::kLanes, Cause::kLanes},
    {roofline::ComponentKind::kInstructions, Cause::kKernel},
    {roofline::ComponentKind::kLevels, Cause::kLevels},
    {roofline::ComponentKind::kDistance, Cause::kLevels},
    {roofline::ComponentKind::kKernel, Cause::kKernel},
    {roofline::ComponentKind::kImbalance, Cause::kImbalance},
    {roofline::ComponentKind::kForkJoin, Cause::kOverhead},
    {roofline::ComponentKind::kSerial, Cause::kOverhead},
    {roofline::ComponentKind::kCall, Cause::kOverhead},
    {roofline::ComponentKind::kStolen, Cause::kStolen},
    {roofline::ComponentKind::kTail, Cause::kImbalance},
    {roofline::ComponentKind::kLaunch, Cause::kOverhead},
    {roofline::ComponentKind::kIdle, Cause::kOverhead}};

// The factors of the cost at the roof, max(arithmetic, bytes x rate), per unit of work.
struct Factors {
  double arithmetic = 0;          // [s of one thread]
  std::map<Level, double> bytes;  // [byte]
  std::map<Level, double> rate;   // [s of one thread / byte]
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

// Returns the cost at the roof. Each factor may be that of another point.
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

double CostOf(roofline::ComponentKind kind, const CostFacts& facts) {
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

// Returns the record's name without its number of threads, or with * for the value of a size.
std::string NameOf(const record::Record& record, std::string_view along,
                   const roofline::OpVocabulary& words) {
  auto parts = PartsOf(record.name);
  const bool weak = along == kAlongWeak;
  if (along == kAlongThreads || weak)
    std::erase_if(parts, [](const auto& part) { return part.starts_with(kAlongThreads); });
  const auto op = words.find(record.op);
  for (auto& part : parts) {
    if (op == words.end() || part != record.problem) continue;
    for (const auto& word : op->second.sweep)
      if (word.name == (weak ? "batch" : along))
        part = roofline::WithValue(part, word, "*").front();
  }
  auto name = fmt::format("{}", fmt::join(parts, "/"));
  if (weak)
    name += fmt::format(", batch {:g} a thread", roofline::BatchPerThread(record, words).value());
  return name;
}

// Returns the most trusted provenance that has the FLOPs of all records of the line.
std::optional<Provenance> CommonOrigin(const roofline::PlacedRun& run,
                                       const roofline::SweepLine& line) {
  for (const auto from : AllProvenances())
    if (std::ranges::all_of(line.records, [&](std::size_t i) {
          const auto& work = run.file.records[i].work;
          const auto found = work.find(from);
          return found != work.end() && TotalFlops(found->second).value_or(0) > 0;
        }))
      return from;
  return std::nullopt;
}

std::optional<Level> CommonLevel(const roofline::PlacedRun& run, const roofline::SweepLine& line) {
  std::optional<Level> farthest;
  for (const auto level : AllLevels())
    if (level != Level::kHost && std::ranges::all_of(line.records, [&](std::size_t i) {
          const auto* point = roofline::PointOf(run.places[i].placement, level);
          return point != nullptr && std::isfinite(point->intensity);
        }))
      farthest = level;
  return farthest;
}

std::optional<RoofTime> RoofTimeOf(const roofline::Placement& placement) {
  if (!placement.time) return std::nullopt;
  RoofTime roof{.arithmetic_seconds = placement.time->compute_seconds};
  for (const auto& point : placement.classic) {
    const auto seconds = placement.time->memory_seconds.find(point.level);
    if (seconds == placement.time->memory_seconds.end() || !(seconds->second > 0)) continue;
    roof.memory_seconds[point.level] = seconds->second;
    roof.bytes[point.level] = point.flops_per_second * placement.time->seconds / point.intensity;
  }
  return roof;
}

TrajectoryPoint MakePoint(const roofline::PlacedRun& run, std::size_t index, double value,
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
    point.uncertain = !time->times_over_roof;
    point.specified = time->specified;
    if (const auto times = roofline::LeastTimesOverRoof(*time)) point.fraction = 1 / *times;
  }
  if (const auto* classic = level ? roofline::PointOf(placement, *level) : nullptr) {
    point.intensity = classic->intensity;
  }
  point.cost = {.seconds = point.seconds,
                .threads = point.threads,
                .roof = RoofTimeOf(placement),
                .breakdown = placed.breakdown,
                .team = record.parallel ? record.parallel->threads : point.threads};
  return point;
}

// Sets the work of each point. Returns whether the works are comparable.
bool AddWork(const roofline::PlacedRun& run, const roofline::SweepLine& line,
             Trajectory& trajectory) {
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

Trajectory MakeTrajectory(const roofline::PlacedRun& run, std::string_view along,
                          const roofline::SweepLine& line) {
  const bool weak = along == kAlongWeak;
  Trajectory trajectory{.along = std::string(weak ? kAlongThreads : along),
                        .level = CommonLevel(run, line)};
  const auto& words = run.view.words.empty() ? roofline::WordsOf(run.file.context) : run.view.words;
  const auto& first = run.file.records[line.records.front()];
  if (weak) trajectory.per_thread = roofline::BatchPerThread(first, words);
  trajectory.name = NameOf(first, along, words);
  for (std::size_t i = 0; i < line.records.size(); ++i)
    trajectory.points.push_back(MakePoint(run, line.records[i], line.values[i], trajectory.level));
  if (!AddWork(run, line, trajectory)) return trajectory;
  for (std::size_t i = 1; i < trajectory.points.size(); ++i)
    trajectory.steps.push_back(StepOf(trajectory, trajectory.points[i - 1], trajectory.points[i]));
  return trajectory;
}

// Returns for each part of the first name whether all names have the same part there, or nothing
// for a single trajectory.
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

// Returns the lines along `along`, and the parameter that an empty `along` selects.
std::pair<std::string, std::vector<roofline::SweepLine>> LinesAlong(const roofline::PlacedRun& run,
                                                                    std::string_view along,
                                                                    std::size_t least) {
  if (along.empty() || along == kAlongThreads) {
    auto lines = roofline::ThreadLines(run, least);
    if (!along.empty() || !lines.empty()) return {std::string(kAlongThreads), std::move(lines)};
    for (const auto& parameter : roofline::SweepParameters(roofline::WordsOf(run.file.context)))
      if (auto found = roofline::SweepLines(run, parameter, least); !found.empty())
        return {parameter.word.name, std::move(found)};
    return {std::string(kAlongThreads), {}};
  }
  if (along == kAlongWeak) return {std::string(along), roofline::WeakLines(run, least)};
  return {std::string(along), roofline::SweepLines(run, along, least)};
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

std::vector<Trajectory> Trajectories(const roofline::PlacedRun& run, std::string_view along,
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

}  // namespace dlroof::roofline
