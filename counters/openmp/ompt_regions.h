// The OpenMP runtime that called this program as its tool.
#pragma once

#include <string_view>

namespace dlroof {

// Returns if the regions of the runtime that names itself so mean what a source promises: LLVM's
// libomp and Intel's libiomp5, by their `__kmp_version_lib_ver`.
bool IsWatchedRuntime(std::string_view version);

// Returns if the code at an address belongs to the runtime whose regions OMPT shows, now.
bool OmptShows(const void* code);

}  // namespace dlroof
