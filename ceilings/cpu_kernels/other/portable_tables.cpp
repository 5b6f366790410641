// Tables for architectures without kernels of their own: they contain the portable kernels.
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {

std::vector<const BytesIsa*> BytesIsas() { return {&BytesPortable()}; }

std::vector<FlopsProbe> NativeFlopsProbes() { return {}; }

}  // namespace dlroof::cpu_kernels
