#include "reporters/roofline/refuted.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlroof::roofline {
namespace {

// Returns the time [s] that the bytes take for sure.
double SureSeconds(const machine::Ceiling& ceiling, Level level, double bytes) {
  const double seconds = bytes / ceiling.per_second;
  if (ceiling.given) return level == Level::kDram ? seconds : 0;
  return ceiling.proved ? seconds : seconds / kUnprovedFactor;
}

// Compulsory bytes count as DRAM traffic. With warm caches a call whose tensors fit the last cache
// need not move them at all; a time below bytes / bandwidth proves that it did not, and then the
// model, not the roof, is wrong.
bool CachesRefute(const TimedCall& call, double bytes, double roof_seconds) {
  double largest_cache = 0;
  for (const auto& [level, capacity] : call.machine.cache_bytes)
    largest_cache = std::max(largest_cache, capacity);
  return call.record.cache != "cold" && bytes <= largest_cache && roof_seconds > call.seconds;
}

}  // namespace

std::string WhyRefuted(const TimedCall& call, Level level, std::pair<double, Provenance> known) {
  const auto [bytes, from] = known;
  if (from == Provenance::kMeasured) return "";
  const double roof_seconds = SureSeconds(call.ceiling, level, bytes);
  if (from == Provenance::kModelled && level == Level::kDram)
    return CachesRefute(call, bytes, roof_seconds)
               ? fmt::format(
                     "left out at dram: its {:.3g} MB stay in a warm cache (moving them "
                     "through DRAM would take longer than the call), so compulsory traffic "
                     "does not apply",
                     bytes / 1e6)
               : "";
  if (roof_seconds <= call.seconds) return "";
  return fmt::format(
      "left out at {}: moving its {:.3g} MB ({}) would take {:.2g} times as long as "
      "the call, so they are not this call's",
      Key(level), bytes / 1e6, Key(from), roof_seconds / call.seconds);
}

}  // namespace dlroof::roofline
