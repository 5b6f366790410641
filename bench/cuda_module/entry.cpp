// The CUDA module's entry point: fills the GpuModule table.
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "bench/cudnn/library.h"
#include "bench/gpu_loader/module.h"
#include "ceilings/gpu_ceilings/bench.h"
#include "counters/base/error.h"
#include "counters/base/version.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cuda/device.h"
#include "counters/gpu/api.h"

namespace dlroof::cuda_module {
namespace {

std::string RuntimeText() {
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return fmt::format("CUDA runtime {}, driver {}", gpu::CudaVersionText(runtime),
                     driver == 0 ? "none" : "for CUDA " + gpu::CudaVersionText(driver));
}

// Returns e.g. "cuBLASLt 13.1.0" for version 130100.
std::string CublasLtText() {
  const auto version = cublasLtGetVersion();
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string CuptiText() {
  std::uint32_t version = 0;
  if (cuptiGetVersion(&version) != CUPTI_SUCCESS) return "CUPTI, version unknown";
  return fmt::format("CUPTI API {}", version);
}

workload::Library DescribedLibrary(std::string name, std::string (*description)()) {
  return {std::move(name), description, [](const std::vector<int>&) {},
          [](const std::function<void(int)>&) {}};
}

// Returns the versions of CUDA runtime, driver, cuBLASLt, CUPTI and cuDNN, for run files.
std::vector<workload::Library> CudaLibraries() {
  std::vector<workload::Library> libraries = {DescribedLibrary("cuda", RuntimeText),
                                              DescribedLibrary("cublaslt", CublasLtText),
                                              DescribedLibrary("cupti", CuptiText)};
  if (cudnn::FactsReader())
    libraries.push_back(
        DescribedLibrary("cudnn", [] { return "cuDNN " + cudnn::FactsReader()().version; }));
  return libraries;
}

// Opens libnvrtc-builtins by its path, if installed. libnvrtc (used by cuDNN) opens it by its bare
// name, which is in no search path if CUDA was installed from Python wheels.
void PreloadNvrtcParts() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&cublasLtGetVersion), &info) == 0) return;
  std::error_code none;
  const auto folder = std::filesystem::path(info.dli_fname).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(entry.path().c_str(), RTLD_LAZY | RTLD_GLOBAL);
}

// Describes the GPU; adds the driver's version as a fact outside the fingerprint.
machine::Machine Described(int device) {
  auto machine = gpu_ceilings::DescribeGpu(cuda::ReadGpuIdentity(device));
  const auto driver = gpu::Nvml::Open("libnvidia-ml.so.1", cuda::PciBusId(device)).DriverVersion();
  machine.facts["driver"] = driver.value_or("not known");
  return machine;
}

machine::Machine Measured(const gpu_ceilings::GpuMeasureOptions& options) {
  auto machine = gpu_ceilings::MeasureGpu(options);
  machine.facts.merge(Described(options.device).facts);
  return machine;
}

std::optional<Reason> NoBackendsReason() {
  if (cudnn::FactsReader()) return cudnn::FactsReader()().unavailable;
  return Reason{
      "the CUDA module was built without cuDNN 9.8 or newer: install cuDNN and build again "
      "(ci/run.sh --gpu does)"};
}

gpu_loader::GpuModule Made() {
  PreloadNvrtcParts();
  const auto state = cuda::ReadCudaState();
  gpu_loader::GpuModule module{
      .build = kBuildId, .libraries = CudaLibraries(), .no_backends_reason = NoBackendsReason()};
  if (!module.no_backends_reason)
    std::copy_if(workload::AllBackends().begin(), workload::AllBackends().end(),
                 std::back_inserter(module.backends), [](const workload::Backend& backend) {
                   return backend.prepare != nullptr && backend.device == "gpu";
                 });
  module.no_device_reason = gpu::NoDeviceReason(state);
  for (int number = 0; number < static_cast<int>(state.gpus.size()); ++number)
    if (const auto& gpu = state.gpus[number]; gpu::IsUsable(gpu, state))
      module.devices.push_back({number, gpu.name});
  module.sources = cuda::CuptiSources(module.devices.empty() ? 0 : module.devices.front().number);
  module.describe = Described;
  module.measure = Measured;
  module.clock = cuda::OpenCudaClock;
  return module;
}

}  // namespace
}  // namespace dlroof::cuda_module

extern "C" __attribute__((visibility("default"))) const dlroof::gpu_loader::GpuModule*
dlroof_cuda_module() {
  static const dlroof::gpu_loader::GpuModule module = dlroof::cuda_module::Made();
  return &module;
}
