#include "bench/gpu_loader/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/refusal.h"
#include "tests/paths.h"

namespace dlroof::gpu_loader {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

TEST(OpenGpuModule, GivesTheTableOfAWorkingModule) {
  const auto [module, reason] = OpenGpuModule(Fake("working"));
  EXPECT_FALSE(reason);
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->devices.at(0).name, "Fake GPU");
}

TEST(OpenGpuModule, DescribesEachProblemInOneSentence) {
  EXPECT_THAT(ReasonOf("none"), HasSubstr("this build has no CUDA module"));
  EXPECT_THAT(ReasonOf("other_abi"), HasSubstr("come from different builds"));
  EXPECT_THAT(ReasonOf("throws"), HasSubstr("cannot be initialized: the fake fell over"));
  EXPECT_THAT(ReasonOf("unresolved"),
              AllOf(HasSubstr("cannot be opened ("), HasSubstr("dlroof_function_of_no_library")));
  EXPECT_THAT(ReasonOf("no_entry"), HasSubstr("is not a module of dlroof"));
  for (const char* name : {"none", "other_abi", "throws", "unresolved", "no_entry"})
    EXPECT_EQ(ReasonOf(name).find('\n'), std::string::npos) << name;
}

TEST(OpenGpuModule, ReportsADamagedFile) {
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

TEST(AccessGpu, FindsTheRequestedDevice) {
  for (const char* device : {"auto", "gpu", "gpu0"}) {
    const auto access = Access("working", device);
    EXPECT_FALSE(access.reason) << device;
    EXPECT_EQ(access.device.name, "Fake GPU");
  }
  EXPECT_EQ(fakes::RefusalOf([] { Access("working", "gpu1"); }),
            "--d=gpu1: there is no such GPU; this machine has gpu0 (Fake GPU)");
}

TEST(AccessGpu, ExplainsWhyThereIsNoDevice) {
  EXPECT_EQ(Access("no_device").reason.value().text, "the fake driver sees no GPU");
  EXPECT_THAT(Access("throws").reason.value().text, HasSubstr("the fake fell over"));
  EXPECT_THAT(Access("working", "cpu").reason.value().text,
              HasSubstr("only the CPU was requested"));
  EXPECT_THAT(Access("none").reason.value().text, HasSubstr("this build has no CUDA module"));
}

TEST(AccessGpu, DoesNotOpenTheModuleWithoutADriver) {
  const auto access =
      AccessGpu(ParseDevice("auto", "--d"), "--d", Fake("throws"), "libdlroof_no_such_driver.so.1");
  EXPECT_THAT(access.reason.value().text, HasSubstr("there is no NVIDIA driver"));
  EXPECT_EQ(access.module, nullptr);
}

TEST(RegisterGpu, ItsBenchmarksReportTheReasonForAMissingGpu) {
  RegisterGpu({nullptr, {}, Reason{"there is none today"}});
  const auto workload =
      workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n1c16h16w16k8r3s3_p1/cold");
  EXPECT_EQ(workload.cache, workload::CacheState::kCold);
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { workload.prepare({}); }), "there is none today");
}

TEST(RegisterGpu, AddsTheModulesBackendsAndLibrariesToTheProgram) {
  RegisterGpu(Access("working"));
  EXPECT_EQ(workload::AllLibraries().back().description(), "cuDNN of the fake");
  EXPECT_EQ(
      workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n1c16h16w16k8r3s3_p1").prepare({}).algorithm,
      "fake engine");
  EXPECT_THROW(workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n1"), BadInput)
      << "the program reads names";
  // An exception keeps its type when it leaves the module.
  EXPECT_THROW(workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n2c16h16w16k8r3s3_p1").prepare({}),
               Unsupported);
}

TEST(RegisterGpu, BenchmarksReportAMissingCudnn) {
  RegisterGpu(Access("no_backends"));
  const auto workload = workload::MakeWorkload("LSTM/gpu/cudnn/bwd/f32/t1n1i1h1");
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { workload.prepare({}); }),
            "the fake was built without cuDNN");
}

}  // namespace
}  // namespace dlroof::gpu_loader
