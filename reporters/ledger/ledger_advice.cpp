#include "reporters/ledger/ledger_advice.h"

#include <fmt/format.h>

namespace dlroof {
namespace {

// `{0}` is the share in percent, `{1}` the number of parallel regions or kernels.
constexpr std::pair<PartKind, const char*> kSentences[] = {
    {PartKind::kForkJoin,
     "{1:.0f} parallel regions cost {0:.0f} % of the time: run it on fewer threads, or give each "
     "region more to do (batch, sequences side by side)"},
    {PartKind::kSerial,
     "one thread works alone for {0:.0f} % of the time: run several calls side by side, one on "
     "each thread"},
    {PartKind::kImbalance,
     "{0:.0f} % of the time passes until the slowest thread is done: choose a batch or a number of "
     "threads that divides the work evenly"},
    {PartKind::kCall, "calling the library costs {0:.0f} % of the time: do more in one call"},
    {PartKind::kStolen, "other programs took {0:.0f} % of the time: run it alone"},
    {PartKind::kFunctions,
     "sigmoid and tanh take {0:.0f} % of the time: a narrower type does not shorten them, a larger "
     "hidden size hides them"},
    {PartKind::kProducts,
     "products of these sizes cost {0:.0f} % of the time beyond the roof, by the library's own "
     "primitive: make them larger (batch, hidden size), or several sequences one product"},
    {PartKind::kFixed,
     "code that runs whatever the sizes costs {0:.0f} % of the time, in {1:.0f} parallel regions: "
     "give each call more to do (batch, hidden size)"},
    {PartKind::kSharing,
     "the threads slow each other by {0:.0f} % of the time: run several calls side by side, one on "
     "each thread, or fewer threads, near each other"},
    {PartKind::kLanes,
     "{0:.0f} % of the time goes to vector lanes that the shape leaves idle: pad channels to a "
     "multiple of the vector's lanes, or choose such a size"},
    {PartKind::kLoads,
     "loads that feed the multiply-adds cost {0:.0f} % of the time: another algorithm or layout "
     "(nhwc, direct) may keep more of them in registers"},
    {PartKind::kInstructions,
     "instructions that are not the roof's cost at least {0:.0f} % of the time: another algorithm "
     "or "
     "layout may need fewer, larger sizes make more of them arithmetic"},
    {PartKind::kKernel,
     "the library's kernel itself costs {0:.0f} % of the time, with all tensors near, too: another "
     "algorithm, layout or version may have a better one"},
    {PartKind::kDistance,
     "{0:.0f} % of the time passes because the tensors lie beyond the near caches: fuse it with "
     "its "
     "neighbours, or cut it so that a thread's share stays in its cache"},
    {PartKind::kLevels,
     "up to {0:.0f} % of the time passes with bytes of farther levels: fuse it with its "
     "neighbours, "
     "or cut it so that a thread's share stays in its cache"},
    {PartKind::kTail,
     "multiprocessors without a block cost {0:.0f} % of the time: choose a batch, or an algorithm, "
     "whose blocks fill the last wave"},
    {PartKind::kLaunch,
     "starting kernels costs {0:.0f} % of the time: capture calls in a CUDA graph, or do more in "
     "one"},
    {PartKind::kIdle,
     "no kernel runs for {0:.0f} % of the time: capture calls in a CUDA graph, or overlap them on "
     "streams"},
    {PartKind::kUnexplained,
     "{0:.0f} % of the time is the kernels' own and not explained: look at blocking, layout and "
     "instructions"}};

}  // namespace

std::string LedgerAdvice(const Ledger& ledger) {
  const auto* part = ledger.Largest();
  if (part == nullptr) return "";
  for (const auto& [kind, sentence] : kSentences)
    if (kind == part->kind)
      return fmt::format(fmt::runtime(sentence), 100 * part->seconds / ledger.seconds,
                         ledger.starts);
  return "";
}

}  // namespace dlroof
