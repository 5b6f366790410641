#include "bench/run/counting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_gpu.h"

namespace dlroof {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// On a GPU whose counters nobody may read, beside some that break.
std::vector<std::string> Said(CounterChoice choice, const std::string& name) {
  static const bool registered = [] {
    for (const auto& source : FakeSources()) RegisterCounterSource(source);
    return true;
  }();
  EXPECT_TRUE(registered);
  const auto counting =
      CountPrepared(FakeWorkload(ParseBenchmarkName(name)), FakeCall(), {.counters = choice}, {});
  EXPECT_EQ(counting.work.at(Provenance::kModelled).flops.at("fp32.vector"), 1e6) << name;
  EXPECT_EQ(counting.work.count(Provenance::kMeasured), 0) << name;
  return counting.said;
}

constexpr const char* kOnGpu = "Fake/gpu/none/fwd/f32/n1";

TEST(CountPrepared, SaysOfAGpuWhyItsCountersAreSilent) {
  const std::string locked = "cupti: the fake driver keeps its counters to root";
  EXPECT_THAT(Said(CounterChoice::kAuto, kOnGpu), Contains(locked).Times(1));
  EXPECT_THAT(Said(CounterChoice::kAuto, kOnGpu),
              Contains("breaking failed: the fake counter broke"));
  EXPECT_THAT(Said(CounterChoice::kCupti, kOnGpu), Contains(locked).Times(1));
  EXPECT_THAT(Said(CounterChoice::kModel, kOnGpu), Not(Contains(HasSubstr("cupti"))));
  EXPECT_THAT(Said(CounterChoice::kOff, kOnGpu), testing::IsEmpty());
}

TEST(CountPrepared, SaysNothingOfThemOnACpu) {
  EXPECT_THAT(Said(CounterChoice::kAuto, "Fake/cpu/none/fwd/f32/n1"),
              Not(Contains(HasSubstr("fake"))));
}

TEST(CountersSentence, OfAGpusCountersIsTheRecordsAffair) {
  Said(CounterChoice::kOff, kOnGpu);
  EXPECT_EQ(CountersSentence(CounterChoice::kCupti), "");
}

}  // namespace
}  // namespace dlroof
