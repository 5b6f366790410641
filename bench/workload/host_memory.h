// Refusal of workloads that do not fit this machine's memory: Linux hands out more than there is
// and later kills the program that uses it, which would end the whole run.
#pragma once

#include <string_view>

namespace dlroof {

// Throws Unsupported, naming both sizes, when `bytes` exceed what may be allocated without swapping
// or being killed (system and control groups; not checked where the system does not say). `what`
// names the workload.
void RequireHostMemory(double bytes, std::string_view what);

}  // namespace dlroof
