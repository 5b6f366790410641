// Opens a library whose own libraries are of CUDA, which may be installed where the dynamic linker
// does not search: in a toolkit's folder, or as Python wheels from PyPI.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlroof::gpu_loader {

// Returns the value of an environment variable, or nothing if it is not set.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> ProcessVariable(const std::string& name);

// Returns the existing folders that may contain libraries of CUDA and cuDNN, in the order in which
// they are searched: toolkits that CUDA_PATH and CUDA_HOME name, wheels of the virtual environment
// that VIRTUAL_ENV names, wheels in the folder of the module (pip install --target), those of the
// environment into whose lib/dlroof pip installed the module, whether or not it is activated, the
// user's own wheels (below HOME), and /usr/local/cuda. `root` is "/", in tests another folder.
std::vector<std::filesystem::path> CudaFolders(const std::filesystem::path& module_folder,
                                               const Variable& variable = ProcessVariable,
                                               const std::filesystem::path& root = "/");

// A library that dlopen opened, or its error message.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string error;
};
// Opens a library. If the dynamic linker does not find a library that it needs, opens that one from
// the first of `folders` that has it, and tries again. Libraries stay open.
OpenedLibrary OpenWithLibrariesOf(const std::filesystem::path& file,
                                  const std::vector<std::filesystem::path>& folders);

}  // namespace dlroof::gpu_loader
