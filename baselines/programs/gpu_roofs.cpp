#include "baselines/programs/gpu_roofs.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlroof::programs {

std::string SizeText(const gpu_trace::Size3& size) {
  if (size[2] > 1) return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("{}x{}", size[0], size[1]) : fmt::format("{}", size[0]);
}

KernelPlaces::KernelPlaces(const roofline::PlacedRun& run) : run_(run) {
  for (std::size_t i = 0; i < run.places.size(); ++i) index_[run.file.records[i].name] = i;
}

std::optional<std::size_t> KernelPlaces::Find(const GpuKernelUse& use) const {
  const auto found = index_.find(use.record);
  if (use.record.empty() || found == index_.end()) return std::nullopt;
  return found->second;
}

std::optional<double> KernelPlaces::FlopsOf(const GpuKernelUse& use) const {
  const auto record = Find(use);
  if (!record) return std::nullopt;
  const auto& work = run_.file.records[*record].work;
  const auto measured = work.find(Provenance::kMeasured);
  if (measured == work.end()) return std::nullopt;
  return TotalFlops(measured->second);
}

std::optional<roofline::RoofShare> KernelPlaces::RoofShareOf(const GpuKernelUse& use) const {
  const auto record = Find(use);
  return record ? roofline::RoofShareOf(run_.places[*record].placement) : std::nullopt;
}

void RoofTimes::Add(const GpuKernelUse& use, double launches, double seconds,
                    const KernelPlaces& places) {
  if (const auto flops = places.FlopsOf(use); flops && *flops == 0) {
    zero_flop_seconds += seconds;
    zero_flop_launches += launches;
  } else if (const auto share = places.RoofShareOf(use)) {
    const double at_roof = seconds * std::clamp(share->value, 0.0, 1.0);
    at_most = at_most || share->at_most;
    roof_seconds += at_roof;
    above_seconds += seconds - at_roof;
  } else {
    uncounted_seconds += seconds;
  }
}

}  // namespace dlroof::programs
