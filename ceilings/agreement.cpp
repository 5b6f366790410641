#include "ceilings/agreement.h"

#include <fmt/format.h>

namespace dlroof {
namespace {

constexpr double kAllowed = 1.03;

void Compare(Ceiling& smaller, const Ceiling& larger) {
  const double per_thread = smaller.per_second / smaller.threads;
  const double of_larger = larger.per_second / larger.threads;
  if (of_larger <= kAllowed * per_thread) return;
  smaller.proved = false;
  const auto doubt =
      fmt::format("{} threads reached {:.4g} G/s each, this {:.4g} G/s: something held it back",
                  larger.threads, of_larger / 1e9, per_thread / 1e9);
  if (smaller.reason.find(doubt) != std::string::npos) return;  // of an earlier comparison
  smaller.reason = smaller.reason.empty() ? doubt : fmt::format("{}; {}", smaller.reason, doubt);
}

template <class Key>
void CompareAll(std::map<Key, Ceiling>& smaller, const std::map<Key, Ceiling>& larger) {
  for (auto& [key, ceiling] : smaller)
    if (const auto other = larger.find(key); other != larger.end()) Compare(ceiling, other->second);
}

}  // namespace

void CompareThreadCounts(Machine& machine) {
  for (auto smaller = machine.by_threads.begin(); smaller != machine.by_threads.end(); ++smaller)
    for (auto larger = std::next(smaller); larger != machine.by_threads.end(); ++larger) {
      CompareAll(smaller->second.flops, larger->second.flops);
      CompareAll(smaller->second.bytes, larger->second.bytes);
    }
}

}  // namespace dlroof
