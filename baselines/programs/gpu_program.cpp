#include "baselines/programs/gpu_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

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

double KernelSecondsOf(const GpuTimeline& timeline) {
  double seconds = 0;
  for (const auto& kernel : timeline.kernels) seconds += kernel.seconds;
  return seconds;
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

}  // namespace

GpuProgram ProgramOfTraces(const std::vector<gpu_trace::Trace>& traces,
                           const TimelineOptions& options) {
  GpuProgram program;
  for (const auto& trace : traces) {
    program.processes.push_back(ProcessOf(trace));
    for (auto& timeline : TimelinesOf(trace, options))
      program.timelines.push_back(std::move(timeline));
  }
  std::ranges::stable_sort(program.timelines, std::ranges::greater{}, KernelSecondsOf);
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

}  // namespace dlroof::programs
