#include "counters/base/parallel_time.h"

#include <algorithm>
#include <utility>

namespace dlroof {
namespace {

std::vector<RegionSource>& Registered() {
  static std::vector<RegionSource> sources;
  return sources;
}

}  // namespace

bool RegisterRegionSource(RegionSource source) {
  Registered().push_back(std::move(source));
  return true;
}

const std::vector<RegionSource>& AllRegionSources() { return Registered(); }

const RegionSource* FindRegionSource(const std::vector<RegionSource>& sources) {
  const auto found = std::ranges::find_if(
      sources, [](const RegionSource& source) { return !source.unavailable(); });
  return found == sources.end() ? nullptr : &*found;
}

std::optional<Reason> NoRegionsReason(const std::vector<RegionSource>& sources) {
  if (FindRegionSource(sources) != nullptr) return std::nullopt;
  if (sources.empty()) return Reason{"this build cannot watch any OpenMP runtime"};
  return sources.front().unavailable();
}

}  // namespace dlroof
