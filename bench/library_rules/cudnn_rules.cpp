#include "bench/library_rules/cudnn_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "counters/base/error.h"

namespace dlroof::library_rules {
namespace {

// cuDNN 9 numbers its statuses in thousands by kind.
constexpr int kKind = 1000, kBadParam = 2, kNotSupported = 3;
// INCOMPATIBLE_CUDA_DRIVER, INCOMPATIBLE_CUDART, RUNTIME_PREREQUISITE_MISSING (NVRTC, for one),
// SUBLIBRARY_UNAVAILABLE.
constexpr std::array<int, 4> kInstallation = {3005, 3006, 3008, 3009};

// Before cuDNN 9 a major version was a thousand.
std::size_t Major(std::size_t version) { return version / (version < 10000 ? 1000 : 10000); }
std::size_t Minor(std::size_t version) { return version / 100 % (version < 10000 ? 10 : 100); }

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

std::string VersionText(std::size_t version) {
  return fmt::format("{}.{}.{}", Major(version), Minor(version), version % 100);
}

std::string WhyNotThisVersion(std::size_t found, int built_for_major) {
  if (Major(found) == static_cast<std::size_t>(built_for_major)) return "";
  return fmt::format(
      "cuDNN {} was found, and this build needs {}: put its folder first in LD_LIBRARY_PATH",
      VersionText(found), built_for_major);
}

void RequireTf32(std::string_view type, const char* override_value) {
  if (override_value == nullptr || *override_value == 0) return;
  const std::string_view value = override_value;
  if (type == "tf32" && value == "0")
    throw Unsupported("{}=0 turns tf32 off in cuDNN: unset it", kTf32Override);
  if (type == "f32" && value != "0")
    throw Unsupported("{}={} may turn f32 into tf32 in cuDNN: unset it", kTf32Override, value);
}

}  // namespace dlroof::library_rules
