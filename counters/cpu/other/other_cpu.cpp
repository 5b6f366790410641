// CPUs other than x86: no features, so that only portable kernels run, and no clock measurement.
#include "counters/base/error.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu {

CpuidRegisters ExecuteCpuid(std::uint32_t, std::uint32_t) { return {}; }
std::uint64_t EnabledRegisterStates() { return 0; }
bool RequestAmxPermission() { return false; }

std::optional<double> MeasureCoreClock() { return std::nullopt; }
std::optional<double> MeasureIssueRate() { return std::nullopt; }
std::optional<double> MeasureInstructionRate() { return std::nullopt; }

void FlushLines(const char*, std::size_t) {
  throw Unsupported("cold caches: this program can flush cache lines only on x86-64");
}
void FlushFence() {}

}  // namespace dlroof::cpu
