#include "bench/runner/prepared_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/fake_gpu.h"

namespace dlroof::runner {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

// Counts with fake sources: a GPU's whose counters are locked, and one that throws.
std::vector<CountingNote> Notes(const std::string& choice, const std::string& name) {
  static const bool registered = [] {
    for (const auto& source : fakes::FakeSources()) RegisterCounterSource(source);
    return true;
  }();
  EXPECT_TRUE(registered);
  const auto counting = CountPrepared(fakes::FakeWorkload(workload::ParseBenchmarkName(name)),
                                      fakes::FakeCall(), {.counters = choice}, {});
  EXPECT_EQ(counting.work.at(Provenance::kModelled).flops.at("fp32.vector"), 1e6) << name;
  EXPECT_EQ(counting.work.count(Provenance::kMeasured), 0) << name;
  return counting.notes;
}

constexpr const char* kOnGpu = "Fake/gpu/none/fwd/f32/n1";

TEST(CountPrepared, SaysOfAGpuWhyItsCountersAreSilent) {
  const CountingNote locked{"cupti", {}, "the fake driver keeps its counters to root"};
  EXPECT_THAT(Notes("auto", kOnGpu), Contains(locked).Times(1));
  EXPECT_THAT(Notes("auto", kOnGpu),
              Contains(CountingNote{"breaking", {}, "failed: the fake counter broke"}));
  EXPECT_THAT(Notes("cupti", kOnGpu), Contains(locked).Times(1));
  EXPECT_THAT(Notes("model", kOnGpu), Not(Contains(Field(&CountingNote::source, "cupti"))));
  EXPECT_THAT(Notes("off", kOnGpu), testing::IsEmpty());
}

TEST(CountPrepared, SaysNothingOfThemOnACpu) {
  EXPECT_THAT(Notes("auto", "Fake/cpu/none/fwd/f32/n1"),
              Not(Contains(Field(&CountingNote::text, HasSubstr("fake")))));
}

TEST(CountersWarning, IsAbsentForAGpusSourceWhichTheRecordReports) {
  Notes("off", kOnGpu);
  EXPECT_EQ(CountersWarning("cupti"), std::nullopt);
}

}  // namespace
}  // namespace dlroof::runner
