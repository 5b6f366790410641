#include <cudnn_graph.h>
#include <fmt/format.h>

#include "bench/cuda_libraries.h"

namespace dlroof {
namespace {

// 91900 -> "9.19.0".
std::string Text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

std::string CudnnVersion() { return Text(cudnnGetVersion()); }

// Minor versions of one major version serve each other's programs (checked with 9.12 to 9.22).
std::string WhyNoCudnn() {
  const auto here = cudnnGetVersion();
  if (here / 10000 == CUDNN_MAJOR) return "";
  return fmt::format(
      "cuDNN {} was found, and this build needs {}: put its folder first in "
      "LD_LIBRARY_PATH",
      Text(here), CUDNN_MAJOR);
}

}  // namespace dlroof
