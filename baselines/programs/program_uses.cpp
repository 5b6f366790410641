#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Adds a time component for each kind of primitive, the longest first.
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

// Adds the operators without a roof by kind; those that take little become one component.
void AddOperators(std::map<std::string, double> by_kind, ProgramBreakdown& breakdown) {
  constexpr double kLittle = 0.02;  // [1] of all time so far and in operators
  double all = breakdown.seconds, little = 0;
  for (const auto& [kind, seconds] : by_kind) all += seconds;
  for (auto& [kind, seconds] : by_kind)
    if (seconds < kLittle * all) little += std::exchange(seconds, 0);
  AddByKind(ProgramComponentKind::kOperator, "operator: ", by_kind, breakdown);
  AddComponent(ProgramComponentKind::kOperator, "other operators", little, breakdown);
}

// Adds the time outside of oneDNN (and of operators, if they were traced): split by what the main
// thread did, if that is known and nothing else is.
void AddOutside(const ProgramSummary& summary, double seconds, ProgramBreakdown& breakdown) {
  constexpr auto kKind = ProgramComponentKind::kOutside;
  const auto& times = summary.outside_times;
  if (HasOperators(summary.traced)) {
    AddComponent(kKind,
                 !breakdown.of_step ? "not traced, or outside of oneDNN and operators"
                 : IsCompiled(*summary.traced)
                     ? "outside oneDNN and operators (compiled loops, Python)"
                     : "outside oneDNN and operators (Python)",
                 seconds, breakdown);
    return;
  }
  const double known = times ? times->computing + times->waiting + times->sleeping : 0;
  if (!(known > 0)) {
    AddComponent(kKind, "outside oneDNN", seconds, breakdown);
    return;
  }
  AddComponent(kKind, kOutsideComputing, seconds * times->computing / known, breakdown);
  AddComponent(kKind, kOutsideWaiting, seconds * times->waiting / known, breakdown);
  AddComponent(kKind, kOutsideSleeping, seconds * times->sleeping / known, breakdown);
}

bool IsOfOther(const ProgramPrimitive& primitive) {
  return std::ranges::count(primitive.text.others, logs::kProcessField,
                            &std::pair<std::string, std::string>::first) > 0;
}

// What may reduce the largest component of a program's time.

bool HasKind(const ProgramSummary& summary, std::initializer_list<std::string_view> kinds) {
  return std::ranges::any_of(summary.primitives, [&](const ProgramPrimitive& primitive) {
    return !primitive.is_operator && std::ranges::find(kinds, primitive.text.kind) != kinds.end();
  });
}

// Advice for operators of PyTorch, by a part of their names; the first that fits.
struct OperatorAdvice {
  std::vector<std::string_view> parts;
  std::string_view advice;
};

const std::vector<OperatorAdvice>& OperatorAdvices() {
  static const std::vector<OperatorAdvice> advices = {
      {{"scaled_dot_product", "attention"},
       "its FLOPs grow with the square of the sequence's length: shorter or packed sequences, a "
       "causal mask instead of a tensor"},
      {{"mkldnn", "onednn"},
       "memory for results, and what is around a primitive of oneDNN: let malloc keep its memory "
       "(MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_), and larger batches"},
      {{"conv"},
       "PyTorch convolves these itself (1x1 filters on one thread, a batch of one): channels_last "
       "may give them to oneDNN"},
      {{"mm", "linear", "matmul"},
       "these products are not oneDNN's, but MKL's or PyTorch's own loops: compare f32 with bf16 "
       "(a CPU without bf16 instructions converts each element), larger batches, and a frozen "
       "model by torch.compile, which packs weights for oneDNN"},
      {{"batch_norm"},
       "in inference it can be folded into the convolution before it (torch.compile, "
       "fuse_conv_bn_eval); in training channels_last lets it read whole lines"},
      {{"pool"}, "channels_last lets it read whole lines"},
      {{"copy_", "cat", "contiguous", "clone", "index", "gather", "pad"},
       "it only moves data: avoid changes of type and layout between operators"},
      {{"addc", "lerp", "_foreach", "sqrt", "adam", "sgd"},
       "the optimizer reads and writes all weights: a fused optimizer (fused=True) reads them "
       "once"},
      {{"add", "mul", "div", "sub", "relu", "gelu", "tanh", "sigmoid", "norm", "softmax",
        "dropout"},
       "it is bound by memory: torch.compile fuses such operators with their neighbours"},
      {{"other operators"},
       "many small calls: torch.compile joins them, and larger batches give each more work"},
      {{""}, "--machine FILE shows its roof if its FLOPs are known"}};
  return advices;
}

std::string AdviceOnOperator(std::string_view label) {
  for (const auto& [parts, advice] : OperatorAdvices())
    for (const auto part : parts)
      if (label.find(part) != std::string_view::npos) return std::string(advice);
  return "";
}

