#include "bench/library_rules/cudnn_status.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "counters/base/error.h"

namespace dlroof::cudnn {
namespace {

// cuDNN 9 numbers its statuses in thousands by kind.
constexpr int kKind = 1000, kBadParam = 2, kNotSupported = 3;
// INCOMPATIBLE_CUDA_DRIVER, INCOMPATIBLE_CUDART, RUNTIME_PREREQUISITE_MISSING (NVRTC, for one),
// SUBLIBRARY_UNAVAILABLE.
constexpr std::array<int, 4> kInstallation = {3005, 3006, 3008, 3009};

}  // namespace

bool IsRefusal(int status, Stage stage) {
  if (std::ranges::count(kInstallation, status) > 0) return false;
  const int kind = status / kKind;
  return kind == kNotSupported || (kind == kBadParam && stage == Stage::kDescribe);
}

bool Broken(const WhyNot& why) { return why.broken; }

void Throw(const WhyNot& why) {
  if (why.broken) throw std::runtime_error(why.words);
  throw Unsupported(why.words);
}

void ThrowFirst(const std::vector<WhyNot>& failures) {
  if (failures.empty()) throw std::logic_error("nothing failed");
  const auto broken = std::ranges::find_if(failures, Broken);
  Throw(broken != failures.end() ? *broken : failures.front());
}

}  // namespace dlroof::cudnn
