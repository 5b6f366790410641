// The skip text of tests that need a GPU.
#pragma once

#include <string>

namespace dlroof::fakes {

// Returns `why` and a warning to readers of a log.
inline std::string NeedsGpu(const std::string& why) {
  return why + " (this test has never run on hardware)";
}

}  // namespace dlroof::fakes
