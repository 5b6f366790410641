#include "ceilings/cpu_flops_probes.h"

namespace dlroof {

std::vector<FlopsProbe> NativeFlopsProbes() { return {}; }

}  // namespace dlroof
