#include "bench/gpu/machine.h"

#include <stdexcept>

#include "ceilings/machine/progress.h"
#include "counters/base/interrupt.h"

namespace dlroof::gpu_loader {
namespace {

constexpr int kHostThreads = 1;

// One line that is written over on a terminal, nothing elsewhere: how many rows there will be is
// the module's business.
std::function<void(const std::string&)> RowPrinter(std::ostream& log) {
  if (!machine::StderrIsTerminal()) return {};
  return [&log](const std::string& row) { log << "\r\033[K" << row << std::flush; };
}

}  // namespace

std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access, const machine_file::MachineOptions& options,
                                           std::ostream& log) {
  if (!access.why_not.empty()) throw std::invalid_argument(access.why_not);
  if (!access.module->measure) {
    log << "The CUDA module of this build measures no ceilings: GPU results have no roofs.\n";
    return std::nullopt;
  }
  machine_file::MachineSource source{.described = access.module->describe(access.device.number),
                       .threads = {kHostThreads},
                       .directory = CacheDirectory()};
  source.measure = [&](bool quick, const std::vector<int>&) {
    auto machine = access.module->measure(
        {access.device.number, quick, options.thorough, RowPrinter(log), StoppedByInterrupt});
    if (machine::StderrIsTerminal()) log << "\r\033[K" << std::flush;
    machine.by_threads[kHostThreads].effort = quick ? "quick" : "full";
    return machine;
  };
  return machine_file::CachedOrMeasured(source, options, log);
}

}  // namespace dlroof::gpu_loader
