// Which memory kernels x86-64 processors may run.
#include "ceilings/cpu_bytes_probes.h"

namespace dlroof {

extern const BytesIsa kBytesSse2, kBytesAvx2, kBytesAvx512;

std::vector<const BytesIsa*> BytesIsas() { return {&kBytesAvx512, &kBytesAvx2, &kBytesSse2}; }

}  // namespace dlroof
