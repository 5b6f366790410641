// CPUs without the instruction CPUID report no feature, so that only portable kernels run.
#include "counters/cpu/cpuid.h"

namespace dlroof {

CpuidRegisters ExecuteCpuid(std::uint32_t, std::uint32_t) { return {}; }

std::uint64_t EnabledRegisterStates() { return 0; }

bool RequestAmxPermission() { return false; }

}  // namespace dlroof
