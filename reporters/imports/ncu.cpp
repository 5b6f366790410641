// Converts the launches of Nsight Compute's table to records, one per kernel name (import.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// Sums over the launches with one kernel name on one GPU. A quantity that a launch lacks is absent.
struct Kernel {
  std::string name;
  std::string device;  // Record::device; may be empty
  double seconds = 0, launches = 0;
  bool timed = true;
  bool uneven = false;  // a launch lacks a quantity that another one has
  LaunchWork work;
};

void AddLaunch(const CountedLaunch& launch, Kernel& kernel) {
  const bool first = kernel.launches == 0;
  kernel.uneven |= AddCommon(launch.work.flops, first, kernel.work.flops);
  kernel.uneven |= AddCommon(launch.work.bytes, first, kernel.work.bytes);
  if (launch.work.unknown != LaunchWork::Unknown::kNone) kernel.work.unknown = launch.work.unknown;
  kernel.timed = kernel.timed && launch.seconds && IsRunTime(*launch.seconds);
  kernel.seconds += launch.seconds.value_or(0);
  kernel.launches += 1;
}

record::Record RecordOf(const Kernel& kernel, Imported& imported) {
  record::Record record{
      .name = kernel.name, .device = kernel.device, .timed = record::timed::kKernels};
  Work& work = record.work[Provenance::kMeasured];
  work.launches = kernel.launches;
  work.bytes = kernel.work.bytes;
  const auto say = [&](std::string_view what) {
    imported.remarks.push_back(fmt::format("{}: {}", text::Printable(kernel.name), what));
  };
  switch (kernel.work.unknown) {
    case LaunchWork::Unknown::kNone:
      work.flops = kernel.work.flops;
      break;
    case LaunchWork::Unknown::kTensor:
      say("FLOPs left out: tensor instructions were counted, but their FLOPs differ by instruction "
          "(collect sm__ops_path_tensor_src_*.sum)");
      break;
    case LaunchWork::Unknown::kVector:
      say("FLOPs left out: a counter is missing or not known (collect "
          "sm__sass_thread_inst_executed_op_*add, *mul and *fma_pred_on.sum of a type together, on "
          "compute capability 10.x also fadd2, fmul2 and ffma2)");
  }
  if (kernel.uneven)
    say("FLOPs or bytes that a launch lacks are left out, though other launches have them");
  if (kernel.timed)
    record.repetitions.push_back({.seconds = kernel.seconds, .iterations = 1});
  else
    record.reason = "no time: a launch lacks gpu__time_duration, and cycles with their rate";
  return record;
}

}  // namespace

std::vector<CountedLaunch> ReadCountedLaunches(const std::string& text, const std::string& where) {
  auto table = ReadNsightTable(text, where);
  if (table.left_out.count > 0) throw BadInput("{}", table.left_out.first);
  return std::move(table.launches);
}

Imported ImportNsightCompute(const std::string& text, const std::string& where) {
  const auto table = ReadNsightTable(text, where);
  std::vector<Kernel> kernels;
  std::map<std::string, std::size_t> found;
  bool assumed_volta = false;
  const auto& launches = table.launches;
  const bool several = std::ranges::any_of(
      launches, [&](const auto& one) { return one.device != launches.front().device; });
  for (const CountedLaunch& launch : launches) {
    const auto name =
        several ? fmt::format("{}/Device={}", launch.kernel, launch.device) : launch.kernel;
    const auto [known, added] =
        found.try_emplace(name + '\1' + launch.capability.value_or(""), kernels.size());
    if (added) kernels.push_back({name, launch.capability ? kCapability + *launch.capability : ""});
    AddLaunch(launch, kernels[known->second]);
    const auto tensor = launch.values.find("sm__inst_executed_pipe_tensor.sum");
    assumed_volta |= !launch.capability && tensor != launch.values.end() && tensor->second > 0;
  }
  Imported imported;
  for (const Kernel& kernel : kernels) imported.records.push_back(RecordOf(kernel, imported));
  table.left_out.AddTo(imported, "rows or values are");
  if (kernels.empty())
    throw BadInput("{}:{}: no launch below the header", where, table.header_line);
  if (auto left_out = record::LeaveOutClockKernels(imported.records))
    imported.remarks.push_back(fmt::format("{}: {}", where, *left_out));
  if (assumed_volta)
    imported.remarks.push_back(
        where + ": no column \"CC\", so a tensor instruction counts as Volta's 512 FLOPs");
  if (table.missing_values > 0)
    imported.remarks.push_back(fmt::format("{}: {} values are no numbers (n/a, nan) and left out",
                                           where, table.missing_values));
  AddUnknownColumns(table.unknown, where, imported);
  AddCutLine(text, where, imported);
  return imported;
}

}  // namespace dlroof::imports
