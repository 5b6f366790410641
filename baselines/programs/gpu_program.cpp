#include "baselines/programs/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>
#include <string_view>
#include <tuple>

#include "baselines/programs/program_report.h"
#include "counters/base/keys.h"
#include "reporters/text/text.h"

namespace dlroof::programs {
namespace {

const std::string& MangledOf(const GpuKernelUse& use) {
  return use.mangled.empty() ? use.name : use.mangled;
}

GpuProcess ProcessOf(const gpu_trace::Trace& trace) {
  const auto count = [](const auto& all) { return static_cast<double>(all.size()); };
  return {.pid = trace.pid,
          .command = trace.command,
          .launches = count(trace.launches),
          .copies = count(trace.copies),
          .fills = count(trace.fills),
          .calls = count(trace.calls),
          .ranges = count(trace.ranges),
          .dropped = trace.dropped,
          .untimed = trace.untimed,
          .ended = trace.ended,
          .full = trace.full,
          .failure = trace.failure.value_or(Reason{}).text,
          .remarks = trace.remarks};
}

record::Record RecordOf(const GpuKernelUse& use, const std::string& set, const Work* counted) {
  record::Record record{
      .name = fmt::format("{}/{} [{}, {}]", set, use.name, SizeText(use.grid), SizeText(use.block)),
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

Work MeanOf(const std::vector<const imports::CountedLaunch*>& launches) {
  Work mean;
  const double weight = 1 / static_cast<double>(launches.size());
  bool flops_known = true;
  for (const auto* launch : launches) {
    flops_known = flops_known && launch->work.unknown == imports::LaunchWork::Unknown::kNone;
    for (const auto& [pipe, flops] : launch->work.flops) mean.flops[pipe] += weight * flops;
    for (const auto& [level, bytes] : launch->work.bytes) mean.bytes[level] += weight * bytes;
  }
  if (!flops_known) mean.flops.clear();
  return mean;
}

struct LaunchSums {
  double launches = 0, seconds = 0;
  // `time` [s]: of all these launches; a negative number removes launches.
  void Add(double number, double time) {
    launches += number;
    seconds += time;
  }
};

// The launches in the steady step of timeline.order whose kernels have one of the given names.
struct MatchingLaunches {
  std::vector<std::size_t> places;  // indices into timeline.order
  std::size_t before = 0;           // [1] launches of such kernels before the step
  std::map<std::uint32_t, LaunchSums> by_kernel;
};

MatchingLaunches MatchingOf(const GpuTimeline& timeline, std::span<const std::string> names) {
  MatchingLaunches matching;
  const auto& order = timeline.order;
  const std::set<std::string_view> chosen(names.begin(), names.end());
  for (std::size_t i = 0; i < order.steady_end; ++i) {
    const auto kernel = order.kernels[i];
    if (!chosen.contains(MangledOf(timeline.kernels[kernel]))) continue;
    if (i < order.steady_begin) {
      ++matching.before;
      continue;
    }
    matching.by_kernel[kernel].Add(1, order.seconds[i]);
    matching.places.push_back(i);
  }
  return matching;
}

// Returns the at most `max_launches` successive launches of these names that represent most of a
// step's time. LaunchSelection::share is this time [s], not yet a share. Takes n log n.
LaunchSelection BestWindow(const GpuTimeline& timeline, std::span<const std::string> names,
                           std::size_t max_launches) {
  constexpr double kSameTime = 0.1;  // [1] relative difference of means that is noise
  const auto& order = timeline.order;
  auto [matching, before, all] = MatchingOf(timeline, names);
  std::map<std::uint32_t, LaunchSums> inside;
  const auto stands_for = [&](std::uint32_t kernel) {
    const auto &of_window = inside[kernel], &of_step = all[kernel];
    const double mean = of_step.seconds / of_step.launches;
    return of_window.launches > 0 &&
           std::abs(of_window.seconds / of_window.launches - mean) <= kSameTime * mean;
  };
  double seconds = 0;
  const auto change = [&](std::size_t place, double sign) {
    const auto kernel = order.kernels[matching[place]];
    const double of_kernel = timeline.kernels[kernel].step_wall_seconds;
    seconds -= stands_for(kernel) ? of_kernel : 0;
    inside[kernel].Add(sign, sign * order.seconds[matching[place]]);
    seconds += stands_for(kernel) ? of_kernel : 0;
  };
  LaunchSelection best;
  std::size_t skipped = 0;
  const auto length = std::min(max_launches, matching.size());
  for (std::size_t i = 0; i < matching.size(); ++i) {
    if (i >= length) change(i - length, -1);
    change(i, 1);
    if (i + 1 < length || seconds <= best.share * (1 + 1e-9)) continue;
    best = {.launches = length, .share = seconds};
    skipped = before + i + 1 - length;
    for (const auto& [kernel, sums] : all)
      if (stands_for(kernel)) best.kernels.insert(kernel);
  }
  const auto pattern = "regex:" + ExactNames({names.begin(), names.end()});
  const auto skip = std::to_string(skipped), count = std::to_string(best.launches);
  if (pattern.size() > kMaxPattern) return {};
  best.arguments = {
      "--kernel-name-base", "mangled", "--print-kernel-base", "mangled", "--kernel-name", pattern,
      "--launch-skip",      skip,      "--launch-count",      count,     "--kill",        "yes"};
  return best;
}

// Returns the process of another run (`others`) that corresponds to the last process of `until`. If
// this is the n-th process with its command, returns the n-th process with this command in
// `others`, or null if there are fewer.
const gpu_trace::Trace* SameProcess(std::span<const gpu_trace::Trace> until,
                                    const std::vector<gpu_trace::Trace>& others) {
  const auto same = [&](const auto& other) { return other.command == until.back().command; };
  auto rank = std::ranges::count_if(until, same);
  for (const auto& other : others)
    if (same(other) && --rank == 0) return &other;
  return nullptr;
}

constexpr double kMinShare = 0.03;        // [1] of a step: smaller savings are not proposed
constexpr std::uint32_t kFirstTf32 = 80;  // Ampere: the first compute capability with tf32

std::string ShareText(double seconds, const GpuTimeline& timeline) {
  return text::PercentText(seconds / timeline.times.wall_seconds);
}

// `name`: GpuGap::before or after. Shortens a kernel's name.
std::string Neighbour(const std::string& name) {
  return name.starts_with("a ") ? name : text::ShortKernelName(name);
}

void AddIdle(const GpuTimeline& timeline, std::vector<GpuAdvice>& advice) {
  if (!IdleOf(timeline).seen) return;  // tracing may have caused the gaps
  const auto& times = timeline.times;
  const double long_idle = times.idle_seconds - times.short_idle_seconds;
  advice.push_back(
      {times.short_idle_seconds,
       fmt::format(
           "The GPU waits {} ({}) in {:.0f} gaps of at most {} between its kernels: the host "
           "launches too slowly. CUDA graphs (torch.compile(mode=\"reduce-overhead\"), "
           "torch.cuda.graph), fewer and larger kernels or a larger batch close them.",
           Time(times.short_idle_seconds), ShareText(times.short_idle_seconds, timeline),
           times.short_gaps, Time(kShortGap))});
  advice.push_back(
      {times.graph_idle_seconds,
       fmt::format("CUDA graphs take {} ({}) beside their kernels, copies and fills: "
                   "fewer and larger kernels need less of it.",
                   Time(times.graph_idle_seconds), ShareText(times.graph_idle_seconds, timeline))});
  std::string where;
  if (timeline.gap) {
    const auto& gap = *timeline.gap;
    where = fmt::format(" The longest, {}, is between {} and {}{}.", Time(gap.seconds),
                        Neighbour(gap.before), Neighbour(gap.after),
                        gap.range.empty() ? "" : fmt::format(" (in '{}')", gap.range));
  }
  advice.push_back(
      {long_idle,
       fmt::format("The GPU waits {} ({}) in gaps longer than {}: the host does something else "
                   "(data loading, synchronization, Python).{}",
                   Time(long_idle), ShareText(long_idle, timeline), Time(kShortGap), where)});
}

void AddCopies(const GpuTimeline& timeline, std::vector<GpuAdvice>& advice) {
  const double seconds = timeline.times.copy_seconds;
  double pageable = 0;
  for (const auto& copies : timeline.copy_kinds) pageable += copies.pageable_bytes;
  advice.push_back(
      {seconds,
       fmt::format("Copies take {} ({}) in which no kernel runs: {}copy on another stream while "
                   "kernels run.",
                   Time(seconds), ShareText(seconds, timeline),
                   pageable > 0 ? fmt::format("{} are from or to memory that is not pinned; pin it "
                                              "(pin_memory=True, non_blocking=True), and ",
                                              text::WithPrefix(pageable, "B"))
                                : "")});
}

void AddKernelKinds(const GpuTimeline& timeline, std::vector<GpuAdvice>& advice) {
  LaunchSums layouts, fp32_products;
  for (const auto& use : timeline.kernels)
    if (KernelKindOf(use.name) == KernelKind::kLayout)
      layouts.Add(use.step_launches, use.step_wall_seconds);
    else if (IsFp32Product(use.name))
      fp32_products.Add(use.step_launches, use.step_wall_seconds);
  advice.push_back(
      {layouts.seconds,
       fmt::format(
           "Kernels that only copy, convert or transpose take {} ({}, launches: {:.0f}): keep "
           "one layout (channels_last for convolutions) and one type through the program.",
           Time(layouts.seconds), ShareText(layouts.seconds, timeline), layouts.launches)});
  if (timeline.compute_capability != 0 && timeline.compute_capability < kFirstTf32) return;
  advice.push_back(
      {fp32_products.seconds,
       fmt::format(
           "{:.0f} launches of products in fp32 take {} ({}) without tensor cores: allow TF32 "
           "(torch.set_float32_matmul_precision(\"high\")), or use bf16 or f16.",
           fp32_products.launches, Time(fp32_products.seconds),
           ShareText(fp32_products.seconds, timeline))});
}

}  // namespace

GpuProgram ProgramOfTraces(const std::vector<gpu_trace::Trace>& traces, std::optional<int> steps,
                           const OtherRuns& others) {
  GpuProgram program;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    program.processes.push_back(ProcessOf(traces[i]));
    const auto until = std::span(traces).first(i + 1);
    const auto* calls = SameProcess(until, others.calls);
    const auto* nodes = SameProcess(until, others.nodes);
    for (auto& timeline : TimelinesOf(traces[i], steps)) {
      if (calls != nullptr) AddPace(traces[i], *calls, timeline);
      if (nodes != nullptr)
        for (auto& other : TimelinesOf(*nodes, steps))
          if (TakeNodes(std::move(other), timeline)) break;
      program.timelines.push_back(std::move(timeline));
    }
  }
  std::ranges::stable_sort(program.timelines, std::ranges::greater{}, &GpuTimeline::KernelSeconds);
  return program;
}

bool NeedsNodes(const std::vector<gpu_trace::Trace>& traces) {
  return std::ranges::any_of(traces, [](const auto& trace) {
    return std::ranges::any_of(trace.kernels, IsWholeGraph, &gpu_trace::Kernel::grid);
  });
}

bool NeedsCalls(const GpuProgram& program) {
  return !program.timelines.empty() && !IdleOf(program.timelines.front()).seen;
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
                                      const KernelCounts& counted) {
  std::vector<record::Record> records;
  if (program.timelines.empty()) return records;
  double seconds = 0, counted_seconds = 0;
  program.counting.kernels = 0;
  for (std::uint32_t i = 0; auto& use : program.timelines.front().kernels) {
    const auto* work = FindValue(counted, i++);
    if (use.step_launches <= 0) continue;
    records.push_back(RecordOf(use, set, work));
    use.record = records.back().name;
    seconds += use.step_wall_seconds;
    if (work == nullptr) continue;
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

LaunchSelection SelectLaunches(const GpuTimeline& timeline, std::size_t max_launches) {
  std::vector<std::string> names;  // of kernels in a step, the most time first
  double all = 0;
  for (const auto& use : timeline.kernels) {
    all += use.step_wall_seconds;
    if (use.step_launches > 0 && !IsWholeGraph(use.grid) &&
        std::ranges::find(names, MangledOf(use)) == names.end())
      names.push_back(MangledOf(use));
  }
  LaunchSelection best;
  // Tries fewer and fewer names: of few kernels, `max_launches` are a larger part of the launches.
  for (std::size_t count = names.size(); count > 0 && max_launches > 0; count /= 2) {
    auto window = BestWindow(timeline, std::span(names).first(count), max_launches);
    if (window.share > best.share) best = std::move(window);
  }
  if (all > 0) best.share /= all;
  return best;
}

KernelCounts JoinCounts(const GpuTimeline& timeline, const LaunchSelection& selection,
                        const std::vector<imports::CountedLaunch>& launches) {
  using KernelKey = std::tuple<std::string, gpu_trace::Size3, gpu_trace::Size3>;
  std::map<KernelKey, std::uint32_t> kernels;  // index by mangled and by full name
  for (std::uint32_t i = 0; i < timeline.kernels.size(); ++i) {
    const auto& use = timeline.kernels[i];
    kernels[{MangledOf(use), use.grid, use.block}] = i;
    kernels[{use.name, use.grid, use.block}] = i;
  }
  using Launches = std::vector<const imports::CountedLaunch*>;
  std::map<std::uint32_t, Launches> joined;
  std::map<std::string, Launches> unassigned;  // by name: launches of no kernel of the trace
  for (const auto& launch : launches) {
    if (!launch.grid || !launch.block) continue;
    const auto found = kernels.find({launch.kernel, *launch.grid, *launch.block});
    if (found == kernels.end())
      unassigned[launch.kernel].push_back(&launch);
    else if (selection.kernels.contains(found->second))
      joined[found->second].push_back(&launch);
  }
  std::map<std::string, std::vector<std::uint32_t>> lacking;  // kernels without a launch, by name
  for (const auto kernel : selection.kernels)
    if (!joined.contains(kernel)) lacking[MangledOf(timeline.kernels[kernel])].push_back(kernel);
  for (const auto& [name, without] : lacking) {
    const auto found = unassigned.find(name);
    if (found == unassigned.end() || without.size() > 1) continue;
    const auto same = [&](const auto* launch) {
      return launch->grid == found->second.front()->grid;
    };
    if (std::ranges::all_of(found->second, same)) joined[without.front()] = found->second;
  }
  KernelCounts counted;
  for (const auto& [kernel, all] : joined) counted[kernel] = MeanOf(all);
  return counted;
}

std::vector<GpuAdvice> AdviceOf(const GpuTimeline& timeline) {
  std::vector<GpuAdvice> advice;
  if (!(timeline.times.wall_seconds > 0)) return advice;
  AddIdle(timeline, advice);
  AddCopies(timeline, advice);
  AddKernelKinds(timeline, advice);
  std::erase_if(advice, [&](const GpuAdvice& item) {
    return item.seconds < kMinShare * timeline.times.wall_seconds;
  });
  std::ranges::stable_sort(advice, std::ranges::greater{}, &GpuAdvice::seconds);
  return advice;
}

}  // namespace dlroof::programs
