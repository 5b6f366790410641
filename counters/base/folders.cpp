#include "counters/base/folders.h"

#include <cstdlib>
#include <system_error>

#include "counters/base/error.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> AbsolutePathIn(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || !fs::path(text).is_absolute()) return std::nullopt;
  return fs::path(text);
}

// mkdtemp replaces the last six characters by what makes the name unique.
constexpr std::size_t kUnique = 6;

}  // namespace

std::optional<fs::path> CacheDirectory() {
  if (const auto cache = AbsolutePathIn("XDG_CACHE_HOME")) return *cache / "dlroof";
  if (const auto home = AbsolutePathIn("HOME")) return *home / ".cache" / "dlroof";
  return std::nullopt;
}

TemporaryFolder::TemporaryFolder()
    : path_((fs::temp_directory_path() / "dlroof-").string() + std::string(kUnique, 'X')) {
  if (mkdtemp(path_.data()) == nullptr)
    throw BadInput(path_ + ": cannot be made, and a temporary folder is needed");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace dlroof
