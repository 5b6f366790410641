#include "baselines/programs/gpu_device_work.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

// Merges the trace's kernels that differ in nothing but shared memory and the like.
class KernelIndex {
 public:
  explicit KernelIndex(const Trace& trace) : trace_(trace), rows_(trace.kernels.size(), kNone) {}

  std::uint32_t RowOf(std::uint32_t kernel, GpuTimeline& timeline) {
    auto& row = rows_[kernel];
    if (row != kNone) return row;
    const auto& facts = trace_.kernels[kernel];
    const auto& mangled = trace_.texts[facts.name];
    const auto [found, added] =
        found_.try_emplace(std::tuple(mangled, facts.grid, facts.block),
                           static_cast<std::uint32_t>(timeline.kernels.size()));
    row = found->second;
    if (!added) return row;
    GpuKernelUse use{.name = DemangledKernel(mangled), .grid = facts.grid, .block = facts.block};
    if (use.name != mangled) use.mangled = mangled;
    use.registers = facts.registers;
    use.shared_bytes = facts.shared_bytes;
    use.kind = KernelKindOf(use.name);
    timeline.kernels.push_back(std::move(use));
    return row;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const Trace& trace_;
  std::vector<std::uint32_t> rows_;
  std::map<std::tuple<std::string, gpu_trace::Size3, gpu_trace::Size3>, std::uint32_t> found_;
};

void AddCopiesAndFills(const Trace& trace, std::uint32_t device, DeviceWork& work,
                       GpuTimeline& timeline) {
  using Sort = DeviceTask::Sort;
  for (std::uint32_t i = 0; i < trace.copies.size(); ++i) {
    const auto& copy = trace.copies[i];
    if (copy.place.device != device) continue;
    work.all.push_back({.time = copy.time,
                        .sort = Sort::kCopy,
                        .index = i,
                        .context = copy.place.context,
                        .stream = copy.place.stream});
    timeline.copies += 1;
  }
  for (const auto& fill : trace.fills) {
    if (fill.place.device != device) continue;
    work.all.push_back({.time = fill.time,
                        .sort = Sort::kFill,
                        .context = fill.place.context,
                        .stream = fill.place.stream});
    timeline.fills += 1;
  }
}

}  // namespace

DeviceWork WorkOn(const Trace& trace, std::uint32_t device, GpuTimeline& timeline) {
  DeviceWork work;
  KernelIndex index(trace);
  for (std::uint32_t i = 0; i < trace.launches.size(); ++i) {
    const auto& launch = trace.launches[i];
    if (launch.place.device != device) continue;
    const auto row = index.RowOf(launch.kernel, timeline);
    auto& use = timeline.kernels[row];
    use.launches += 1;
    use.seconds += Seconds(launch.time.end_ns - launch.time.begin_ns);
    const bool in_graph = launch.graph != 0 || launch.graph_node != 0;
    if (in_graph) use.graph_launches += 1;
    // Old versions of CUPTI name the node alone.
    std::optional<std::uint32_t> graph;
    if (in_graph) graph = launch.graph;
    work.all.push_back({.time = launch.time,
                        .index = row,
                        .launch = i,
                        .context = launch.place.context,
                        .stream = launch.place.stream,
                        .graph = graph,
                        .graph_node = launch.graph_node});
    timeline.launches += 1;
  }
  AddCopiesAndFills(trace, device, work, timeline);
  std::ranges::stable_sort(work.all, {}, [](const DeviceTask& one) { return one.time.begin_ns; });
  for (std::size_t i = 0; i < work.all.size(); ++i) {
    if (work.all[i].sort != DeviceTask::Sort::kKernel) continue;
    work.stream.push_back(work.all[i].index);
    work.launch_places.push_back(i);
  }
  return work;
}

}  // namespace dlroof::programs
