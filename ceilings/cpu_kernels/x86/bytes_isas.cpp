// The memory kernels of x86-64 processors.
#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof {

const BytesIsa& BytesSse2();
const BytesIsa& BytesAvx2();
const BytesIsa& BytesAvx512();

std::vector<const BytesIsa*> BytesIsas() { return {&BytesAvx512(), &BytesAvx2(), &BytesSse2()}; }

}  // namespace dlroof
