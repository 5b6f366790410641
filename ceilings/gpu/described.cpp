#include "ceilings/gpu/described.h"

namespace dlroof {

Machine DescribeGpu(const GpuIdentity& identity) {
  Machine machine;
  machine.device = "gpu";
  machine.name = identity.name;
  machine.facts = Facts(identity);
  machine.fingerprint = Fingerprint(machine.facts);
  if (identity.l2_bytes > 0) machine.cache_bytes[Level::kL2] = identity.l2_bytes;
  return machine;
}

}  // namespace dlroof
