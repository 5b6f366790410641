#include "ceilings/machine/agreement.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "ceilings/machine/ceiling.h"

namespace dlroof::machine {
namespace {

constexpr double kAllowed = 1.03;
constexpr double kFairScaling = 0.9;

void Compare(Ceiling& smaller, const Ceiling& larger) {
  const double per_thread = smaller.per_second / smaller.threads;
  const double of_larger = larger.per_second / larger.threads;
  if (of_larger <= kAllowed * per_thread) return;
  Doubt(smaller,
        fmt::format("{} threads reached {:.4g} G/s each, this {:.4g} G/s: something held it back",
                    larger.threads, of_larger / 1e9, per_thread / 1e9));
}

template <class Key>
void CompareAll(std::map<Key, Ceiling>& smaller, const std::map<Key, Ceiling>& larger) {
  for (auto& [key, ceiling] : smaller)
    if (const auto other = larger.find(key); other != larger.end()) Compare(ceiling, other->second);
}

bool IsPrivate(Level level) { return level == Level::kL1 || level == Level::kL2; }
// A pipe, or a mix of a private level ("l2.copy.avx512").
bool IsPrivate(std::string_view row) {
  const auto level = LevelFromKey(row.substr(0, row.find('.')));
  return !level || IsPrivate(*level);
}

// [1] 1 where a clock is not known.
double ClockRatio(const Ceiling& alone, const Ceiling& ceiling) {
  return alone.clock_hz && ceiling.clock_hz ? *ceiling.clock_hz / *alone.clock_hz : 1;
}

void Scale(const Ceiling& alone, int threads, int cores, Ceiling& ceiling) {
  const double scaling = ceiling.per_second / (threads * alone.per_second);
  ceiling.proof.scaling = scaling;
  if (threads <= cores && scaling < kFairScaling * ClockRatio(alone, ceiling))
    Doubt(ceiling,
          "at the same clock its threads are slower together than alone: others used their cores, "
          "or they share one");
}

template <class Key>
void ScaleAll(const std::map<Key, Ceiling>& alone, int threads, int cores,
              std::map<Key, Ceiling>& ceilings) {
  for (auto& [key, ceiling] : ceilings)
    if (const auto one = alone.find(key); one != alone.end() && IsPrivate(key))
      Scale(one->second, threads, cores, ceiling);
}

}  // namespace

void AddScaling(Machine& machine, int cores) {
  const auto one = machine.by_threads.find(1);
  if (one == machine.by_threads.end()) return;
  for (auto& [threads, set] : machine.by_threads) {
    if (threads == 1) continue;
    ScaleAll(one->second.flops, threads, cores, set.flops);
    ScaleAll(one->second.bytes, threads, cores, set.bytes);
    ScaleAll(one->second.mixes, threads, cores, set.mixes);
  }
}

void CompareThreadCounts(Machine& machine) {
  for (auto smaller = machine.by_threads.begin(); smaller != machine.by_threads.end(); ++smaller)
    for (auto larger = std::next(smaller); larger != machine.by_threads.end(); ++larger) {
      CompareAll(smaller->second.flops, larger->second.flops);
      CompareAll(smaller->second.bytes, larger->second.bytes);
    }
}

}  // namespace dlroof::machine
