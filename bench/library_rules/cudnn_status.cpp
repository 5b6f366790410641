#include "bench/library_rules/cudnn_status.h"

#include <algorithm>
#include <array>

namespace dlroof::cudnn {
namespace {

// cuDNN 9 numbers its statuses in thousands by kind.
constexpr int kKind = 1000, kBadParam = 2, kNotSupported = 3;
// INCOMPATIBLE_CUDA_DRIVER, INCOMPATIBLE_CUDART, RUNTIME_PREREQUISITE_MISSING (NVRTC, for one),
// SUBLIBRARY_UNAVAILABLE.
constexpr std::array<int, 4> kInstallation = {3005, 3006, 3008, 3009};

}  // namespace

bool IsRefusal(int status, Stage stage) {
  if (std::find(kInstallation.begin(), kInstallation.end(), status) != kInstallation.end())
    return false;
  const int kind = status / kKind;
  return kind == kNotSupported || (kind == kBadParam && stage == Stage::kDescribe);
}

}  // namespace dlroof::cudnn
