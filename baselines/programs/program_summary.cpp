#include "baselines/programs/program_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "baselines/programs/program_report.h"
#include "baselines/statistics/shift.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

std::vector<ProgramPrimitive> PrimitivesOf(const logs::VerboseLog& log,
                                           const std::vector<double>& call_seconds) {
  std::vector<ProgramPrimitive> primitives;
  for (const auto& text : log.primitives) primitives.push_back({.text = text});
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    auto& primitive = primitives[log.executions[i].primitive];
    ++primitive.calls;
    primitive.seconds += call_seconds[i];
  }
  for (auto& primitive : primitives) {
    const auto work = logs::WorkOf(logs::ReadPrimitive(primitive.text));
    primitive.moves_data = logs::HasNoFlops(work);
    primitive.work_unknown = work.reason;
  }
  return primitives;
}

// A step after the warm-up is an outlier if its wall time differs from the median by this many
// standard deviations (estimated by the median absolute deviation) and by this share of the median.
constexpr double kOutlier = 3.5, kOutlierShare = 0.25;

double WallOf(const StepRange& range) {
  return range.begin_seconds && range.end_seconds ? *range.end_seconds - *range.begin_seconds : 0;
}

std::vector<double> WallsOf(const std::vector<StepRange>& ranges) {
  auto walls = VectorOf<double>(ranges, WallOf);
  std::erase_if(walls, [](double wall) { return wall <= 0; });
  return walls;
}

// Returns the steps over which means are computed: those with a wall time except outliers, or all
// steps if none has a wall time. Adds the number of outliers to `outliers`.
std::vector<StepRange> AveragedSteps(const Steps& steps, int& outliers) {
  const auto walls = WallsOf(steps.ranges);
  if (walls.empty()) return steps.ranges;
  const double median = Median(walls);
  const double most =
      std::max(kOutlier * statistics::RobustDeviation(walls, median), kOutlierShare * median);
  std::vector<StepRange> timed;
  for (const auto& range : steps.ranges) {
    if (!(WallOf(range) > 0)) continue;
    if (walls.size() >= 3 && std::abs(WallOf(range) - median) > most)
      ++outliers;
    else
      timed.push_back(range);
  }
  return timed;
}

bool IsMain(const logs::VerboseLog& log, std::size_t execution) {
  return log.executions[execution].process == log.main_process;
}

void AddSteps(const logs::VerboseLog& log, const Timeline& timeline, Steps found,
              ProgramSummary& summary) {
  auto& steps = summary.steps;
  const auto slow = WarmUpSteps(VectorOf<double>(found.ranges, WallOf));
  steps.warm_up_steps = static_cast<int>(slow);
  found.ranges.erase(found.ranges.begin(),
                     found.ranges.begin() + static_cast<std::ptrdiff_t>(slow));
  steps.from = found.from;
  steps.reason = found.reason;
  steps.count = static_cast<int>(found.ranges.size());
  if (found.ranges.empty()) return;
  const auto first = found.ranges.front().begin;
  for (std::size_t i = 0; i < first; ++i) {
    if (!IsMain(log, i)) continue;
    ++steps.warm_up_calls;
    steps.warm_up_seconds += log.executions[i].seconds;
  }
  const auto averaged = AveragedSteps(found, steps.outliers);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const auto& range : averaged) places.emplace_back(range.begin, range.end);
  const auto walls = WallsOf(averaged);
  SetStepMeans(
      log, timeline, walls, averaged.size(),
      [&](const auto&, std::size_t place) { return RangeWith(places, place).has_value(); },
      summary);
  if (const auto interval = MedianInterval95(walls)) {
    steps.median_low_seconds = interval->first;
    steps.median_high_seconds = interval->second;
  }
}

