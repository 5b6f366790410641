// The tables of x86-64 CPUs.
#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {

const BytesIsa& BytesSse2();
const BytesIsa& BytesAvx2();
const BytesIsa& BytesAvx512();

std::vector<const BytesIsa*> BytesIsas() { return {&BytesAvx512(), &BytesAvx2(), &BytesSse2()}; }

std::vector<FlopsProbe> NativeFlopsProbes() {
  std::vector<FlopsProbe> all;
  for (const auto& table :
       {MultiplyAddProbes(), FusedProbes(), HalfVectorProbes(), Int8VectorProbes(), TileProbes()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace dlroof::cpu_kernels
