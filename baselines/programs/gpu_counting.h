// Chooses the launches of a traced program that Nsight Compute shall count, so that each distinct
// kernel is counted with few launches, and joins its table with the trace. Pure.
#pragma once

#include <string>
#include <vector>

#include "baselines/programs/gpu_program.h"
#include "reporters/imports/ncu.h"

namespace dlroof::programs {

inline constexpr double kCountSeconds = 0.2;  // [s] that counting one launch costs, on an H200

struct LaunchSelection {
  std::vector<std::string> arguments;  // of ncu, before the program
  std::size_t launches = 0;            // [1] that ncu will count
  std::size_t kernels = 0;             // [1] distinct kernels among them, by the trace
  double share = 0;                    // [1] of the kernels' time of a step
  // The kernel (index of GpuTimeline::kernels) of each launch that ncu will count, in order.
  std::vector<std::uint32_t> order;
};

// Chooses the kernels with most time of a step, as many as `most_launches` launches allow, and the
// shortest piece of the program's launches, from the steady steps on, that has each of them. ncu
// is told which names match, how many matching launches to skip and how many to count; it ends the
// program then.
LaunchSelection SelectLaunches(const GpuTimeline& timeline, std::size_t most_launches);

struct JoinedCounts {
  std::vector<CountedKernel> kernels;
  // [1] Counted launches that no kernel gets: of their name, grid and block there are several
  double unassigned = 0;
};

// Returns the regular expression that matches exactly these names.
std::string ExactNames(const std::vector<std::string>& names);

// Returns the counts of the timeline's kernels: means over their counted launches. A launch belongs
// to the kernel with the same name (mangled, or the whole source name), grid and block. Without
// such a kernel it belongs to the one whose function name, grid and block are the same, if there is
// only one. If launches of one name, grid and block do different work (GpuKernelUse::variant),
// their place among the counted ones tells which they are: `order` is what was to be counted
// (LaunchSelection::order). Where the counted launches are others, such kernels have no counts.
JoinedCounts JoinCounts(const GpuTimeline& timeline,
                        const std::vector<imports::CountedLaunch>& launches,
                        const std::vector<std::uint32_t>& order);

}  // namespace dlroof::programs
