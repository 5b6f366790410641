#include "bench/run/evicted_spans.h"

#include <fmt/format.h>

namespace dlroof {

std::vector<MemorySpan> EvictedSpans(const PreparedCall& call, CacheState cache) {
  std::vector<MemorySpan> spans;
  for (const auto& region : call.memory)
    if (cache == CacheState::kCold || region.weights) spans.push_back({region.begin, region.bytes});
  if (spans.empty())
    throw Unsupported(fmt::format("{}: this call does not say where its {} lie", Key(cache),
                                  cache == CacheState::kCold ? "tensors" : "weights"));
  return spans;
}

}  // namespace dlroof
