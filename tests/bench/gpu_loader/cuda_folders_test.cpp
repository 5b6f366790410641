#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/gpu_loader/loader.h"
#include "counters/base/files.h"
#include "tests/paths.h"

namespace dlroof::gpu_loader {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Needs libdlroof_fake_needed.so, which is in fake_modules/nvidia/cu13/lib, as a wheel's would be.
constexpr const char* kNeedsAWheel = DLROOF_FAKE_MODULES "/nvidia/needs_wheel.so";

class CudaFoldersTest : public testing::Test {
 protected:
  fs::path At(const std::string& name) const { return folder_ / name; }
  fs::path Made(const std::string& name) const {
    fs::create_directories(At(name));
    return At(name);
  }
  std::vector<fs::path> Found(const std::map<std::string, std::string>& variables) const {
    const auto variable = [&](const std::string& name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    return CudaFolders(At("env/lib/module"), variable, At("root"));
  }
  TemporaryFolder folder_;
};

TEST_F(CudaFoldersTest, AreInTheOrderOfTheUsersChoice) {
  const auto system = Made("root/usr/local/cuda/lib64");
  const auto cupti = Made("root/usr/local/cuda/extras/CUPTI/lib64");
  const auto own_wheels = Made("home/.local/lib/python3.11/site-packages/nvidia/cu13/lib");
  const auto cudnn_beside = Made("env/lib/module/nvidia/cudnn/lib"),
             cuda_beside = Made("env/lib/module/nvidia/cu13/lib");
  const auto around = Made("env/lib/python3.11/site-packages/nvidia/cu13/lib");
  const auto environment = Made("venv/lib/python3.12/site-packages/nvidia/cu13/lib");
  const auto toolkit = Made("toolkit/lib");
  EXPECT_THAT(
      Found({{"CUDA_HOME", At("toolkit")}, {"VIRTUAL_ENV", At("venv")}, {"HOME", At("home")}}),
      ElementsAre(toolkit, environment, cuda_beside, cudnn_beside, around, own_wheels, system,
                  cupti));
}

TEST_F(CudaFoldersTest, OnlyExistingFoldersAreNamed) {
  Made("root/usr/local/cuda/bin");
  EXPECT_THAT(Found({}), ElementsAre());
  EXPECT_THAT(Found({{"CUDA_PATH", ""}, {"HOME", At("none")}}), ElementsAre());
}

TEST_F(CudaFoldersTest, AToolkitThatTwoVariablesNameIsSearchedOnce) {
  const auto toolkit = Made("toolkit/lib64");
  EXPECT_THAT(Found({{"CUDA_PATH", At("toolkit")}, {"CUDA_HOME", At("toolkit")}}),
              ElementsAre(toolkit));
}

TEST(OpenWithLibrariesOf, OpensWhatTheLinkerDoesNotFind) {
  const auto missing = OpenWithLibrariesOf(kNeedsAWheel, {DLROOF_FAKE_MODULES});
  EXPECT_EQ(missing.handle, nullptr);
  EXPECT_THAT(missing.error, HasSubstr("libdlroof_fake_needed.so: cannot open"));

  const auto opened = OpenWithLibrariesOf(
      kNeedsAWheel, {DLROOF_FAKE_MODULES, DLROOF_FAKE_MODULES "/nvidia/cu13/lib"});
  ASSERT_NE(opened.handle, nullptr) << opened.error;
  const auto answer = reinterpret_cast<int (*)()>(dlsym(opened.handle, "dlroof_fake_answer"));
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer(), 42);
}

TEST(OpenWithLibrariesOf, AFileThatIsMissingItselfIsNamed) {
  EXPECT_THAT(OpenWithLibrariesOf("/nowhere/x.so", {DLROOF_FAKE_MODULES}).error,
              HasSubstr("/nowhere/x.so: cannot open"));
}

}  // namespace
}  // namespace dlroof::gpu_loader
