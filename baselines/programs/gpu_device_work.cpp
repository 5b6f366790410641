#include "baselines/programs/gpu_device_work.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/text/kernel_name.h"

namespace dlroof::programs {
namespace {

constexpr KeyRow<KernelKind> kKinds[] = {
    {KernelKind::kProduct, "product"},       {KernelKind::kElementwise, "elementwise"},
    {KernelKind::kLayout, "layout"},         {KernelKind::kReduction, "reduction"},
    {KernelKind::kCollective, "collective"}, {KernelKind::kOther, "other"}};

// Words of names in lower case, by kind. The first kind with a word in the name decides. PyTorch
// copies and converts by elementwise kernels whose functor has "copy" in its name.
const std::vector<std::pair<KernelKind, std::vector<std::string_view>>>& KindWords() {
  static const std::vector<std::pair<KernelKind, std::vector<std::string_view>>> words = {
      {KernelKind::kCollective, {"nccl"}},
      {KernelKind::kLayout,
       {"nchwtonhwc", "nhwctonchw", "tensortransform", "transpose", "permute", "copy_kernel",
        "copykernel", "catarray", "im2col", "col2im", "convert"}},
      {KernelKind::kProduct,
       {"gemm", "nvjet", "cutlass", "fprop", "dgrad", "wgrad", "conv", "winograd", "scudnn", "gemv",
        "flash", "fmha", "attention"}},
      {KernelKind::kReduction,
       {"reduce", "softmax", "norm", "bn_", "pool", "triton_red", "triton_per"}},
      {KernelKind::kElementwise,
       {"elementwise", "elemwise", "pointwise", "triton_poi", "multi_tensor_apply", "dropout",
        "op_tensor_kernel", "scaletensor", "addtensor"}}};
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

// Launches of one name, grid and block that do different work.

constexpr double kApart = 1.1;          // [1] ratio of the times of two kinds
constexpr double kApartSeconds = 5e-7;  // [s] and their difference; clocks of GPUs tick in 32 ns
constexpr std::size_t kMinSteps = 3;
constexpr double kAgreeing = 0.75;  // [1] share of a place's launches that are nearest to its kind

// The launches of one row.
struct Row {
  std::vector<std::size_t> launches;            // all, in order
  std::vector<std::vector<std::size_t>> steps;  // in each step
};

// Returns the rows; those with fewer than two launches in the middle step are empty.
std::vector<Row> RowsOf(const Steps& steps, const DeviceWork& work, std::size_t kernels) {
  std::vector<Row> rows(kernels);
  std::vector<std::size_t> times(kernels);
  const auto& middle = steps.ranges[steps.ranges.size() / 2];
  for (std::size_t i = middle.begin; i < middle.end; ++i) ++times[work.stream[i]];
  const auto repeats = [&](std::size_t launch) { return times[work.stream[launch]] > 1; };
  for (std::size_t i = 0; i < work.stream.size(); ++i)
    if (repeats(i)) rows[work.stream[i]].launches.push_back(i);
  for (std::size_t step = 0; step < steps.ranges.size(); ++step)
    for (std::size_t i = steps.ranges[step].begin; i < steps.ranges[step].end; ++i) {
      if (!repeats(i)) continue;
      auto& row = rows[work.stream[i]];
      row.steps.resize(step + 1);
      row.steps.back().push_back(i);
    }
  return rows;
}

// Removes the steps in which the row has an unusual number of launches. Returns the usual number.
std::size_t KeepUsualSteps(Row& row) {
  if (row.steps.empty()) return 0;
  std::vector<double> sizes;
  for (const auto& step : row.steps) sizes.push_back(static_cast<double>(step.size()));
  const auto usual = static_cast<std::size_t>(Median(sizes));
  std::erase_if(row.steps, [&](const auto& step) { return step.size() != usual; });
  return usual;
}

// The kinds of a row: the time of each [s], ascending, and the kind of each place in a step.
struct Kinds {
  std::vector<double> seconds;
  std::vector<std::size_t> of_place;

  std::size_t Nearest(double own) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < seconds.size(); ++i)
      if (std::abs(std::log(own / seconds[i])) < std::abs(std::log(own / seconds[best]))) best = i;
    return best;
  }
};

Kinds KindsOf(const std::vector<double>& places) {
  std::vector<std::size_t> order(places.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return places[i]; });
  Kinds kinds;
  kinds.of_place.resize(places.size());
  std::vector<double> inside;
  const auto close = [&] {
    if (!inside.empty()) kinds.seconds.push_back(Median(inside));
    inside.clear();
  };
  for (const auto place : order) {
    const double seconds = places[place];
    if (!inside.empty() && seconds > kApart * inside.front() &&
        seconds > inside.front() + kApartSeconds)
      close();
    inside.push_back(seconds);
    kinds.of_place[place] = kinds.seconds.size();
  }
  close();
  return kinds;
}

