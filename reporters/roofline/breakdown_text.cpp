#include "reporters/roofline/breakdown_text.h"

#include <fmt/format.h>

#include <string>

#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

// `{0}` is the component's share in percent, `{1}` the number of parallel regions or kernels.
constexpr std::pair<ComponentKind, const char*> kSentences[] = {
    {ComponentKind::kForkJoin,
     "{1:.0f} parallel regions cost {0:.0f} % of the time: give each region more to do (batch, "
     "sequences side by side)"},
    {ComponentKind::kSerial,
     "one thread works alone for {0:.0f} % of the time: run several calls side by side, one on "
     "each thread"},
    {ComponentKind::kImbalance,
     "{0:.0f} % of the time passes until the slowest thread is done: choose a batch that the "
     "threads divide evenly"},
    {ComponentKind::kCall, "calling the library costs {0:.0f} % of the time: do more in one call"},
    {ComponentKind::kStolen, "other programs took {0:.0f} % of the time: run it alone"},
    {ComponentKind::kFunctions,
     "sigmoid and tanh take {0:.0f} % of the time: a narrower type does not shorten them, a larger "
     "hidden size hides them"},
    {ComponentKind::kProducts,
     "products of these sizes cost {0:.0f} % of the time beyond the roof, by the library's own "
     "primitive: make them larger (batch, hidden size), or several sequences one product"},
    {ComponentKind::kFixed,
     "code that runs whatever the sizes costs {0:.0f} % of the time, in {1:.0f} parallel regions: "
     "give each call more to do (batch, hidden size)"},
    {ComponentKind::kSharing,
     "the threads slow each other by {0:.0f} % of the time: run several calls side by side, one on "
     "each thread"},
    {ComponentKind::kLanes,
     "{0:.0f} % of the time goes to vector lanes that the shape leaves idle: pad channels to a "
     "multiple of the vector's lanes, or choose such a size"},
    {ComponentKind::kInstructions,
     "instructions that are not the roof's cost at least {0:.0f} % of the time: larger sizes make "
     "more of them arithmetic"},
    {ComponentKind::kKernel,
     "the library's kernel itself costs {0:.0f} % of the time, with all tensors near, too; another "
     "version of the library is untried"},
    {ComponentKind::kDistance,
     "{0:.0f} % of the time passes because the tensors are beyond the near caches: fuse the call "
     "with those beside it, or split it so that a thread's share stays in its cache"},
    {ComponentKind::kLevels,
     "moving bytes of other memory levels takes up to {0:.0f} % of the time: fuse the call with "
     "those beside it, or split it so that a thread's share stays in its cache"},
    {ComponentKind::kTail,
     "multiprocessors without a block cost {0:.0f} % of the time: choose a batch whose blocks fill "
     "the last wave"},
    {ComponentKind::kLaunch,
     "starting kernels costs {0:.0f} % of the time: capture calls in a CUDA graph, or do more in "
     "one"},
    {ComponentKind::kIdle,
     "no kernel runs for {0:.0f} % of the time: capture calls in a CUDA graph, or overlap them on "
     "streams"},
    {ComponentKind::kUnexplained,
     "{0:.0f} % of the time is the kernels' own, and no measurement explains it"}};

}  // namespace

std::optional<std::string> BreakdownAdvice(const Breakdown& breakdown) {
  const auto* largest = breakdown.Largest();
  if (largest == nullptr || largest->seconds <= breakdown.noise_seconds) return std::nullopt;
  for (const auto& [kind, sentence] : kSentences)
    if (kind == largest->kind)
      return fmt::format(fmt::runtime(sentence), 100 * largest->seconds / breakdown.seconds,
                         breakdown.starts);
  return std::nullopt;
}

std::optional<std::string> InstructionSentence(const ParallelTime& parallel) {
  if (!parallel.instructions && !parallel.instructions_reason) return std::nullopt;
  if (!parallel.instructions)
    return "instructions not counted: " + parallel.instructions_reason->text;
  const auto& count = *parallel.instructions;
  auto sentence =
      fmt::format("on one thread {} ({})", text::WithPrefix(count.all, " instructions"), count.how);
  const auto single =
      parallel.threads == 1 ? parallel.mean.seconds : parallel.single_thread_seconds;
  if (count.per_second && single)
    sentence += fmt::format(": {:.0f} % of the core's issue slots in that time",
                            100 * count.all / (*count.per_second * *single));
  return sentence;
}

}  // namespace dlroof::roofline
