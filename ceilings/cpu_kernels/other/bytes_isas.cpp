// Which memory kernels a processor may run that has none of its own.
#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof {

std::vector<const BytesIsa*> BytesIsas() { return {&BytesPortable()}; }

}  // namespace dlroof
