#include "ceilings/cpu_kernels/flops.h"

namespace dlroof {

std::vector<FlopsProbe> NativeFlopsProbes() {
  std::vector<FlopsProbe> all;
  for (const auto& table :
       {MultiplyAddProbes(), FusedProbes(), HalfVectorProbes(), Int8VectorProbes(), TileProbes()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

}  // namespace dlroof
