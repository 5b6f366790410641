// The CUDA module as the programs open it.
#include <gmock/gmock.h>

#include <filesystem>

#include "bench/gpu_loader/loader.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof::cuda_module {
namespace {

using testing::IsEmpty, testing::Not;

// Returns the module beside this program (which may run on another machine), or else the one of
// the build.
std::filesystem::path Module() {
  std::error_code none;
  const auto beside = gpu_loader::GpuModuleFile();
  return std::filesystem::exists(beside, none) ? beside : DLROOF_CUDA_MODULE;
}

TEST(CudaModule, OpensAndKnowsWhetherThereIsAGpu) {
  const auto [module, reason] = gpu_loader::OpenGpuModule(Module());
  ASSERT_NE(module, nullptr) << reason->text;
  EXPECT_EQ(module->devices.empty(), module->no_device_reason.has_value());
  EXPECT_EQ(module->backends.empty(), module->no_backends_reason.has_value());
  for (const auto& library : module->libraries) EXPECT_THAT(library.description(), Not(IsEmpty()));
}

TEST(CudaModule, DescribesTheMachineOnGpu) {
  const auto [module, reason] = gpu_loader::OpenGpuModule(Module());
  ASSERT_NE(module, nullptr) << reason->text;
  if (module->devices.empty()) GTEST_SKIP() << fakes::NeedsGpu(module->no_device_reason->text);
  const auto machine = module->describe(module->devices.front().number);
  EXPECT_EQ(machine.device, "gpu");
  EXPECT_EQ(machine.name, module->devices.front().name);
  EXPECT_THAT(machine.facts.at("driver"), Not(IsEmpty()));
}

}  // namespace
}  // namespace dlroof::cuda_module
