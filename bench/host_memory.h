// Whether a workload fits this machine's memory: Linux hands out more than there is and later kills
// the program that uses it, which would end the whole run.
#pragma once

#include <string_view>

namespace dlroof {

// Throws Unsupported, naming both sizes, when `bytes` exceed the machine's physical memory.
// `what` names the workload.
void RequireHostMemory(double bytes, std::string_view what);

}  // namespace dlroof
