#include "bench/library_rules/onednn_version.h"

#include <fmt/format.h>

namespace dlroof {

std::string WhyNoLoopsOf(int major, int minor) {
  if (major == 3 && minor == 2) return "";
  return fmt::format("the loops of oneDNN {}.{} are not modelled, only those of 3.2", major, minor);
}

}  // namespace dlroof
