// Opens a library that needs CUDA libraries installed outside the dynamic linker's search path: in
// a toolkit's folder, or as Python wheels from PyPI.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlroof::gpu_loader {

// Returns the value of an environment variable, or nullopt if it is not set.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> ProcessVariable(const std::string& name);

// Returns the existing folders that may contain libraries of CUDA and cuDNN, in search order:
// toolkits named by CUDA_PATH and CUDA_HOME; wheels of the virtual environment VIRTUAL_ENV; wheels
// beside the module (pip install --target); wheels of the environment in whose lib/dlroof the
// module is installed, activated or not; the user's wheels (below HOME); /usr/local/cuda. `root` is
// "/" except in tests.
std::vector<std::filesystem::path> CudaFolders(const std::filesystem::path& module_folder,
                                               const Variable& variable = ProcessVariable,
                                               const std::filesystem::path& root = "/");

// A library opened by dlopen, or dlopen's error message.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string error;
};
// Opens a library. While the dynamic linker misses a library that this one needs, opens the missing
// one from the first of `folders` that has it, and tries again. Libraries stay open.
OpenedLibrary OpenWithLibrariesOf(const std::filesystem::path& file,
                                  const std::vector<std::filesystem::path>& folders);

}  // namespace dlroof::gpu_loader
