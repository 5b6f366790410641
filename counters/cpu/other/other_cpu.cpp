// CPUs without the instruction CPUID report no feature, so that only portable kernels run. Nothing
// measures their clock.
#include "counters/base/error.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu {

CpuidRegisters ExecuteCpuid(std::uint32_t, std::uint32_t) { return {}; }
std::uint64_t EnabledRegisterStates() { return 0; }
bool RequestAmxPermission() { return false; }

std::optional<double> MeasureCoreClock() { return std::nullopt; }
std::optional<double> MeasureIssueRate() { return std::nullopt; }

void FlushLines(const char*, std::size_t) {
  throw Unsupported("cold caches: this program can flush cache lines on x86-64 only");
}
void FlushFence() {}

}  // namespace dlroof::cpu
