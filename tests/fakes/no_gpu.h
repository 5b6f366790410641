// The skip text of tests that need a GPU.
#pragma once

#include <string>

namespace dlroof::fakes {

// Returns the text with which a test skips itself.
inline std::string NeedsGpu(const std::string& why) {
  return why + " (ci/gpu_check.sh runs this test where there is a GPU)";
}

}  // namespace dlroof::fakes
