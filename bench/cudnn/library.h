// cuDNN's version, for the parts of the CUDA module that are built even without cuDNN.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "counters/base/error.h"

namespace dlroof::cudnn {

struct LibraryFacts {
  std::string version;  // of the loaded cuDNN, e.g. "9.19.0"
  // Why the loaded cuDNN cannot be used, with a remedy. Set if the build's major version differs.
  std::optional<Reason> unavailable;
};

// Returns the function that reads the facts. bench/cudnn sets it; it is empty without cuDNN.
inline std::function<LibraryFacts()>& FactsReader() {
  static std::function<LibraryFacts()> reader;
  return reader;
}

}  // namespace dlroof::cudnn
