// What may reduce the largest component of a program's time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/program_report.h"

namespace dlroof::programs {
namespace {

bool HasKind(const ProgramSummary& summary, std::initializer_list<std::string_view> kinds) {
  return std::ranges::any_of(summary.primitives, [&](const ProgramPrimitive& one) {
    return !one.is_operator && std::ranges::find(kinds, one.text.kind) != kinds.end();
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
    case ProgramComponentKind::kSlowdown:
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
  for (const auto& one : breakdown.components) {
    const bool needed = one.kind == ProgramComponentKind::kRoof;
    if (needed && 2 * one.seconds < breakdown.seconds) continue;
    if (largest == nullptr || one.seconds > largest->seconds) largest = &one;
  }
  return largest;
}

}  // namespace

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
  const bool of_all = std::ranges::none_of(
      breakdown.components, [&](const auto& one) { return one.seconds > largest->seconds; });
  return fmt::format("the largest part{}, {:.0f} %: {}: {}", of_all ? "" : " above the roofs",
                     100 * largest->seconds / breakdown.seconds, largest->label,
                     AdviceOn(*largest, summary));
}

}  // namespace dlroof::programs
