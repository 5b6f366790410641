#include "bench/cuda_module/libraries.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "bench/cudnn/library.h"
#include "counters/gpu/access.h"

namespace dlroof {
namespace {

std::string RuntimeText() {
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return fmt::format("CUDA runtime {}, driver {}", CudaVersionText(runtime),
                     driver == 0 ? "none" : "for CUDA " + CudaVersionText(driver));
}

// 130100 -> "13.1.0".
std::string CublasLtText() {
  const auto version = cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string CuptiText() {
  std::uint32_t version = 0;
  if (cuptiGetVersion(&version) != CUPTI_SUCCESS) return "CUPTI, version unknown";
  return fmt::format("CUPTI API {}", version);
}

Library DescribedLibrary(std::string name, std::string (*description)()) {
  return {std::move(name), description, [](const std::vector<int>&) {},
          [](const std::function<void(int)>&) {}};
}

}  // namespace

std::vector<Library> CudaLibraries() {
  std::vector<Library> libraries = {DescribedLibrary("cuda", RuntimeText),
                                    DescribedLibrary("cublaslt", CublasLtText),
                                    DescribedLibrary("cupti", CuptiText)};
  if (!CudnnVersion().empty())
    libraries.push_back(DescribedLibrary("cudnn", [] { return "cuDNN " + CudnnVersion(); }));
  return libraries;
}

void PreloadNvrtcParts() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&cublasLtGetVersion), &info) == 0) return;
  std::error_code none;
  const auto folder = std::filesystem::path(info.dli_fname).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

}  // namespace dlroof
