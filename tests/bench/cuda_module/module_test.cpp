// The CUDA module as the programs meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/gpu_loader/loader.h"
#include "tests/fakes/no_gpu.h"

namespace dlroof::cuda_module {
namespace {

using testing::IsEmpty;
using testing::Not;

// Beside this program where it was carried to another machine, else where it was built.
std::filesystem::path Module() {
  std::error_code none;
  const auto beside = gpu_loader::ModuleBesideProgram();
  return std::filesystem::exists(beside, none) ? beside : DLROOF_CUDA_MODULE;
}

TEST(CudaModule, OpensAndKnowsWhetherThereIsAGpu) {
  const auto [module, why_not] = gpu_loader::OpenGpuModule(Module());
  ASSERT_NE(module, nullptr) << why_not;
  EXPECT_EQ(module->devices.empty(), !module->why_no_device.empty()) << module->why_no_device;
  EXPECT_EQ(module->cells.empty(), !module->why_no_cells.empty()) << module->why_no_cells;
  for (const auto& library : module->libraries) EXPECT_THAT(library.description(), Not(IsEmpty()));
}

TEST(CudaModule, DescribesTheMachineOnGpu) {
  const auto [module, why_not] = gpu_loader::OpenGpuModule(Module());
  ASSERT_NE(module, nullptr) << why_not;
  if (module->devices.empty()) GTEST_SKIP() << fakes::NeedsGpu(module->why_no_device);
  const auto machine = module->describe(module->devices.front().number);
  EXPECT_EQ(machine.device, "gpu");
  EXPECT_EQ(machine.name, module->devices.front().name);
  EXPECT_THAT(machine.facts.at("driver"), Not(IsEmpty()));
}

}  // namespace
}  // namespace dlroof::cuda_module