std::vector<ProgramProcess> ProcessesOf(const logs::VerboseLog& log,
                                        const std::vector<double>& call_seconds) {
  std::vector<ProgramProcess> processes(log.processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    processes[i].id = log.processes[i].id;
    processes[i].main = i == log.main_process;
  }
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    const auto& execution = log.executions[i];
    auto& process = processes[execution.process];
    ++process.calls;
    process.seconds += call_seconds[i];
  }
  std::erase_if(processes, [](const ProgramProcess& process) { return process.calls == 0; });
  return processes;
}

bool HasSteps(const ProgramSummary& summary) { return summary.steps.count > 0; }

void AddComponent(ProgramComponentKind kind, std::string label, double seconds,
                  ProgramBreakdown& breakdown) {
  if (!(seconds > 0)) return;
  breakdown.components.push_back({kind, std::move(label), seconds});
  breakdown.seconds += seconds;
}

void AddByKind(ProgramComponentKind component, std::string_view prefix,
               const std::map<std::string, double>& by_kind, ProgramBreakdown& breakdown) {
  std::vector<std::pair<std::string, double>> rows(by_kind.begin(), by_kind.end());
  std::ranges::stable_sort(rows, std::ranges::greater{}, &std::pair<std::string, double>::second);
  for (const auto& [kind, seconds] : rows)
    AddComponent(component, fmt::format("{}{}", prefix, kind), seconds, breakdown);
}

std::unordered_map<std::string_view, std::size_t> IndexByName(const roofline::PlacedRun& run) {
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < run.file.records.size() && i < run.places.size(); ++i)
    index.try_emplace(run.file.records[i].name, i);
  return index;
}

// Adds PyTorch's operators by kind. Kinds with little time become one component.
void AddOperators(std::map<std::string, double> by_kind, ProgramBreakdown& breakdown) {
  constexpr double kLittle = 0.02;  // [1] of the time of all components so far and all operators
  double all = breakdown.seconds, little = 0;
  for (const auto& [kind, seconds] : by_kind) all += seconds;
  for (auto& [kind, seconds] : by_kind)
    if (seconds < kLittle * all) little += std::exchange(seconds, 0);
  AddByKind(ProgramComponentKind::kOperator, "operator: ", by_kind, breakdown);
  AddComponent(ProgramComponentKind::kOperator, "other operators", little, breakdown);
}

std::string OutsideLabel(const ProgramSummary& summary, bool of_step) {
  if (!HasOperators(summary.traced)) return "outside oneDNN";
  if (!of_step) return "not traced, or outside of oneDNN and operators";
  // The loops that torch.compile fuses are not operators.
  const bool compiled = std::ranges::any_of(summary.traced->modules, [](const auto& module) {
    return module.path.starts_with("OptimizedModule");
  });
  return compiled ? "outside oneDNN and operators (compiled loops, Python)"
                  : "outside oneDNN and operators (Python)";
}

bool IsOfOther(const ProgramPrimitive& primitive) {
  return std::ranges::any_of(primitive.text.others,
                             [](const auto& field) { return field.first == logs::kProcessField; });
}

// Advice to reduce a component, in the order of ProgramComponentKind.
constexpr std::string_view kAdvice[] = {
    "only less work makes it faster: narrower types, a smaller model, another algorithm",
    "`dlroof explain` breaks down the benchmark of the longest one",
    kReorderAdvice,
    "--machine FILE shows how far they are from the roofs",
    "not oneDNN's: torch.compile fuses operators by element with their neighbours and packs "
    "weights for oneDNN, channels_last gives convolutions to it, larger batches help small calls",
    "sizes that change make primitives anew: pad to few sizes, or enlarge "
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
    "the framework's own loops, other libraries or Python: profile --torch names PyTorch's "
    "operators, perf record the functions of any program"};
constexpr std::string_view kPythonAdvice =
    "Python runs between operators: larger batches, fewer and larger operators, or torch.compile";

