#include "baselines/programs/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

#include "reporters/text/kernel_name.h"

namespace dlroof::programs {
namespace {

using CountedKey = std::tuple<std::string, gpu_trace::Size3, gpu_trace::Size3, std::uint32_t>;

const std::string& MangledOf(const GpuKernelUse& use) {
  return use.mangled.empty() ? use.name : use.mangled;
}

GpuProcess ProcessOf(const gpu_trace::Trace& trace) {
  GpuProcess process{.pid = trace.pid, .command = trace.command};
  process.launches = static_cast<double>(trace.launches.size());
  process.copies = static_cast<double>(trace.copies.size());
  process.fills = static_cast<double>(trace.fills.size());
  process.dropped = trace.dropped;
  process.untimed = trace.untimed;
  if (trace.cost) {
    process.library_seconds = trace.cost->library_seconds;
    process.cupti_seconds = trace.cost->cupti_seconds;
    process.records = trace.cost->records;
  }
  process.ended = trace.ended;
  process.full = trace.full;
  if (trace.failure) process.failure = trace.failure->text;
  process.remarks = trace.remarks;
  return process;
}

std::string VariantText(const GpuKernelUse& use) {
  return use.variant == 0 ? "" : fmt::format(", kind {} of {}", use.variant, use.variants);
}

record::Record RecordOf(const GpuKernelUse& use, const std::string& set,
                        const CountedKernel* counted) {
  record::Record record{.name = fmt::format("{}/{} [{}, {}{}]", set, use.name, SizeText(use.grid),
                                            SizeText(use.block), VariantText(use)),
                        .timed = record::timed::kKernels};
  record.repetitions.push_back({.seconds = use.step_seconds, .iterations = 1});
  Work& work = record.work[Provenance::kMeasured];
  work.launches = use.step_launches;
  if (counted == nullptr) return record;
  for (const auto& [pipe, flops] : counted->flops) work.flops[pipe] = use.step_launches * flops;
  for (const auto& [level, bytes] : counted->bytes) work.bytes[level] = use.step_launches * bytes;
  return record;
}

constexpr std::size_t kMaxPattern = 100'000;  // [byte]; Linux allows 131072 for an argument

// A piece of the launches whose names match.
struct Piece {
  std::size_t skip = 0, count = 0;   // [1] matching launches before it, and in it
  std::vector<std::uint32_t> order;  // the kernel of each
};

// Returns the shortest piece that has a launch of each wanted kernel, from `begin` on.
std::optional<Piece> ShortestPiece(const OrderedLaunches& launches, std::size_t begin,
                                   const std::vector<bool>& matches,
                                   const std::vector<bool>& wanted) {
  std::vector<std::uint32_t> matching;  // from `begin` on
  std::size_t before = 0;
  // Two steps contain every piece that a periodic stream can have.
  const std::size_t end =
      std::min(launches.kernels.size(), begin + 2 * (launches.steady_end - begin));
  for (std::size_t i = 0; i < end; ++i) {
    if (!matches[launches.kernels[i]]) continue;
    if (i < begin)
      ++before;
    else
      matching.push_back(launches.kernels[i]);
  }
  const auto different = static_cast<std::size_t>(std::ranges::count(wanted, true));
  std::vector<std::size_t> inside(wanted.size());
  std::size_t have = 0, left = 0;
  std::optional<Piece> best;
  for (std::size_t right = 0; right < matching.size(); ++right) {
    if (wanted[matching[right]] && inside[matching[right]]++ == 0) ++have;
    for (; have == different; ++left) {
      if (!best || right + 1 - left < best->count)
        best = Piece{before + left, right + 1 - left, {}};
      if (wanted[matching[left]] && --inside[matching[left]] == 0) --have;
    }
  }
  if (best) {
    const auto first = matching.begin() + static_cast<std::ptrdiff_t>(best->skip - before);
    best->order.assign(first, first + static_cast<std::ptrdiff_t>(best->count));
  }
  return best;
}

// The kernels [0, number) of the timeline that are in a step.
struct Tried {
  std::vector<std::string> names;
  std::vector<bool> matches, wanted;
  std::optional<Piece> piece;
};

Tried TryKernels(const GpuTimeline& timeline, std::size_t number) {
  const auto& launches = timeline.order;
  Tried tried;
  std::set<std::string_view> names;
  tried.wanted.resize(timeline.kernels.size());
  tried.matches.resize(timeline.kernels.size());
  std::vector<bool> in_step(timeline.kernels.size());
  for (std::size_t i = launches.steady_begin; i < launches.steady_end; ++i)
    in_step[launches.kernels[i]] = true;
  for (std::size_t i = 0; i < number; ++i) {
    if (!in_step[i]) continue;
    tried.wanted[i] = true;
    if (names.insert(MangledOf(timeline.kernels[i])).second)
      tried.names.push_back(MangledOf(timeline.kernels[i]));
  }
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i)
    tried.matches[i] = names.contains(MangledOf(timeline.kernels[i]));
  if (!tried.names.empty())
    tried.piece = ShortestPiece(launches, launches.steady_begin, tried.matches, tried.wanted);
  return tried;
}

// Returns the largest number of kernels that fit.
Tried MostThatFit(const GpuTimeline& timeline, std::size_t most_launches) {
  // More kernels never need fewer launches, so the largest number that fits is found by halving.
  std::size_t fits = 0, least_too_many = timeline.kernels.size() + 1;
  Tried best;
  while (fits + 1 < least_too_many) {
    const auto number = fits + (least_too_many - fits) / 2;
    auto tried = TryKernels(timeline, number);
    const bool ok = (!tried.piece || tried.piece->count <= most_launches) &&
                    ExactNames(tried.names).size() <= kMaxPattern;
    if (ok) {
      fits = number;
      best = std::move(tried);
    } else {
      least_too_many = number;
    }
  }
  return best;
}

// The kernels of a timeline by what Nsight Compute says of a launch. Launches that do different
// work have the first of their kernels.
class KernelsByName {
 public:
  explicit KernelsByName(const GpuTimeline& timeline) {
    for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
      const auto& use = timeline.kernels[i];
      if (use.variant > 1) continue;
      exact_[{MangledOf(use), use.grid, use.block}] = i;
      exact_[{use.name, use.grid, use.block}] = i;
      const auto [found, added] =
          by_function_.try_emplace({text::KernelFunction(use.name), use.grid, use.block}, i);
      if (!added) found->second = kSeveral;
    }
  }

