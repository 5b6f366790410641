#include "baselines/programs/gpu_device_work.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace dlroof::programs {
namespace {

// Words in kernels' names, in lower case, by kind. The first kind with a word in the name is used.
// PyTorch's kernels that copy or convert are elementwise kernels whose functor contains "copy".
const std::vector<std::pair<KernelKind, std::vector<std::string_view>>>& KindWords() {
  static const std::vector<std::pair<KernelKind, std::vector<std::string_view>>> words = {
      {KernelKind::kCollective, {"nccl"}},
      {KernelKind::kLayout,
       {"nchwtonhwc", "nhwctonchw", "tensortransform", "transpose", "permute", "copy_kernel",
        "copykernel", "catarray", "im2col", "col2im", "convert"}},
      {KernelKind::kProduct,
       {"gemm", "nvjet", "cutlass", "fprop", "dgrad", "wgrad", "conv", "winograd", "scudnn", "gemv",
        "flash", "fmha", "attention"}}};
  return words;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool HasAny(const std::string& text, const std::vector<std::string_view>& words) {
  return std::ranges::any_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

using gpu_trace::Trace;

// Merges the trace's kernels with equal name, grid and block.
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
    use.seconds += Seconds(launch.time);
    if (launch.graph != 0) use.graph_launches += 1;
    work.all.push_back({.time = launch.time,
                        .index = row,
                        .launch = i,
                        .context = launch.place.context,
                        .stream = launch.place.stream,
                        .graph = launch.graph,
                        .call = launch.correlation});
    timeline.launches += 1;
  }
  AddCopiesAndFills(trace, device, work, timeline);
  std::ranges::stable_sort(work.all, {}, [](const DeviceTask& task) { return task.time.begin_ns; });
  for (std::size_t i = 0; i < work.all.size(); ++i) {
    if (work.all[i].sort != DeviceTask::Sort::kKernel) continue;
    work.stream.push_back(work.all[i].index);
    work.launch_places.push_back(i);
  }
  return work;
}

KernelKind KernelKindOf(std::string_view name) {
  const auto lower = Lower(name);
  for (const auto& [kind, words] : KindWords())
    if (HasAny(lower, words)) return kind;
  return KernelKind::kOther;
}

bool IsFp32Product(std::string_view name) {
  const auto lower = Lower(name);
  if (KernelKindOf(name) != KernelKind::kProduct) return false;
  // Kernels for tensor cores: cuBLAS's tf32 kernels contain "s1688gemm", for example.
  if (HasAny(lower, {"tf32", "s1688", "s16816", "s884", "bf16", "f16", "fp16", "half"}))
    return false;
  return HasAny(lower,
                {"sgemm", "scudnn", "f32f32_f32f32", "simt", "ffma", "gemm_f32", "winograd"});
}

std::string DemangledKernel(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : mangled;
}

std::string SizeText(const gpu_trace::Size3& size) {
  if (IsWholeGraph(size)) return "";
  if (size[2] > 1) return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("{}x{}", size[0], size[1]) : fmt::format("{}", size[0]);
}

}  // namespace dlroof::programs
