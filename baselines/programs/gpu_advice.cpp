#include <fmt/format.h>

#include <algorithm>

#include "baselines/programs/gpu_program.h"
#include "baselines/programs/program_report.h"
#include "reporters/text/kernel_name.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

constexpr double kMinShare = 0.03;        // [1] of a step: smaller savings get no sentence
constexpr std::uint32_t kFirstTf32 = 80;  // Ampere: the first compute capability with tf32

std::string ShareText(double seconds, const GpuTimeline& timeline) {
  return text::PercentText(seconds / timeline.times.wall_seconds);
}

// Returns the name of a gap's neighbour: a kernel's short name, or "a copy ...".
std::string Neighbour(const std::string& name) {
  return name.starts_with("a ") ? name : text::ShortKernelName(name);
}

void AddIdle(const GpuTimeline& timeline, std::vector<GpuAdvice>& advice) {
  if (!IdleOf(timeline).seen) return;  // tracing may have caused the gaps
  const auto& times = timeline.times;
  const double long_idle = times.idle_seconds - times.short_idle_seconds;
  if (times.short_idle_seconds > 0)
    advice.push_back(
        {times.short_idle_seconds,
         fmt::format(
             "The GPU waits {} ({}) in {:.0f} gaps of at most {} between its kernels: the host "
             "launches too slowly. CUDA graphs (torch.compile(mode=\"reduce-overhead\"), "
             "torch.cuda.graph), fewer and larger kernels or a larger batch close them.",
             Time(times.short_idle_seconds), ShareText(times.short_idle_seconds, timeline),
             times.short_gaps, Time(kShortGap))});
  if (times.graph_idle_seconds > 0)
    advice.push_back({times.graph_idle_seconds,
                      fmt::format("CUDA graphs take {} ({}) beside their kernels, copies and "
                                  "fills: fewer and larger kernels need less of it.",
                                  Time(times.graph_idle_seconds),
                                  ShareText(times.graph_idle_seconds, timeline))});
  if (long_idle <= 0) return;
  std::string where;
  if (timeline.gap) {
    const auto& gap = *timeline.gap;
    where = fmt::format(" The longest, {}, is between {} and {}{}.", Time(gap.seconds),
                        Neighbour(gap.before), Neighbour(gap.after),
                        gap.range.empty() ? "" : fmt::format(" (in '{}')", gap.range));
  }
  advice.push_back(
      {long_idle,
       fmt::format("The GPU waits {} ({}) in gaps longer than {}: the host does something else "
                   "(data loading, synchronization, Python).{}",
                   Time(long_idle), ShareText(long_idle, timeline), Time(kShortGap), where)});
}

void AddCopies(const GpuTimeline& timeline, std::vector<GpuAdvice>& advice) {
  const double seconds = timeline.times.copy_seconds;
  double pageable = 0;
  for (const auto& copies : timeline.copy_kinds) pageable += copies.pageable_bytes;
  if (seconds <= 0) return;
  advice.push_back(
      {seconds,
       fmt::format("Copies take {} ({}) in which no kernel runs: {}copy on another stream while "
                   "kernels run.",
                   Time(seconds), ShareText(seconds, timeline),
                   pageable > 0 ? fmt::format("{} are from or to memory that is not pinned; pin it "
                                              "(pin_memory=True, non_blocking=True), and ",
                                              text::WithPrefix(pageable, "B"))
                                : "")});
}

template <class Has>
std::pair<double, double> SumOf(const GpuTimeline& timeline, const Has& has) {
  double seconds = 0, launches = 0;
  for (const auto& use : timeline.kernels) {
    if (!has(use)) continue;
    seconds += use.step_wall_seconds;
    launches += use.step_launches;
  }
  return {seconds, launches};
}

void AddLayouts(const GpuTimeline& timeline, std::vector<GpuAdvice>& advice) {
  const auto [seconds, launches] = SumOf(timeline, [](const GpuKernelUse& use) {
    return KernelKindOf(use.name) == KernelKind::kLayout;
  });
  if (seconds <= 0) return;
  advice.push_back(
      {seconds,
       fmt::format(
           "Kernels that only copy, convert or transpose take {} ({}, launches: {:.0f}): keep "
           "one layout (channels_last for convolutions) and one type through the program.",
           Time(seconds), ShareText(seconds, timeline), launches)});
}

void AddTf32(const GpuTimeline& timeline, std::vector<GpuAdvice>& advice) {
  if (timeline.compute_capability != 0 && timeline.compute_capability < kFirstTf32) return;
  const auto [seconds, launches] =
      SumOf(timeline, [](const GpuKernelUse& use) { return IsFp32Product(use.name); });
  if (seconds <= 0) return;
  advice.push_back(
      {seconds,
       fmt::format(
           "{:.0f} launches of products in fp32 take {} ({}) without tensor cores: allow TF32 "
           "(torch.set_float32_matmul_precision(\"high\")), or use bf16 or f16.",
           launches, Time(seconds), ShareText(seconds, timeline))});
}

}  // namespace

std::vector<GpuAdvice> AdviceOf(const GpuTimeline& timeline) {
  std::vector<GpuAdvice> advice;
  if (!(timeline.times.wall_seconds > 0)) return advice;
  AddIdle(timeline, advice);
  AddCopies(timeline, advice);
  AddLayouts(timeline, advice);
  AddTf32(timeline, advice);
  std::erase_if(advice, [&](const GpuAdvice& item) {
    return item.seconds < kMinShare * timeline.times.wall_seconds;
  });
  std::ranges::stable_sort(advice, std::ranges::greater{}, &GpuAdvice::seconds);
  return advice;
}

}  // namespace dlroof::programs