  std::optional<std::size_t> Find(const imports::CountedLaunch& launch) const {
    if (!launch.grid || !launch.block) return std::nullopt;
    if (const auto found = exact_.find({launch.kernel, *launch.grid, *launch.block});
        found != exact_.end())
      return found->second;
    const auto found =
        by_function_.find({text::KernelFunction(launch.kernel), *launch.grid, *launch.block});
    if (found == by_function_.end() || found->second == kSeveral) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr std::size_t kSeveral = ~std::size_t{0};
  using Key = std::tuple<std::string, gpu_trace::Size3, gpu_trace::Size3>;
  std::map<Key, std::size_t> exact_, by_function_;
};

bool AreOneName(const GpuKernelUse& a, const GpuKernelUse& b) {
  return a.name == b.name && a.mangled == b.mangled && a.grid == b.grid && a.block == b.block;
}

CountedKernel MeanOf(const GpuKernelUse& use,
                     const std::vector<const imports::CountedLaunch*>& launches) {
  CountedKernel counted{MangledOf(use), use.grid, use.block, use.variant, {}, {}};
  const double weight = 1 / static_cast<double>(launches.size());
  bool flops_known = true;
  for (const auto* launch : launches) {
    flops_known = flops_known && launch->work.unknown == imports::LaunchWork::Unknown::kNone;
    for (const auto& [pipe, flops] : launch->work.flops) counted.flops[pipe] += weight * flops;
    for (const auto& [level, bytes] : launch->work.bytes) counted.bytes[level] += weight * bytes;
  }
  if (!flops_known) counted.flops.clear();
  return counted;
}

}  // namespace

GpuProgram ProgramOfTraces(const std::vector<gpu_trace::Trace>& traces, std::optional<int> steps) {
  GpuProgram program;
  for (const auto& trace : traces) {
    program.processes.push_back(ProcessOf(trace));
    for (auto& timeline : TimelinesOf(trace, steps))
      program.timelines.push_back(std::move(timeline));
  }
  std::ranges::stable_sort(program.timelines, std::ranges::greater{}, &GpuTimeline::KernelSeconds);
  return program;
}

