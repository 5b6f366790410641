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
using testing::IsEmpty;

constexpr const char* kDriver = DLROOF_FAKE_MODULES "/libcuda_fake.so";

std::filesystem::path Fake(const std::string& name) {
  return std::string(DLROOF_FAKE_MODULES "/") + name + ".so";
}

std::string WhyNot(const std::string& name) { return OpenGpuModule(Fake(name)).why_not; }

GpuAccess Access(const std::string& name, const std::string& device = "auto") {
  return AccessGpu(ParseDevice(device, "--d"), "--d", Fake(name), kDriver);
}

TEST(OpenGpuModule, GivesTheTableOfAWorkingModule) {
  const auto [module, why_not] = OpenGpuModule(Fake("working"));
  EXPECT_THAT(why_not, IsEmpty());
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->devices.at(0).name, "Fake GPU");
}

TEST(OpenGpuModule, EachWayOfBeingMissingOrBrokenIsOneSentence) {
  EXPECT_THAT(WhyNot("none"), HasSubstr("this build has no CUDA module"));
  EXPECT_THAT(WhyNot("other_abi"), HasSubstr("is of another build than this program"));
  EXPECT_THAT(WhyNot("throws"), HasSubstr("cannot begin: the fake fell over"));
  EXPECT_THAT(WhyNot("unresolved"), AllOf(HasSubstr("does not fit the libraries"),
                                          HasSubstr("dlroof_function_of_no_library")));
  EXPECT_THAT(WhyNot("no_entry"), HasSubstr("is no module of dlroof"));
  for (const char* name : {"none", "other_abi", "throws", "unresolved", "no_entry"})
    EXPECT_EQ(WhyNot(name).find('\n'), std::string::npos) << name;
}

TEST(OpenGpuModule, ADamagedFileIsSaidToBe) {
  const TemporaryFolder folder;
  const auto path = folder / "damaged.so";
  for (const std::string text :
       {"", "not a library, but long enough for the header of one ......"}) {
    std::ofstream(path) << text;
    EXPECT_THAT(OpenGpuModule(path).why_not, HasSubstr("is damaged: build again")) << text;
  }
}

TEST(SentenceForDlopen, NamesTheLibraryAndItsOwner) {
  const auto said = [](const std::string& library) {
    return library + ": cannot open shared object file: No such file or directory";
  };
  EXPECT_THAT(SentenceForDlopen(said("libcudnn.so.9"), "m.so"),
              AllOf(HasSubstr("needs libcudnn.so.9 of cuDNN 9"), HasSubstr("ci/run.sh --gpu")));
  EXPECT_THAT(SentenceForDlopen(said("libcublasLt.so.13"), "m.so"),
              HasSubstr("needs libcublasLt.so.13 of the CUDA toolkit"));
  EXPECT_THAT(SentenceForDlopen(said("libnvperf_host.so"), "m.so"), HasSubstr("(CUPTI)"));
  EXPECT_THAT(SentenceForDlopen(said("libfmt.so.9"), "m.so"),
              HasSubstr("needs libfmt.so.9 of this system"));
  EXPECT_THAT(SentenceForDlopen("/lib/libc.so.6: version `GLIBC_2.38' not found (required by m.so)",
                                "m.so"),
              testing::StartsWith("m.so was built on a newer system"));
  EXPECT_THAT(SentenceForDlopen("strange", "m.so"), HasSubstr("cannot be opened: strange"));
}

TEST(ParseDevice, KnowsAllFormsAndRefusesOthers) {
  EXPECT_TRUE(ParseDevice("auto", "--d").cpu && ParseDevice("auto", "--d").gpu);
  EXPECT_FALSE(ParseDevice("auto", "--d").gpu_asked);
  EXPECT_FALSE(ParseDevice("cpu", "--d").gpu);
  EXPECT_FALSE(ParseDevice("gpu", "--d").cpu);
  EXPECT_EQ(ParseDevice("gpu", "--d").number, 0);
  EXPECT_EQ(ParseDevice("gpu12", "--d").number, 12);
  for (const char* text : {"", "g", "gpux", "gpu-1", "gpu1x", "GPU", "cuda", "xpu0"})
    EXPECT_THROW(ParseDevice(text, "--d"), BadInput) << text;
}

TEST(AccessGpu, FindsTheDeviceThatWasAskedFor) {
  for (const char* device : {"auto", "gpu", "gpu0"}) {
    const auto access = Access("working", device);
    EXPECT_THAT(access.why_not, IsEmpty()) << device;
    EXPECT_EQ(access.device.name, "Fake GPU");
  }
  EXPECT_EQ(fakes::RefusalOf([] { Access("working", "gpu1"); }),
            "--d=gpu1: there is no such GPU; there are gpu0 (Fake GPU)");
}

TEST(AccessGpu, SaysWhyThereIsNone) {
  EXPECT_EQ(Access("no_device").why_not, "the fake driver sees no GPU");
  EXPECT_THAT(Access("throws").why_not, HasSubstr("the fake fell over"));
  EXPECT_THAT(Access("working", "cpu").why_not, HasSubstr("only the CPU was asked for"));
  EXPECT_THAT(Access("none").why_not, HasSubstr("this build has no CUDA module"));
}

TEST(AccessGpu, WithoutADriverTheModuleIsNotOpened) {
  const auto access =
      AccessGpu(ParseDevice("auto", "--d"), "--d", Fake("throws"), "libdlroof_no_such_driver.so.1");
  EXPECT_THAT(access.why_not, HasSubstr("no NVIDIA driver here"));
  EXPECT_EQ(access.module, nullptr);
}

TEST(RegisterGpu, AMissingGpuIsTheReasonOfItsBenchmarks) {
  RegisterGpu({nullptr, {}, "there is none today"});
  const auto workload = workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n1c1h1w1k1r1s1/cold");
  EXPECT_EQ(workload.cache, workload::CacheState::kCold);
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { workload.prepare({}); }), "there is none today");
}

TEST(RegisterGpu, TheModulesCellsAndLibrariesBecomeThePrograms) {
  RegisterGpu(Access("working"));
  EXPECT_EQ(workload::AllLibraries().back().description(), "cuDNN of the fake");
  EXPECT_EQ(workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n1c1h1w1k1r1s1").prepare({}).algorithm,
            "fake engine");
  EXPECT_THROW(workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n1"), BadInput)
      << "the program reads names";
  // An exception that crosses the module's border is still of its kind.
  EXPECT_THROW(workload::MakeWorkload("Conv2D/gpu/cudnn/fwd/f32/n2c1h1w1k1r1s1").prepare({}),
               Unsupported);
}

TEST(RegisterGpu, AGpuWithoutCudnnSaysSo) {
  RegisterGpu(Access("no_cells"));
  const auto workload = workload::MakeWorkload("LSTM/gpu/cudnn/bwd/f32/t1n1i1h1");
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { workload.prepare({}); }),
            "the fake was built without cuDNN");
}

}  // namespace
}  // namespace dlroof::gpu_loader
