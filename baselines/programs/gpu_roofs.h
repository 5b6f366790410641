// The kernels of a GPU program's first timeline under their roofs. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "baselines/programs/gpu_timeline.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

// Returns a grid or a block without trailing ones: "128", "16x8", "16x1x4".
std::string SizeText(const gpu_trace::Size3& size);

// The records of a run by name, with their places. Refers to the run.
class KernelPlaces {
 public:
  explicit KernelPlaces(const roofline::PlacedRun& run);

  // Returns the index of the kernel's record in run().file.records.
  std::optional<std::size_t> Find(const GpuKernelUse& use) const;
  // Returns the FLOPs of the kernel's launches in a step [flop]; nullopt if it was not counted.
  std::optional<double> FlopsOf(const GpuKernelUse& use) const;
  // Returns the share of its roof that the kernel reaches; nullopt if it is not placed.
  std::optional<roofline::RoofShare> RoofShareOf(const GpuKernelUse& use) const;
  const roofline::PlacedRun& run() const { return run_; }

 private:
  const roofline::PlacedRun& run_;
  std::map<std::string_view, std::size_t> index_;
};

// The time of kernels by what their roofs say. The four times add up to the kernels' time. [s]
struct RoofTimes {
  double roof_seconds = 0;        // needed at the roofs
  double above_seconds = 0;       // above the roofs
  double zero_flop_seconds = 0;   // of kernels that were counted and have no FLOPs
  double uncounted_seconds = 0;   // of kernels without counts or without a roof
  double zero_flop_launches = 0;  // [1]
  bool at_most = false;           // roof_seconds is an upper limit: a roof is not validated

  // Adds a kernel's launches and time.
  void Add(const GpuKernelUse& use, double launches, double seconds, const KernelPlaces& places);
};

}  // namespace dlroof::programs
