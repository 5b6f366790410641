#include "counters/base/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

namespace dlroof {
namespace {

namespace fs = std::filesystem;

bool IsFolder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

// Returns the first executable file `name` in the folders of PATH, with symbolic links resolved.
// Skips empty entries, which stand for the working folder.
std::optional<fs::path> FoundInPath(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto file = fs::path(folder) / name;
    std::error_code none;
    if (!folder.empty() && fs::is_regular_file(file, none) && access(file.c_str(), X_OK) == 0)
      return fs::canonical(file, none);
  }
  return std::nullopt;
}

}  // namespace

fs::path ProgramPath() {
  std::error_code none;
  return fs::read_symlink("/proc/self/exe", none);
}

std::optional<Installation> InstallationOf(const fs::path& program) {
  if (!program.is_absolute()) return std::nullopt;  // unknown: the working folder is not meant
  const auto folder = program.parent_path();
  const auto prefix = folder.parent_path();
  if (folder.filename() == "bin" && IsFolder(prefix / "share/dlroof"))
    return Installation{folder, prefix / "lib/dlroof", prefix / "share/dlroof"};
  if (IsFolder(folder / "share/dlroof"))
    return Installation{folder, folder, folder / "share/dlroof"};
  return std::nullopt;
}

std::optional<Installation> ThisInstallation() {
  if (auto own = InstallationOf(ProgramPath())) return own;
  const auto dlroof = FoundInPath("dlroof");
  return dlroof ? InstallationOf(*dlroof) : std::nullopt;
}

std::optional<fs::path> DataFolder() {
  if (const char* const chosen = std::getenv("DLROOF_DATA"); chosen != nullptr && *chosen != '\0')
    return chosen;
  const auto installation = ThisInstallation();
  return installation ? std::optional(installation->data) : std::nullopt;
}

}  // namespace dlroof
