// The CUDA module's entry: the table of what it has.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "bench/cudnn/library.h"
#include "bench/gpu/module.h"
#include "ceilings/gpu/measure.h"
#include "counters/base/version.h"
#include "counters/cuda/clock.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cuda/device.h"
#include "counters/gpu/access.h"
#include "counters/gpu/nvml.h"

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

// Versions, for run files and the doctor: the CUDA runtime and driver, cuBLASLt, CUPTI, cuDNN.
std::vector<Library> CudaLibraries() {
  std::vector<Library> libraries = {DescribedLibrary("cuda", RuntimeText),
                                    DescribedLibrary("cublaslt", CublasLtText),
                                    DescribedLibrary("cupti", CuptiText)};
  if (!CudnnVersion().empty())
    libraries.push_back(DescribedLibrary("cudnn", [] { return "cuDNN " + CudnnVersion(); }));
  return libraries;
}

// libnvrtc, which cuDNN uses, opens its own second half by a bare name, which no search path leads
// to where CUDA comes from Python's wheels: opened here by its path, it is found. Does nothing
// where there is none.
void PreloadNvrtcParts() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&cublasLtGetVersion), &info) == 0) return;
  std::error_code none;
  const auto folder = std::filesystem::path(info.dli_fname).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

// The driver's version is a fact, but not of the fingerprint.
Machine Described(int device) {
  auto machine = DescribeGpu(ReadGpuIdentity(device));
  const auto driver = Nvml::Open("libnvidia-ml.so.1", PciBusId(device)).DriverVersion();
  machine.facts["driver"] = driver.empty() ? "not known" : driver;
  return machine;
}

Machine Measured(const GpuMeasureOptions& options) {
  auto machine = MeasureGpu(options);
  machine.facts.merge(Described(options.device).facts);
  return machine;
}

GpuModule Made() {
  PreloadNvrtcParts();
  const auto state = ReadCudaState();
  GpuModule module{.build = kBuildId, .libraries = CudaLibraries(), .why_no_cells = WhyNoCudnn()};
  if (module.why_no_cells.empty())
    std::copy_if(AllCells().begin(), AllCells().end(), std::back_inserter(module.cells),
                 [](const Cell& cell) { return cell.prepare != nullptr && cell.device == "gpu"; });
  module.why_no_device = WhyNoDevice(state);
  for (int number = 0; number < static_cast<int>(state.gpus.size()); ++number)
    if (const auto& gpu = state.gpus[number]; IsUsable(gpu, state))
      module.devices.push_back({number, gpu.name});
  module.sources = CuptiSources(module.devices.empty() ? 0 : module.devices.front().number);
  module.describe = Described;
  module.measure = Measured;
  module.clock = OpenCudaClock;
  return module;
}

}  // namespace
}  // namespace dlroof

extern "C" __attribute__((visibility("default"))) const dlroof::GpuModule* dlroof_cuda_module() {
  static const dlroof::GpuModule module = dlroof::Made();
  return &module;
}
