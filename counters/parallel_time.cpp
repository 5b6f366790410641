#include "counters/parallel_time.h"

#include <utility>

namespace dlroof {
namespace {

std::optional<RegionSource>& Registered() {
  static std::optional<RegionSource> source;
  return source;
}

}  // namespace

bool RegisterRegionSource(RegionSource source) {
  Registered() = std::move(source);
  return true;
}

const RegionSource* TheRegionSource() {
  const auto& source = Registered();
  return source ? &*source : nullptr;
}

}  // namespace dlroof