std::string AdviceOnOutside(const ProgramComponent& component, const ProgramSummary& summary) {
  const bool operators = HasOperators(summary.traced);
  if (operators && summary.steps.count == 0)
    return "imports and set-up are in it; more steps of a module let the profiler find a step";
  if (operators && IsCompiled(*summary.traced))
    return "loops that torch.compile made, and Python: TORCH_LOGS=output_code names their files";
  if (operators)
    return "between operators Python runs: larger batches, fewer and larger operators, or "
           "torch.compile";
  if (component.label == kOutsideWaiting)
    return "others have the CPUs: fewer threads (OMP_NUM_THREADS), threads that sleep instead of "
           "spinning (OMP_WAIT_POLICY=passive), or fewer programs beside it";
  if (component.label == kOutsideSleeping)
    return fmt::format(
        "it waits for data, other threads or processes, which use {:.1f} CPUs meanwhile: load and "
        "prepare data in parallel to the steps",
        summary.outside_times ? summary.outside_times->other_cpus : 0);
  const auto& command = summary.command;
  const bool python =
      command.find("python") != std::string::npos || command.find(".py") != std::string::npos;
  return python ? "the framework's own loops, other libraries (MKL) or Python: for PyTorch "
                  "profile --torch names its operators"
                : "the program's own code, or another library: perf record names its functions";
}

std::string AdviceOn(const ProgramComponent& component, const ProgramSummary& summary) {
  const std::string_view label = component.label;
  switch (component.kind) {
    case ProgramComponentKind::kRoof:
      return "only less work makes it faster: narrower types, a smaller model, another algorithm";
    case ProgramComponentKind::kAboveRoof:
      if (label.find("::") != std::string_view::npos) return AdviceOnOperator(label);
      return "`dlroof explain` breaks down the benchmark of the longest one, and --replay compares "
             "it with standalone calls";
    case ProgramComponentKind::kMoves:
      return label.find("::") != std::string_view::npos ? AdviceOnOperator(label)
                                                        : ReorderAdvice(summary);
    case ProgramComponentKind::kNoRoof:
      return "--machine FILE shows how far they are from the roofs";
    case ProgramComponentKind::kOperator:
      return AdviceOnOperator(label);
    case ProgramComponentKind::kCreation:
      return "sizes that change make primitives anew: pad to few sizes, or enlarge "
             "ONEDNN_PRIMITIVE_CACHE_CAPACITY";
    case ProgramComponentKind::kOutside:
      return AdviceOnOutside(component, summary);
  }
  return "";
}

// Returns the largest component; of the others if most of the time is not what the roofs need:
// that part cannot be saved.
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
    // Calls of other processes are apart: they run beside the main one.
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
  if (wall) AddOutside(summary, *wall - breakdown.seconds, breakdown);
  return breakdown;
}

std::vector<KindUse> KindsOf(const std::vector<PrimitiveUse>& uses) {
  std::vector<KindUse> kinds;
  for (const auto& use : uses) {
    const auto& text = use.primitive->text;
    auto kind = std::ranges::find_if(kinds, [&](const KindUse& known) {
      return known.kind == text.kind && known.prop == text.prop;
    });
    if (kind == kinds.end()) {
      kinds.push_back({.kind = text.kind, .prop = text.prop, .flops = 0});
      kind = kinds.end() - 1;
    }
    ++kind->distinct;
    kind->calls += use.calls;
    kind->seconds += use.seconds;
    kind->moves_data = kind->moves_data && use.primitive->moves_data;
    if (use.flops && kind->flops)
      *kind->flops += use.calls * *use.flops;
    else
      kind->flops.reset();
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &KindUse::seconds);
  return kinds;
}

std::string ReorderAdvice(const ProgramSummary& summary) {
  std::vector<std::string> all;
  if (HasKind(summary, {"convolution", "deconvolution"}))
    all.emplace_back(
        "keep one layout between convolutions (PyTorch: channels_last), and pack their weights "
        "once (a frozen model or graph)");
  if (HasKind(summary, {"rnn"}))
    all.emplace_back(
        "the weights of recurrent layers are packed again in each call: call a layer once for the "
        "whole sequence and a larger batch");
  if (HasKind(summary, {"matmul", "inner_product"}))
    all.emplace_back(
        "pack the weights of products once (PyTorch: torch.compile with freezing; TensorFlow: a "
        "frozen graph)");
  if (all.empty()) return "keep one layout and one type between primitives";
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string LargestAdvice(const ProgramBreakdown& breakdown, const ProgramSummary& summary) {
  const auto* largest = LargestOf(breakdown);
  if (largest == nullptr || !(breakdown.seconds > 0)) return "";
  const bool of_all = std::ranges::none_of(breakdown.components, [&](const auto& component) {
    return component.seconds > largest->seconds;
  });
  return fmt::format("the largest part{}, {:.0f} %: {}: {}", of_all ? "" : " above the roofs",
                     100 * largest->seconds / breakdown.seconds, largest->label,
                     AdviceOn(*largest, summary));
}

}  // namespace dlroof::programs
