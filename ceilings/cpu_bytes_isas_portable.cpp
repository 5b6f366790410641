// Which memory kernels a processor may run that has none of its own.
#include "ceilings/cpu_bytes_probes.h"

namespace dlroof {

std::vector<const BytesIsa*> BytesIsas() { return {&BytesPortable()}; }

}  // namespace dlroof