// Returns the largest component, or null if there is none. kRoof, the time that the roofs require,
// counts only if it is at least half of all time.
const ProgramComponent* LargestOf(const ProgramBreakdown& breakdown) {
  const ProgramComponent* largest = nullptr;
  for (const auto& component : breakdown.components) {
    const bool needed = component.kind == ProgramComponentKind::kRoof;
    if (needed && 2 * component.seconds < breakdown.seconds) continue;
    if (largest == nullptr || component.seconds > largest->seconds) largest = &component;
  }
  return largest;
}

}  // namespace

std::size_t WarmUpSteps(const std::vector<double>& walls) {
  constexpr double kSlow = 1.5;  // [1] ratio of a warm-up step's time to the median
  std::vector<double> known;
  std::ranges::copy_if(walls, std::back_inserter(known), [](double wall) { return wall > 0; });
  if (known.size() < 3) return 0;
  const double most = kSlow * Median(known);
  std::size_t slow = 0;
  while (slow + 2 < walls.size() && walls[slow] > most) ++slow;
  return slow;
}

void SetStepMeans(const logs::VerboseLog& log, const Timeline& timeline, std::vector<double> walls,
                  std::size_t count, const InStep& in_step, ProgramSummary& summary) {
  auto& steps = summary.steps;
  steps.timed = static_cast<int>(walls.size());
  if (!walls.empty()) {
    steps.wall_seconds =
        std::accumulate(walls.begin(), walls.end(), 0.0) / static_cast<double>(walls.size());
    std::ranges::sort(walls);
    steps.least_wall_seconds = walls.front();
    steps.median_wall_seconds = MedianOfSorted(walls);
    steps.most_wall_seconds = walls.back();
  }
  const double weight = 1 / static_cast<double>(std::max<std::size_t>(count, 1));
  const auto counts = [&](const auto& call, std::size_t place) {
    return call.process == log.main_process && in_step(call.start_seconds, place);
  };
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    if (!counts(log.executions[i], i)) continue;
    auto& primitive = summary.primitives.at(log.executions[i].primitive);
    steps.primitives += weight;
    primitive.step_calls += weight;
    primitive.step_seconds += weight * timeline.executions[i];
  }
  for (std::size_t i = 0; i < log.creations.size(); ++i) {
    const auto& creation = log.creations[i];
    if (!counts(creation, creation.before)) continue;
    steps.creation_seconds += weight * timeline.creations[i];
    (creation.hit ? steps.creation_hits : steps.creation_misses) += weight;
  }
}

ProgramSummary SummarizeProgram(const logs::VerboseLog& log, const Steps& steps) {
  ProgramSummary summary{.version = log.version,
                         .runtime = log.runtime,
                         .isa_words = log.isa_words,
                         .threads = log.threads,
                         .lines = log.lines};
  const auto timeline = TimelineOf(log);
  const auto call_seconds = CallSeconds(log, timeline);
  summary.primitives = PrimitivesOf(log, call_seconds);
  summary.processes = ProcessesOf(log, call_seconds);
  double covered = 0;
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    summary.seconds += call_seconds[i];
    if (IsMain(log, i)) covered += timeline.executions[i];
  }
  if (timeline.stamped) summary.covered_seconds = covered;
  for (const auto& creation : log.creations) {
    (creation.hit ? summary.creation_hits : summary.creation_misses) += 1;
    summary.creation_seconds += creation.seconds;
  }
  AddSteps(log, timeline, steps, summary);
  return summary;
}