// Returns the kinds of a row's launches if there are several, and the steps agree on them.
std::optional<Kinds> SeveralKinds(Row& row, const DeviceWork& work) {
  const auto usual = KeepUsualSteps(row);
  if (usual < 2 || row.steps.size() < kMinSteps) return std::nullopt;
  std::vector<double> places;
  for (std::size_t place = 0; place < usual; ++place) {
    std::vector<double> seconds;
    for (const auto& step : row.steps) seconds.push_back(Seconds(work.Launch(step[place]).time));
    places.push_back(Median(seconds));
  }
  if (std::ranges::min(places) <= 0) return std::nullopt;
  auto kinds = KindsOf(places);
  if (kinds.seconds.size() < 2) return std::nullopt;
  for (std::size_t place = 0; place < usual; ++place) {
    double agreeing = 0;
    for (const auto& step : row.steps) {
      const double own = Seconds(work.Launch(step[place]).time);
      agreeing += own > 0 && kinds.Nearest(own) == kinds.of_place[place] ? 1 : 0;
    }
    if (agreeing < kAgreeing * static_cast<double>(row.steps.size())) return std::nullopt;
  }
  return kinds;
}

// Moves the launches of a row to rows of their kinds. The first kind keeps the row.
void Split(std::uint32_t number, const Row& row, const Kinds& kinds, DeviceWork& work,
           GpuTimeline& timeline) {
  auto whole = timeline.kernels[number];
  whole.launches = whole.seconds = whole.graph_launches = 0;
  whole.variants = static_cast<std::uint32_t>(kinds.seconds.size());
  const auto first = static_cast<std::uint32_t>(timeline.kernels.size());
  for (std::uint32_t kind = 0; kind < kinds.seconds.size(); ++kind) {
    whole.variant = kind + 1;
    if (kind == 0)
      timeline.kernels[number] = whole;
    else
      timeline.kernels.push_back(whole);
  }
  std::vector<std::size_t> kind_of(work.stream.size());
  for (const auto launch : row.launches) {
    const double own = Seconds(work.Launch(launch).time);
    kind_of[launch] = own > 0 ? kinds.Nearest(own) : 0;
  }
  for (const auto& step : row.steps)
    for (std::size_t place = 0; place < step.size(); ++place)
      kind_of[step[place]] = kinds.of_place[place];
  for (const auto launch : row.launches) {
    const auto kind = static_cast<std::uint32_t>(kind_of[launch]);
    const auto moved = kind == 0 ? number : first + kind - 1;
    auto& task = work.all[work.launch_places[launch]];
    task.index = work.stream[launch] = moved;
    auto& use = timeline.kernels[moved];
    use.launches += 1;
    use.seconds += Seconds(task.time);
    use.graph_launches += task.graph ? 1 : 0;
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
  std::ranges::stable_sort(work.all, {}, [](const DeviceTask& task) { return task.time.begin_ns; });
  for (std::size_t i = 0; i < work.all.size(); ++i) {
    if (work.all[i].sort != DeviceTask::Sort::kKernel) continue;
    work.stream.push_back(work.all[i].index);
    work.launch_places.push_back(i);
  }
  return work;
}

void SplitByTime(const Steps& steps, DeviceWork& work, GpuTimeline& timeline) {
  if (steps.ranges.size() < kMinSteps) return;
  auto rows = RowsOf(steps, work, timeline.kernels.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i)
    if (const auto kinds = SeveralKinds(rows[i], work)) Split(i, rows[i], *kinds, work, timeline);
}

std::string_view Key(KernelKind kind) { return KeyIn(kKinds, kind); }
std::optional<KernelKind> KernelKindFromKey(std::string_view key) { return ValueIn(kKinds, key); }

KernelKind KernelKindOf(std::string_view name) {
  const auto lower = Lower(name);
  for (const auto& [kind, words] : KindWords())
    if (HasAny(lower, words)) return kind;
  return KernelKind::kOther;
}

bool IsFp32Product(std::string_view name) {
  const auto lower = Lower(name);
  if (KernelKindOf(name) != KernelKind::kProduct) return false;
  // Tensor cores: HMMA's tf32 kernels of cuBLAS are "s1688gemm" and the like.
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
  if (size[2] > 1) return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("{}x{}", size[0], size[1]) : fmt::format("{}", size[0]);
}

}  // namespace dlroof::programs
