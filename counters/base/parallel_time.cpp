#include "counters/base/parallel_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace dlroof {
namespace {

std::vector<RegionSource>& Registered() {
  static std::vector<RegionSource> sources;
  return sources;
}

bool regions_are_expected = false;

}  // namespace

bool ExpectRegions() { return regions_are_expected = true; }

bool RegionsAreExpected() { return regions_are_expected; }

bool RegisterRegionSource(RegionSource source) {
  Registered().push_back(std::move(source));
  return true;
}

const std::vector<RegionSource>& AllRegionSources() { return Registered(); }

std::optional<Reason> NoRegionsReason(const std::vector<RegionSource>& sources) {
  if (sources.empty()) return Reason{"this build cannot watch any OpenMP runtime"};
  std::vector<std::string> reasons;
  for (const auto& source : sources) {
    const auto reason = source.unavailable();
    if (!reason) return std::nullopt;
    reasons.push_back(fmt::format("{}: {}", source.name(), reason->text));
  }
  return Reason{fmt::format("{}", fmt::join(reasons, "; "))};
}

void RegionWatch::Begin() {
  watching_.clear();
  for (const auto& source : *all_)
    if (!source.unavailable()) watching_.push_back(&source);
  for (const auto* source : watching_) source->begin();
}

std::optional<RegionWatch::Watched> RegionWatch::End() {
  std::optional<Watched> longest;
  bool all_known = true;
  for (const auto* source : watching_) {
    const auto seen = source->end();
    all_known = all_known && seen;
    if (seen && (!longest || seen->sums.seconds > longest->seen.sums.seconds))
      longest = {*seen, source->name()};
  }
  watching_.clear();
  return all_known ? longest : std::nullopt;
}

}  // namespace dlroof
