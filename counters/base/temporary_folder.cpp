#include "counters/base/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "counters/base/error.h"

namespace dlroof {
namespace {

namespace fs = std::filesystem;

// mkdtemp replaces the last six characters by what makes the name unique.
constexpr std::size_t kUnique = 6;

}  // namespace

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