std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary) {
  const auto index = IndexByName(run);
  std::vector<PrimitiveUse> uses;
  for (const auto& primitive : summary.primitives) {
    PrimitiveUse use{&primitive};
    use.calls = HasSteps(summary) ? primitive.step_calls : primitive.calls;
    use.seconds = summary.SecondsOf(primitive);
    // Ignores calls of other processes: they run at the same time as the main process.
    if (!(use.calls > 0) || IsOfOther(primitive)) continue;
    if (const auto found = index.find(primitive.record); found != index.end()) {
      use.placed = &run.places[found->second];
      use.flops = roofline::BestKnownFlops(run.file.records[found->second]);
    }
    if (use.placed != nullptr && use.placed->placement.time) {
      const auto& time = *use.placed->placement.time;
      if (time.times_over_roof > 0) {
        use.roof_seconds = use.calls * time.seconds / time.times_over_roof;
        use.roof_at_most = time.at_least;
      }
    }
    if (primitive.moves_data)
      use.potential_seconds = use.seconds;
    else if (use.roof_seconds)
      use.potential_seconds = std::max(use.seconds - *use.roof_seconds, 0.0);
    uses.push_back(use);
  }
  const bool roofs = std::ranges::any_of(
      uses, [](const PrimitiveUse& use) { return use.roof_seconds.has_value(); });
  std::ranges::stable_sort(uses, [roofs](const PrimitiveUse& a, const PrimitiveUse& b) {
    if (roofs && a.potential_seconds != b.potential_seconds)
      return a.potential_seconds.value_or(0) > b.potential_seconds.value_or(0);
    return a.seconds > b.seconds;
  });
  return uses;
}

ProgramBreakdown BreakdownOf(const std::vector<PrimitiveUse>& uses, const ProgramSummary& summary) {
  ProgramBreakdown breakdown{.of_step = HasSteps(summary)};
  double at_roof = 0, without_roof = 0;
  bool at_most = false;  // part of `at_roof` is an upper limit
  std::map<std::string, double> above_roof, moves, operators;
  for (const auto& use : uses) {
    const auto& kind = use.primitive->text.kind;
    if (use.primitive->moves_data) {
      moves[kind] += use.seconds;
    } else if (use.roof_seconds) {
      const double roof = std::min(*use.roof_seconds, use.seconds);
      at_roof += roof;
      at_most = at_most || use.roof_at_most;
      above_roof[kind] += use.seconds - roof;
    } else if (use.primitive->is_operator) {
      operators[kind] += use.seconds;
    } else {
      without_roof += use.seconds;
    }
  }
  AddComponent(
      ProgramComponentKind::kRoof,
      at_most ? "needed by the roofs at most (some are not validated)" : "needed by the roofs",
      at_roof, breakdown);
  AddByKind(ProgramComponentKind::kAboveRoof, "above the roof: ", above_roof, breakdown);
  AddByKind(ProgramComponentKind::kMoves, "moves data: ", moves, breakdown);
  AddComponent(ProgramComponentKind::kNoRoof, "primitives without a roof", without_roof, breakdown);
  AddOperators(operators, breakdown);
  AddComponent(ProgramComponentKind::kCreation, "creation of primitives",
               breakdown.of_step ? summary.steps.creation_seconds : summary.creation_seconds,
               breakdown);
  const auto& wall = breakdown.of_step ? summary.steps.wall_seconds : summary.wall_seconds;
  if (wall)
    AddComponent(ProgramComponentKind::kOutside, OutsideLabel(summary, breakdown.of_step),
                 *wall - breakdown.seconds, breakdown);
  return breakdown;
}

std::string LargestAdvice(const ProgramBreakdown& breakdown, const ProgramSummary& summary) {
  const auto* largest = LargestOf(breakdown);
  if (largest == nullptr || !(breakdown.seconds > 0)) return "";
  const bool of_all = std::ranges::none_of(breakdown.components, [&](const auto& component) {
    return component.seconds > largest->seconds;
  });
  const bool python =
      largest->kind == ProgramComponentKind::kOutside && HasOperators(summary.traced);
  return fmt::format("the largest part{}, {:.0f} %: {}: {}", of_all ? "" : " above the roofs",
                     100 * largest->seconds / breakdown.seconds, largest->label,
                     python ? kPythonAdvice : kAdvice[static_cast<std::size_t>(largest->kind)]);
}

}  // namespace dlroof::programs
