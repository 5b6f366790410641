#include "baselines/programs/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace dlroof::programs {
namespace {

using KernelKey = std::tuple<std::string, gpu_trace::Size3, gpu_trace::Size3>;

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

record::Record RecordOf(const GpuKernelUse& use, const std::string& set,
                        const CountedKernel* counted) {
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

CountedKernel MeanOf(const GpuKernelUse& use,
                     const std::vector<const imports::CountedLaunch*>& launches) {
  CountedKernel counted{MangledOf(use), use.grid, use.block, {}, {}};
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
  std::map<KernelKey, const CountedKernel*> by_key;
  for (const auto& kernel : counted) by_key[{kernel.name, kernel.grid, kernel.block}] = &kernel;
  double seconds = 0, counted_seconds = 0;
  program.counting.kernels = 0;
  for (auto& use : program.timelines.front().kernels) {
    if (use.step_launches <= 0) continue;
    const auto found = by_key.find({MangledOf(use), use.grid, use.block});
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
  const auto& launches = timeline.order;
  const auto name_of = [&](std::size_t launch) -> const std::string& {
    return MangledOf(timeline.kernels[launches.kernels[launch]]);
  };
  std::map<std::string_view, std::size_t> in_step;  // [1] launches by name
  for (std::size_t i = launches.steady_begin; i < launches.steady_end; ++i) ++in_step[name_of(i)];
  LaunchSelection selection;
  std::set<std::string_view> chosen;
  std::vector<std::string> names;
  for (const auto& use : timeline.kernels) {
    const auto found = in_step.find(MangledOf(use));
    if (found == in_step.end() || chosen.contains(found->first) ||
        selection.launches + found->second > most_launches)
      continue;
    names.push_back(MangledOf(use));
    if (ExactNames(names).size() > kMaxPattern) {
      names.pop_back();
      continue;
    }
    chosen.insert(found->first);
    selection.launches += found->second;
  }
  double all = 0, counted = 0;
  for (const auto& use : timeline.kernels) {
    all += use.step_wall_seconds;
    if (use.step_launches <= 0 || !chosen.contains(MangledOf(use))) continue;
    counted += use.step_wall_seconds;
    ++selection.kernels;
  }
  selection.share = all > 0 ? counted / all : 0;
  std::size_t skipped = 0;
  for (std::size_t i = 0; i < launches.steady_begin; ++i) skipped += chosen.contains(name_of(i));
  selection.arguments = {"--kernel-name-base",
                         "mangled",
                         "--print-kernel-base",
                         "mangled",
                         "--kernel-name",
                         "regex:" + ExactNames(names),
                         "--launch-skip",
                         fmt::format("{}", skipped),
                         "--launch-count",
                         fmt::format("{}", selection.launches),
                         "--kill",
                         "yes"};
  return selection;
}

std::vector<CountedKernel> JoinCounts(const GpuTimeline& timeline,
                                      const std::vector<imports::CountedLaunch>& launches) {
  std::map<KernelKey, std::size_t> kernels;  // index by mangled and by full name
  for (std::size_t i = 0; i < timeline.kernels.size(); ++i) {
    const auto& use = timeline.kernels[i];
    kernels[{MangledOf(use), use.grid, use.block}] = i;
    kernels[{use.name, use.grid, use.block}] = i;
  }
  std::map<std::size_t, std::vector<const imports::CountedLaunch*>> joined;
  for (const auto& launch : launches) {
    if (!launch.grid || !launch.block) continue;
    const auto found = kernels.find({launch.kernel, *launch.grid, *launch.block});
    if (found != kernels.end()) joined[found->second].push_back(&launch);
  }
  std::vector<CountedKernel> counted;
  for (const auto& [kernel, all] : joined) counted.push_back(MeanOf(timeline.kernels[kernel], all));
  return counted;
}

}  // namespace dlroof::programs
