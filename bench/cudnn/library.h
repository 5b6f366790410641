// What cuDNN says of itself, for the CUDA module, which may have been built without it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "counters/base/error.h"

namespace dlroof::cudnn {

struct LibraryFacts {
  std::string version;  // of the loaded cuDNN: "9.19.0"
  // Set if the loaded cuDNN has another major version than the build's: the reason, and a remedy.
  std::optional<Reason> unavailable;
};

// Reads the facts. Set by bench/cudnn, empty in a module without it.
inline std::function<LibraryFacts()>& FactsReader() {
  static std::function<LibraryFacts()> reader;
  return reader;
}

}  // namespace dlroof::cudnn
