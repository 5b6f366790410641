#include "reporters/roofline/chart.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "reporters/record/joined_run.h"

namespace dlroof::roofline {
namespace {

// Returns whether a logarithmic axis can show the number.
bool IsDrawable(double value) { return std::isfinite(value) && value > 0; }

Roof RoofOf(std::string_view key, const machine::Ceiling& ceiling) {
  return {std::string(key), ceiling.per_second, ceiling.proved, ceiling.given,
          ceiling.sustained_per_second};
}

RoofSet MakeSet(const machine::Machine& machine, const machine::CeilingSet& ceilings, int threads) {
  RoofSet set{.device = machine.device, .machine = machine.name, .threads = threads};
  for (const auto& [pipe, ceiling] : ceilings.flops) set.flops.push_back(RoofOf(pipe, ceiling));
  std::ranges::stable_sort(set.flops, std::ranges::greater{}, &Roof::per_second);
  for (const auto& [level, ceiling] : ceilings.bytes)
    set.bytes.push_back(RoofOf(Key(level), ceiling));
  set.launch_seconds = ceilings.launch_seconds;
  set.ridges = ceilings.ridges;
  return set;
}

bool IsMeasured(const ClassicPoint& point) {
  return point.flops_from == Provenance::kMeasured && point.bytes_from == Provenance::kMeasured;
}

// Runs side by side are told apart by their labels: of more series the colours would not suffice.
std::string ChartSeries(const record::Record& record) {
  if (const auto label = record::LabelOf(record); !label.empty())
    return std::string(label) + (record.type.empty() ? "" : " " + record.type);
  if (record.direction.empty()) return record.name;
  return record.op + " " + record.direction + " " + record.type;
}

std::optional<std::pair<double, double>> Coordinates(const TimePoint& time, Level level) {
  const auto x = time.memory_seconds.find(level);
  if (x == time.memory_seconds.end() || !IsDrawable(x->second) || !IsDrawable(time.compute_seconds))
    return std::nullopt;
  return std::pair(x->second, time.compute_seconds);
}

// Calls visit(index, record, placed) for the placed records of a set.
template <class Visit>
void EachPlaced(const PlacedRun& run, const RoofSet& roofs, const Visit& visit) {
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (BelongsTo(run.file.records[i], roofs) && !run.places[i].placement.classic.empty())
      visit(i, run.file.records[i], run.places[i]);
}

}  // namespace

std::string_view DoubtText(const Roof& roof) {
  if (roof.given) return " (given, not measured here)";
  return roof.proved ? "" : " (not proved)";
}

std::optional<Roof> SustainedOf(const Roof& roof) {
  if (!roof.sustained_per_second) return std::nullopt;
  return Roof{roof.key, *roof.sustained_per_second, roof.proved, roof.given};
}

std::vector<RoofSet> RoofSets(const std::vector<machine::Machine>& machines) {
  std::vector<RoofSet> sets;
  for (const auto& machine : machines)
    for (auto set = machine.by_threads.rbegin(); set != machine.by_threads.rend(); ++set)
      sets.push_back(MakeSet(machine, set->second, set->first));
  return sets;
}

bool BelongsTo(const record::Record& record, const RoofSet& roofs) {
  return record.device == roofs.device && (record.threads == 0 || record.threads == roofs.threads);
}

std::optional<std::size_t> MainRoofSet(const PlacedRun& run, const std::vector<RoofSet>& sets) {
  std::optional<std::size_t> main;
  std::size_t most = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    std::size_t placed = 0;
    EachPlaced(run, sets[i], [&](auto&&...) { ++placed; });
    if (main && placed <= most) continue;
    most = placed;
    main = i;
  }
  return main;
}

