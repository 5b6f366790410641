#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/test_data.h"

namespace dlroof::record {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

RunFile Stored(const std::string& name, std::string* warnings = nullptr) {
  std::ostringstream out;
  auto run = ReadRunFile(fakes::TestData(name), out);
  if (warnings != nullptr) *warnings = out.str();
  return run;
}

// The profile of a ResNet-50 on an H200: 240 launches took 503 us, and a launch costs 3.66 us.
TEST(CompleteOldKernels, AnOldProfileHasNoLaunchCost) {
  const auto run = roofline::PlaceRun(Stored("h200_profile_resnet50.json"));
  ASSERT_EQ(run.places.size(), 1U);
  EXPECT_EQ(run.file.records[0].timed, "kernels");
  const auto& placement = run.places[0].placement;
  ASSERT_TRUE(placement.time);
  EXPECT_FALSE(placement.time->overhead_seconds);
  EXPECT_EQ(placement.time->bound, roofline::Bound::kMemory);
  EXPECT_NEAR(run.places[0].timing->median, 503e-6, 0.5e-6);
  for (const auto& point : placement.classic) EXPECT_LT(*point.fraction, 1);
}

TEST(CompleteOldKernels, OtherRunsStayAsTheyAre) {
  auto run = Stored("h200_profile_resnet50.json");
  run.records[0].timed.reset();
  run.context["dlroof"]["command"] = "dlroof_bench --benchmark_out=x.json";
  EXPECT_FALSE(CompleteOldKernels(run));
  EXPECT_FALSE(run.records[0].timed);
  run.context["dlroof"]["imported"] = {{"file", "x.csv"}, {"format", "ncu"}};
  CompleteOldKernels(run);
  EXPECT_EQ(run.records[0].timed, "kernels");
}

// A new file says what its times are, so nothing is removed from it.
TEST(CompleteOldKernels, ANewFileIsWrittenAndReadWithItsMark) {
  const auto run = Stored("h200_profile_resnet50.json");
  const auto json = roofline::ToJson(run);
  EXPECT_EQ(json["records"][0]["timed"], "kernels");
  std::ostringstream none;
  const auto again = ParseRunFile(json.dump(), "x.json", none);
  EXPECT_EQ(again.records[0].timed, "kernels");
  EXPECT_EQ(none.str(), "");
}

// The file is compressed. 3 launches of Hold and 2 of WriteStamps, together 30.014464 ms.
TEST(LeaveOutClockKernels, RemovesThemWithASentence) {
  std::string warnings;
  const auto run = Stored("h200_profile_conv.json.gz", &warnings);
  EXPECT_THAT(run.records, ElementsAre(Field(&Record::name, HasSubstr("fprop_implicit_gemm"))));
  EXPECT_THAT(warnings,
              HasSubstr("left out: dlroof's own kernels, with which it times calls (Hold, "
                        "WriteStamps): 5 launches, 30.0 ms\n"));
}

TEST(IsClockKernel, IsOnlyAKernelOfDlroofsClock) {
  for (const char* own :
       {"dlroof::<unnamed>::Hold(const volatile int *, int *, unsigned long long)",
        "dlroof::cuda::(anonymous namespace)::ReadAll(uint4 const*, unsigned*)"})
    EXPECT_TRUE(IsClockKernel(own)) << own;
  for (const char* other : {"Hold(int)", "app::Hold(int)", "dlroof::cuda::<unnamed>::Copy(int)",
                            "void app::run<dlroof::Hold>(int)"})
    EXPECT_FALSE(IsClockKernel(other)) << other;
}

// A kernel that is added to the clock must be left out too.
TEST(IsClockKernel, KnowsEveryKernelOfTheClock) {
  std::ifstream file(fakes::TestData("../../counters/cuda/clock_kernels.cu"));
  const std::string source((std::istreambuf_iterator<char>(file)), {});
  const std::regex kernel(R"(__global__ void (\w+)\()");
  int found = 0;
  for (auto at = std::sregex_iterator(source.begin(), source.end(), kernel);
       at != std::sregex_iterator(); ++at, ++found)
    EXPECT_TRUE(IsClockKernel("dlroof::cuda::<unnamed>::" + (*at)[1].str() + "()")) << (*at)[1];
  EXPECT_GE(found, 3);
}

TEST(KernelNameOf, SplitsAtTheSlashBehindTheSet) {
  const auto parts = [](const std::string& name) {
    Record record{.name = name};
    const auto [set, kernel] = KernelNameOf(record);
    return std::string(set) + " | " + std::string(kernel);
  };
  EXPECT_EQ(parts("python3/void f<a/b>(int)"), "python3 | void f<a/b>(int)");
  EXPECT_EQ(parts("f<a/b>(int)"), " | f<a/b>(int)");
  EXPECT_EQ(parts("gemm"), " | gemm");
}

}  // namespace
}  // namespace dlroof::record
