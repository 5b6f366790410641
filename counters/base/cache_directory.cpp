#include "counters/base/cache_directory.h"

#include <cstdlib>

namespace dlroof {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> AbsolutePathIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || !fs::path(text).is_absolute()) return std::nullopt;
  return fs::path(text);
}

}  // namespace

std::optional<fs::path> CacheDirectory() {
  if (const auto cache = AbsolutePathIn("XDG_CACHE_HOME")) return *cache / "dlroof";
  if (const auto home = AbsolutePathIn("HOME")) return *home / ".cache" / "dlroof";
  return std::nullopt;
}

}  // namespace dlroof
