#include "bench/gpu_loader/loader.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/refusal.h"
#include "tests/paths.h"

namespace dlroof::gpu_loader {
namespace {

using testing::ElementsAre, testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kDriver = DLROOF_FAKE_MODULES "/libcuda_fake.so";

std::filesystem::path Fake(const std::string& name) {
  return std::string(DLROOF_FAKE_MODULES "/") + name + ".so";
}

std::string ReasonOf(const std::string& name) {
  return OpenGpuModule(Fake(name)).reason.value().text;
}

GpuAccess Access(const std::string& name, const std::string& device = "auto") {
  return AccessGpu(ParseDevice(device, "--d"), "--d", Fake(name), kDriver);
}

TEST(OpenGpuModule, DescribesAForeignAndADamagedFileInOneSentence) {
  EXPECT_THAT(ReasonOf("no_entry"), HasSubstr("is not a module of dlroof"));
  for (const char* name : {"none", "other_abi", "throws", "unresolved", "no_entry"})
    EXPECT_EQ(ReasonOf(name).find('\n'), std::string::npos) << name;
  const TemporaryFolder folder;
  const auto path = folder / "damaged.so";
  for (const std::string text :
       {"", "not a library, but long enough for the header of one ......"}) {
    std::ofstream(path) << text;
    EXPECT_THAT(OpenGpuModule(path).reason.value().text, HasSubstr("cannot be opened (")) << text;
  }
}

TEST(ParseDevice, KnowsAllFormsAndRefusesOthers) {
  EXPECT_TRUE(ParseDevice("auto", "--d").cpu && ParseDevice("auto", "--d").gpu);
  EXPECT_FALSE(ParseDevice("auto", "--d").gpu_requested);
  EXPECT_FALSE(ParseDevice("cpu", "--d").gpu);
  EXPECT_FALSE(ParseDevice("gpu", "--d").cpu);
  EXPECT_EQ(ParseDevice("gpu", "--d").number, 0);
  EXPECT_EQ(ParseDevice("gpu12", "--d").number, 12);
  for (const char* text : {"", "g", "gpux", "gpu-1", "gpu1x", "GPU", "cuda", "xpu0"})
    EXPECT_THROW(ParseDevice(text, "--d"), BadInput) << text;
}

// The reason for a missing GPU is seen by tests/cli/test_gpu.py.
TEST(RegisterGpu, ItsBenchmarksReportTheReasonForMissingCudnn) {
  RegisterGpu(Access("no_backends"));
  const auto lstm = workload::MakeWorkload("LSTM/gpu/cudnn/bwd/f32/t1n1i1h1");
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { lstm.prepare({}); }),
            "the fake was built without cuDNN");
}

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

TEST_F(CudaFoldersTest, OnlyExistingFoldersAreNamedAndEachOnce) {
  Made("root/usr/local/cuda/bin");
  EXPECT_THAT(Found({}), ElementsAre());
  EXPECT_THAT(Found({{"CUDA_PATH", ""}, {"HOME", At("none")}}), ElementsAre());
  const auto toolkit = Made("toolkit/lib64");
  EXPECT_THAT(Found({{"CUDA_PATH", At("toolkit")}, {"CUDA_HOME", At("toolkit")}}),
              ElementsAre(toolkit));
}

TEST(OpenWithLibrariesOf, OpensWhatTheLinkerDoesNotFindAndNamesAMissingFile) {
  const auto missing = OpenWithLibrariesOf(kNeedsAWheel, {DLROOF_FAKE_MODULES});
  EXPECT_EQ(missing.handle, nullptr);
  EXPECT_THAT(missing.error, HasSubstr("libdlroof_fake_needed.so: cannot open"));

  const auto opened = OpenWithLibrariesOf(
      kNeedsAWheel, {DLROOF_FAKE_MODULES, DLROOF_FAKE_MODULES "/nvidia/cu13/lib"});
  ASSERT_NE(opened.handle, nullptr) << opened.error;
  const auto answer = reinterpret_cast<int (*)()>(dlsym(opened.handle, "dlroof_fake_answer"));
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer(), 42);
  EXPECT_THAT(OpenWithLibrariesOf("/nowhere/x.so", {DLROOF_FAKE_MODULES}).error,
              HasSubstr("/nowhere/x.so: cannot open"));
}

}  // namespace
}  // namespace dlroof::gpu_loader
