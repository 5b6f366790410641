#include "bench/workload/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::workload {
namespace {

using testing::HasSubstr;

constexpr const char* kName = "Conv2D/cpu/reference/fwd/f64/n1c1h8w8k1r3s3";  // 43 characters

std::string Refusal(const std::string& name) {
  return fakes::RefusalOf([&] { MakeWorkload(name); });
}

TEST(MakeWorkload, ReadsTheOptionsThatEveryBackendHas) {
  const auto plain = MakeWorkload(kName);
  EXPECT_FALSE(plain.threads);
  EXPECT_EQ(plain.cache, CacheState::kWarm);
  const auto both = MakeWorkload(std::string(kName) + "/bias/threads2/cold");
  EXPECT_EQ(both.threads, 2);
  EXPECT_EQ(both.cache, CacheState::kCold);
  EXPECT_EQ(ToText(both.name), std::string(kName) + "/bias/threads2/cold");
  EXPECT_EQ(MakeWorkload(std::string(kName) + "/cold-weights").cache, CacheState::kColdWeights);
}

TEST(MakeWorkload, OneBenchmarkHasOneName) {
  const std::string name = kName;
  EXPECT_THAT(Refusal(name + "/cold/threads2"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/threads2/threads2"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/cold/cold"), HasSubstr("column 45: "));
  EXPECT_THAT(Refusal(name + "/relu/bias"),
              HasSubstr("column 50: 'bias' cannot come after 'relu'"));
  EXPECT_THAT(Refusal(name + "/nhwc"), HasSubstr("has no option 'nhwc' (bias relu)"));
  for (const std::string bad :
       {"/threads0", "/threads02", "/threads5000", "/threads", "/threads2x"})
    EXPECT_THAT(Refusal(name + bad), HasSubstr("column ")) << bad;
}

TEST(BackendName, LacksTheOptionsThatEveryBackendHas) {
  const std::string name = "Conv2D/gpu/cudnn/fwd/f16/n1c8h9w9k8r3s3/nchw";
  for (const auto* common : {"", "/threads2", "/cold", "/threads2/cold-weights"})
    EXPECT_EQ(ToText(BackendName(ParseBenchmarkName(name + common))), name) << common;
  EXPECT_THROW(BackendName(ParseBenchmarkName(name + "/threads0")), BadInput);
}

TEST(RegisterBackend, ALibraryCompletesTheBackendThatItsOpRegistered) {
  constexpr const char* kBenchmark = "Made/cpu/up/fwd/f32/n1/threads2";
  const auto read = [](const BenchmarkName& name) {
    if (name.problem != "n1") throw BadInput("column 21: no such problem");
    return Workload{.repro = "made up"};
  };
  RegisterBackend({"Made", "cpu", "up", read, "a future library"});
  EXPECT_EQ(fakes::RefusalOf<Unsupported>([&] { MakeWorkload(kBenchmark).prepare({}); }),
            "this build of dlroof was made without a future library");
  EXPECT_THAT(Refusal("Made/cpu/up/fwd/f32/n2"), HasSubstr("no such problem"));

  const auto prepare = [](const BenchmarkName& name, const RunSettings&) {
    return PreparedCall{.algorithm = ToText(name)};
  };
  RegisterBackend({.op = "Made", .device = "cpu", .library = "up", .prepare = prepare});
  const auto workload = MakeWorkload(kBenchmark);
  EXPECT_EQ(workload.prepare({}).algorithm, "Made/cpu/up/fwd/f32/n1");
  EXPECT_EQ(workload.repro, "made up");
  EXPECT_EQ(workload.threads, 2);
  EXPECT_THAT(Refusal("Made/cpu/up/fwd/f32/n2"), HasSubstr("no such problem"));
}

}  // namespace
}  // namespace dlroof::workload
