#include "counters/counter_source.h"

namespace dlroof {
namespace {

std::vector<CounterSource>& Registry() {
  static std::vector<CounterSource> sources;
  return sources;
}

}  // namespace

bool RegisterCounterSource(CounterSource source) {
  for (CounterSource& known : Registry())
    if (known.name == source.name && known.device == source.device) {
      if (!known.count) known = std::move(source);
      return true;
    }
  Registry().push_back(std::move(source));
  return true;
}

const std::vector<CounterSource>& AllCounterSources() { return Registry(); }

}  // namespace dlroof
