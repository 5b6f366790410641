#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "baselines/programs/program_report.h"

namespace dlroof::programs {
namespace {

bool HasSteps(const ProgramSummary& summary) { return summary.steps.count > 0; }

void AddComponent(ProgramComponentKind kind, std::string label, double seconds,
                  ProgramBreakdown& breakdown) {
  if (!(seconds > 0)) return;
  auto& components = breakdown.components;
  const auto found = std::ranges::find(components, label, &ProgramComponent::label);
  if (found != components.end())
    found->seconds += seconds;
  else
    components.push_back({kind, std::move(label), seconds});
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

// Adds the operators without a roof by kind; kinds with little time become one component.
void AddOperators(std::map<std::string, double> by_kind, ProgramBreakdown& breakdown) {
  constexpr double kLittle = 0.02;  // [1] of all time so far and in operators
  double all = breakdown.seconds, little = 0;
  for (const auto& [kind, seconds] : by_kind) all += seconds;
  for (auto& [kind, seconds] : by_kind)
    if (seconds < kLittle * all) little += std::exchange(seconds, 0);
  AddByKind(ProgramComponentKind::kOperator, "operator: ", by_kind, breakdown);
  AddComponent(ProgramComponentKind::kOperator, "other operators", little, breakdown);
}

// Returns the label for the time outside of oneDNN (and of operators, if they were traced).
std::string OutsideLabel(const ProgramSummary& summary, bool of_step) {
  if (!HasOperators(summary.traced)) return "outside oneDNN";
  if (!of_step) return "not traced, or outside of oneDNN and operators";
  return IsCompiled(*summary.traced) ? "outside oneDNN and operators (compiled loops, Python)"
                                     : "outside oneDNN and operators (Python)";
}

bool IsOfOther(const ProgramPrimitive& primitive) {
  return std::ranges::count(primitive.text.others, logs::kProcessField,
                            &std::pair<std::string, std::string>::first) > 0;
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

// Returns the largest component. Ignores the time at the roofs, which cannot be saved, if it is
// less than half of all time.
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

std::vector<PrimitiveUse> UsesOf(const roofline::PlacedRun& run, const ProgramSummary& summary) {
  const auto index = IndexByName(run);
  std::vector<PrimitiveUse> uses;
  for (const auto& primitive : summary.primitives) {
    PrimitiveUse use{&primitive};
    use.calls = HasSteps(summary) ? primitive.step_calls : primitive.calls;
    use.seconds = summary.SecondsOf(primitive);
    // Ignores calls of other processes, which run at the same time as the main one.
    if (!(use.calls > 0) || IsOfOther(primitive)) continue;
    if (const auto found = index.find(primitive.record); found != index.end()) {
      use.placed = &run.places[found->second];
      use.flops = roofline::BestKnownFlops(run.file.records[found->second]);
    }
    if (use.placed != nullptr && use.placed->placement.time) {
      const auto& time = *use.placed->placement.time;
      if (const auto times_over = roofline::LeastTimesOverRoof(time);
          times_over && *times_over > 0) {
        use.roof_seconds = use.calls * time.seconds / *times_over;
        use.roof_at_most = !time.times_over_roof;
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