std::optional<Reason> NothingTraced(const GpuProgram& program) {
  if (!program.timelines.empty()) return std::nullopt;
  if (program.processes.empty()) return Reason{"the program did not use CUDA"};
  for (const auto& process : program.processes)
    if (!process.failure.empty())
      return Reason{fmt::format("the program's GPU work was not traced: {}", process.failure)};
  for (const auto& process : program.processes)
    if (process.dropped > 0)
      return Reason{
          fmt::format("all {:.0f} records of the program's GPU work were lost", process.dropped)};
  for (const auto& process : program.processes)
    if (!process.ended)
      return Reason{"the program initialized CUDA, and ended before any of its work was traced"};
  return Reason{"the program initialized CUDA, but ran no kernel and copied nothing"};
}

std::vector<record::Record> RecordsOf(GpuProgram& program, const std::string& set,
                                      const std::vector<CountedKernel>& counted) {
  std::vector<record::Record> records;
  if (program.timelines.empty()) return records;
  std::map<CountedKey, const CountedKernel*> by_key;
  for (const auto& kernel : counted)
    by_key[{kernel.name, kernel.grid, kernel.block, kernel.variant}] = &kernel;
  double seconds = 0, counted_seconds = 0;
  program.counting.kernels = 0;
  for (auto& use : program.timelines.front().kernels) {
    if (use.step_launches <= 0) continue;
    const auto found = by_key.find({MangledOf(use), use.grid, use.block, use.variant});
    const auto* kernel = found == by_key.end() ? nullptr : found->second;
    records.push_back(RecordOf(use, set, kernel));
    use.record = records.back().name;
    seconds += use.step_wall_seconds;
    if (kernel == nullptr) continue;
    counted_seconds += use.step_wall_seconds;
    program.counting.kernels += 1;
  }
  program.counting.share = seconds > 0 ? counted_seconds / seconds : 0;
  return records;
}

std::string ExactNames(const std::vector<std::string>& names) {
  std::string pattern;
  for (const auto& name : names) {
    pattern += pattern.empty() ? "^(" : "|";
    for (const char c : name) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') pattern += '\\';
      pattern += c;
    }
  }
  return pattern.empty() ? pattern : pattern + ")$";
}

LaunchSelection SelectLaunches(const GpuTimeline& timeline, std::size_t most_launches) {
  LaunchSelection selection;
  const auto best = MostThatFit(timeline, most_launches);
  if (!best.piece) return selection;
  selection.launches = best.piece->count;
  selection.order = best.piece->order;
  double all = 0, counted = 0;
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
    all += timeline.kernels[i].step_wall_seconds;
    if (!best.wanted[i]) continue;
    counted += timeline.kernels[i].step_wall_seconds;
    ++selection.kernels;
  }
  selection.share = all > 0 ? counted / all : 0;
  selection.arguments = {"--kernel-name-base",
                         "mangled",
                         "--print-kernel-base",
                         "mangled",
                         "--kernel-name",
                         "regex:" + ExactNames(best.names),
                         "--launch-skip",
                         fmt::format("{}", best.piece->skip),
                         "--launch-count",
                         fmt::format("{}", best.piece->count),
                         "--kill",
                         "yes"};
  return selection;
}

JoinedCounts JoinCounts(const GpuTimeline& timeline,
                        const std::vector<imports::CountedLaunch>& launches,
                        const std::vector<std::uint32_t>& order) {
  const KernelsByName by_name(timeline);
  std::vector<std::optional<std::size_t>> kernels;
  kernels.reserve(launches.size());
  for (const auto& launch : launches) kernels.push_back(by_name.Find(launch));
  bool in_order = launches.size() == order.size();
  for (std::size_t i = 0; i < order.size() && in_order; ++i)
    in_order = kernels[i] && AreOneName(timeline.kernels[*kernels[i]], timeline.kernels[order[i]]);
  JoinedCounts counted;
  std::map<std::size_t, std::vector<const imports::CountedLaunch*>> joined;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (in_order)
      joined[order[i]].push_back(&launches[i]);
    else if (kernels[i] && timeline.kernels[*kernels[i]].variant == 0)
      joined[*kernels[i]].push_back(&launches[i]);
    else if (kernels[i])
      counted.unassigned += 1;
  }
  for (const auto& [kernel, all] : joined)
    counted.kernels.push_back(MeanOf(timeline.kernels[kernel], all));
  return counted;
}

}  // namespace dlroof::programs
