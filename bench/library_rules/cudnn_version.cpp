#include "bench/library_rules/cudnn_version.h"

#include <fmt/format.h>

#include "counters/base/error.h"

namespace dlroof::cudnn {
namespace {

// Before cuDNN 9 a major version was a thousand.
std::size_t Major(std::size_t version) { return version / (version < 10000 ? 1000 : 10000); }
std::size_t Minor(std::size_t version) { return version / 100 % (version < 10000 ? 10 : 100); }

}  // namespace

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

}  // namespace dlroof::cudnn