std::set<std::string> PipesInUse(const PlacedRun& run, const RoofSet& roofs) {
  std::set<std::string> used, drawn;
  EachPlaced(run, roofs, [&](std::size_t, const record::Record& record, const Placed& placed) {
    const TimePoint& time = *placed.placement.time;
    for (const auto& [from, work] : record.work)
      for (const auto& [pipe, flops] : work.flops) {
        if (flops == 0) continue;
        const auto found = time.compute_roofs.find(pipe);
        const auto& row = found == time.compute_roofs.end() ? pipe : found->second;
        used.insert(row);
        // The pipe has a time at its own ceiling while another one judges its FLOPs.
        if (time.pipe_seconds.contains(pipe) && !row.starts_with(pipe)) used.insert(pipe);
      }
  });
  for (const Roof& roof : roofs.flops)
    if (used.contains(roof.key)) drawn.insert(roof.key);
  return drawn;
}

bool IsFinerPipe(std::string_view key) { return std::ranges::count(key, '.') > 1; }

std::string LevelName(std::string_view key) {
  std::string name(key);
  if (!LevelFromKey(key)) return name;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

double RidgeIntensity(const Roof& flat, const Roof& slanted) {
  return flat.per_second / slanted.per_second;
}

std::optional<Level> MainLevel(const PlacedRun& run, const RoofSet& roofs) {
  std::optional<Level> main;
  std::size_t most = 0;
  for (const Level level : AllLevels()) {
    const auto marks = ClassicMarks(run, roofs, level).size();
    if (marks == 0 || marks < most) continue;
    most = marks;
    main = level;
  }
  return main;
}

std::optional<std::pair<double, double>> RateInterval(const record::Timing& timing,
                                                      double flops_per_second) {
  if (!timing.ci95) return std::nullopt;
  const auto [low, high] = *timing.ci95;
  if (!(low > 0 && low <= timing.median && timing.median <= high)) return std::nullopt;
  return std::pair(flops_per_second * timing.median / high, flops_per_second * timing.median / low);
}

std::vector<ClassicMark> ClassicMarks(const PlacedRun& run, const RoofSet& roofs, Level level) {
  std::vector<ClassicMark> marks;
  EachPlaced(run, roofs, [&](std::size_t i, const record::Record& record, const Placed& placed) {
    const auto* point = PointOf(placed.placement, level);
    if (point == nullptr || !IsDrawable(point->intensity) || !IsDrawable(point->flops_per_second))
      return;
    marks.push_back({i, ChartSeries(record), point->intensity, point->flops_per_second,
                     IsMeasured(*point), RateInterval(*placed.timing, point->flops_per_second),
                     placed.timing->disturbed});
  });
  return marks;
}

std::vector<double> PipesUntil(const TimePoint& time) {
  std::vector<double> until;
  double sum = 0;
  for (const auto& [pipe, seconds] : time.pipe_seconds) {
    sum += seconds;
    if (sum > 0) until.push_back(sum);
  }
  return until;
}

std::optional<std::pair<double, double>> TimePlace(const TimePoint& time, Level level) {
  const auto complexity = Coordinates(time, level);
  const auto& unproved = time.unproved_levels;
  if (!complexity || !IsDrawable(time.seconds) || !time.gap ||
      std::ranges::count(unproved, level) > 0)
    return std::nullopt;
  const double scale = time.seconds / std::max(complexity->first, complexity->second);
  return std::pair(complexity->first * scale, complexity->second * scale);
}

std::vector<TimeMark> TimeMarks(const PlacedRun& run, const RoofSet& roofs, Level level) {
  std::vector<TimeMark> marks;
  EachPlaced(run, roofs, [&](std::size_t i, const record::Record& record, const Placed& placed) {
    const TimePoint& time = *placed.placement.time;
    const auto complexity = Coordinates(time, level);
    if (!complexity) return;
    const auto* point = PointOf(placed.placement, level);
    auto overhead = time.overhead_seconds;
    if (overhead && !IsDrawable(*overhead)) overhead.reset();
    marks.push_back({i, ChartSeries(record), point != nullptr && IsMeasured(*point), *complexity,
                     TimePlace(time, level), overhead, PipesUntil(time), placed.timing->disturbed});
  });
  return marks;
}

}  // namespace dlroof::roofline
