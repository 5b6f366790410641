// The tables of architectures without kernels of their own: the portable kernels.
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {

std::vector<const BytesIsa*> BytesIsas() { return {&BytesPortable()}; }

std::vector<FlopsProbe> NativeFlopsProbes() { return {}; }

}  // namespace dlroof::cpu_kernels
