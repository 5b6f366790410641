// The memory kernels of a processor without its own.
#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof {

std::vector<const BytesIsa*> BytesIsas() { return {&BytesPortable()}; }

}  // namespace dlroof
