#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/run/energy_pass.h"
#include "counters/cpu/clocks.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/runner_records.h"

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A machine that takes 50 W, whatever it does.
EnergyMeter FiftyWatts() {
  return {"made-up", {{"package-0", true, [] { return 50 * WallSeconds(); }, {}}}, "packages", {}};
}

TEST(RunnerEnergy, IsMeasuredAfterAllWereTimed) {
  RunLog log;
  const auto records =
      Records({Fake("Fake/cpu/none/fwd/f32/n1", log), Fake("Fake/cpu/none/fwd/f32/n2", log)}, {},
              "all", {.energy = FiftyWatts()});
  ASSERT_EQ(records.size(), 2u);
  // Each is made once to be timed, and once more when both were.
  EXPECT_THAT(log.prepared, ElementsAre("Fake/cpu/none/fwd/f32/n1", "Fake/cpu/none/fwd/f32/n2",
                                        "Fake/cpu/none/fwd/f32/n1", "Fake/cpu/none/fwd/f32/n2"));
  EXPECT_EQ(log.most_alive, 1);
  for (const auto& record : records) {
    ASSERT_TRUE(record.energy) << record.name;
    EXPECT_NEAR(record.energy->joules / record.energy->seconds, 50, 5);
    EXPECT_GE(record.energy->window_seconds, 0.5);
    EXPECT_EQ(record.energy->from, "made-up");
  }
}

TEST(RunnerEnergy, AColdCallHasNoneWithItsReason) {
  RunLog log;
  auto cold = Fake("Fake/cpu/none/fwd/f32/n1/cold", log);
  cold.cache = CacheState::kCold;
  const auto records = Records({cold}, {}, "all", {.energy = FiftyWatts()});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_FALSE(records[0].energy);
  ASSERT_FALSE(records[0].counting.empty());
  EXPECT_EQ(records[0].counting.back().source, "energy");
  EXPECT_THAT(records[0].counting.back().text, HasSubstr("empties caches"));
}

TEST(RunnerEnergy, AMachineWithoutCountersHasNoneAndPreparesNothingAgain) {
  RunLog log;
  const auto records =
      Records({Fake("Fake/cpu/none/fwd/f32/n1", log)}, {}, "all", {.energy = EnergyMeter{}});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_FALSE(records[0].energy);
  EXPECT_EQ(log.prepared.size(), 1u);
  for (const auto& note : records[0].counting) EXPECT_NE(note.source, "energy");
}

TEST(RunnerEnergy, AGpuHasItsOwnWhereTheCpuHasNone) {
  const auto open = [] {
    auto clock = FakeClock();
    clock.energy_joules = [] { return std::optional<double>(500 * WallSeconds()); };
    return clock;
  };
  const auto records = Records({FakeWorkload(ParseBenchmarkName("Fake/gpu/none/fwd/f32/n1"))}, {},
                               "all", {.open_gpu = open, .energy = EnergyMeter{}});
  ASSERT_EQ(records.size(), 1u);
  ASSERT_TRUE(records[0].energy);
  EXPECT_NEAR(records[0].energy->joules / records[0].energy->seconds, 500, 50);
  EXPECT_GE(records[0].energy->window_seconds, 2);
  EXPECT_EQ(records[0].energy->from, "nvml");
}

TEST(GpuEnergy, IsTheBoardsOwnCounter) {
  const auto meter = GpuEnergy([] { return std::optional<double>(12.5); });
  EXPECT_EQ(meter.from, "nvml");
  ASSERT_EQ(meter.domains.size(), 1u);
  EXPECT_EQ(meter.domains[0].joules(), 12.5);
  EXPECT_THAT(meter.covers, HasSubstr("no CPU"));
}

TEST(GpuEnergy, AGpuThatDoesNotTellHasAReason) {
  const auto meter = GpuEnergy([] { return std::optional<double>(); });
  EXPECT_THAT(meter.domains, IsEmpty());
  EXPECT_THAT(WhyNoEnergy(meter), HasSubstr("nvml: the driver does not tell"));
  EXPECT_THAT(WhyNoEnergy(GpuEnergy({})), HasSubstr("nvml"));
}

}  // namespace
}  // namespace dlroof
