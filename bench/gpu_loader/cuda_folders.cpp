#include "bench/gpu_loader/cuda_folders.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

namespace dlroof::gpu_loader {
namespace {

namespace fs = std::filesystem;

void AddIfFolder(const fs::path& folder, std::vector<fs::path>& folders) {
  std::error_code none;
  if (fs::is_directory(folder, none) && std::ranges::find(folders, folder) == folders.end())
    folders.push_back(folder);
}

// Returns a folder's entries in alphabetical order; empty if it cannot be read.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

void AddToolkit(const fs::path& toolkit, std::vector<fs::path>& folders) {
  for (const char* inside : {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"})
    AddIfFolder(toolkit / inside, folders);
}

// NVIDIA's wheels install site-packages/nvidia/<part>/lib.
void AddWheels(const fs::path& site_packages, std::vector<fs::path>& folders) {
  for (const auto& part : EntriesOf(site_packages / "nvidia")) AddIfFolder(part / "lib", folders);
}

// Adds the wheels in the environment's folder, for each of its Python versions.
void AddEnvironment(const fs::path& environment, std::vector<fs::path>& folders) {
  for (const auto& python : EntriesOf(environment / "lib"))
    if (python.filename().string().starts_with("python"))
      AddWheels(python / "site-packages", folders);
}

// Parses dlopen's error message: returns the library that was not found, if that is the error.
std::optional<std::string> NotFound(const std::string& error) {
  constexpr std::string_view kText = ": cannot open shared object file";
  const auto at = error.find(kText);
  return at == std::string::npos ? std::nullopt : std::optional(error.substr(0, at));
}

OpenedLibrary Open(const fs::path& file, const std::vector<fs::path>& folders,
                   std::set<std::string>& searched) {
  while (true) {
    if (void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, ""};
    const char* const text = dlerror();
    OpenedLibrary failed{nullptr, text == nullptr ? "" : text};
    const auto missing = NotFound(failed.error);
    if (!missing || !searched.insert(*missing).second) return failed;
    const auto has_it = [&](const fs::path& folder) {
      std::error_code none;
      return fs::exists(folder / *missing, none);
    };
    const auto folder = std::ranges::find_if(folders, has_it);
    if (folder == folders.end()) return failed;
    if (const auto opened = Open(*folder / *missing, folders, searched); opened.handle == nullptr)
      return opened;
  }
}

}  // namespace

std::optional<std::string> ProcessVariable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::vector<fs::path> CudaFolders(const fs::path& module_folder, const Variable& variable,
                                  const fs::path& root) {
  std::vector<fs::path> folders;
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"})
    if (const auto toolkit = variable(name); toolkit && !toolkit->empty())
      AddToolkit(*toolkit, folders);
  if (const auto environment = variable("VIRTUAL_ENV"); environment && !environment->empty())
    AddEnvironment(*environment, folders);
  AddWheels(module_folder, folders);
  AddEnvironment(module_folder.parent_path().parent_path(), folders);
  if (const auto home = variable("HOME"); home && !home->empty())
    AddEnvironment(fs::path(*home) / ".local", folders);
  AddToolkit(root / "usr/local/cuda", folders);
  return folders;
}

OpenedLibrary OpenWithLibrariesOf(const fs::path& file, const std::vector<fs::path>& folders) {
  std::set<std::string> searched;
  return Open(file, folders, searched);
}

}  // namespace dlroof::gpu_loader
