#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/runner/prepared_calls.h"
#include "bench/runner/timer.h"
#include "counters/cpu/clocks.h"
#include "counters/energy/energy_meter.h"
#include "tests/fakes/fake_gpu.h"
#include "tests/fakes/runner_records.h"

namespace dlroof::runner {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A machine that takes 50 W, whatever it does.
energy::EnergyMeter FiftyWatts() {
  return {
      "made-up", {{"package-0", true, [] { return 50 * cpu::WallSeconds(); }, {}}}, "packages", {}};
}

// Lets a GPU take so many watts.
template <int kWatts>
void TakesWatts(fakes::FakeClock& clock) {
  clock.energy_joules = [] { return std::optional<double>(kWatts * cpu::WallSeconds()); };
}

TEST(RunnerEnergy, IsMeasuredAfterAllWereTimed) {
  fakes::RunLog log;
  const auto records = fakes::Records(
      {fakes::Fake("Fake/cpu/none/fwd/f32/n1", log), fakes::Fake("Fake/cpu/none/fwd/f32/n2", log)},
      {}, {.energy = {.cpu = FiftyWatts()}});
  ASSERT_EQ(records.size(), 2u);
  // Each is made once to be timed, and once more when both were.
  EXPECT_THAT(log.prepared, ElementsAre("Fake/cpu/none/fwd/f32/n1", "Fake/cpu/none/fwd/f32/n2",
                                        "Fake/cpu/none/fwd/f32/n1", "Fake/cpu/none/fwd/f32/n2"));
  EXPECT_EQ(log.most_alive, 1);
  for (const auto& record : records) {
    ASSERT_TRUE(record.energy) << record.name;
    // A busy machine stops this process between two readings of a clock: joules of such a pause are
    // the window's, its seconds are not.
    EXPECT_GT(record.energy->joules / record.energy->seconds, 50 / 2);
    EXPECT_LT(record.energy->joules / record.energy->seconds, 50 * 10);
    EXPECT_GE(record.energy->window_seconds, 0.5);
    EXPECT_EQ(record.energy->from, "made-up");
  }
}

TEST(RunnerEnergy, AColdCallHasNoneWithItsReason) {
  fakes::RunLog log;
  const auto record = fakes::RecordOf(fakes::FakeIn(workload::CacheState::kCold, log), {},
                                      {.energy = {.cpu = FiftyWatts()}});
  EXPECT_FALSE(record.energy);
  ASSERT_FALSE(record.counting.empty());
  EXPECT_EQ(record.counting.back().source, "energy");
  EXPECT_THAT(record.counting.back().text, HasSubstr("flushing of caches"));
}

TEST(RunnerEnergy, AMachineWithoutCountersHasNoneAndPreparesNothingAgain) {
  fakes::RunLog log;
  const auto record = fakes::RecordOf(fakes::Fake("Fake/cpu/none/fwd/f32/n1", log), {},
                                      {.energy = {.cpu = energy::EnergyMeter{}}});
  EXPECT_FALSE(record.energy);
  EXPECT_EQ(log.prepared.size(), 1u);
  for (const auto& note : record.counting) EXPECT_NE(note.source, "energy");
}

TEST(RunnerEnergy, AGpuHasItsOwnWhereTheCpuHasNone) {
  const auto record = fakes::RecordOf(
      fakes::FakeWorkload(workload::ParseBenchmarkName("Fake/gpu/none/fwd/f32/n1")), {},
      {.open_gpu = fakes::OpenWith(TakesWatts<500>), .energy = {.cpu = energy::EnergyMeter{}}});
  ASSERT_TRUE(record.energy);
  EXPECT_GT(record.energy->joules / record.energy->seconds, 500 / 2);
  EXPECT_LT(record.energy->joules / record.energy->seconds, 500 * 10);
  EXPECT_GE(record.energy->window_seconds, 2);
  EXPECT_EQ(record.energy->from, "nvml");
}

TEST(IdlePowersOf, AGpuThatTellsItsEnergyHasItsOwn) {
  runner::GpuTimer gpu(fakes::OpenWith(TakesWatts<70>), {});
  const auto idle = IdlePowersOf({.cpu = energy::EnergyMeter{}, .gpu_runs = true}, gpu);
  EXPECT_FALSE(idle.cpu);
  ASSERT_TRUE(idle.gpu);
  // A pause between a reading of the counter and one of the clock is in the seconds alone.
  EXPECT_GT(idle.gpu->watts, 70 / 2);
  EXPECT_LT(idle.gpu->watts, 70 * 1.001);
  EXPECT_EQ(idle.gpu->from, "nvml");
  EXPECT_GE(idle.gpu->seconds, 2);
}

TEST(IdlePowersOf, AGpuThatCannotBeOpenedOrDoesNotTellHasNone) {
  runner::GpuTimer lost(
      []() -> std::shared_ptr<gpu::GpuClock> { throw std::runtime_error("no GPU"); }, {});
  EXPECT_FALSE(IdlePowersOf({.cpu = energy::EnergyMeter{}, .gpu_runs = true}, lost).gpu);
  runner::GpuTimer silent(fakes::OpenFake, {});
  EXPECT_FALSE(IdlePowersOf({.cpu = energy::EnergyMeter{}, .gpu_runs = true}, silent).gpu);
  bool opened = false;
  runner::GpuTimer unused(fakes::OpenWith([&](fakes::FakeClock&) { opened = true; }), {});
  IdlePowersOf({.cpu = energy::EnergyMeter{}}, unused);
  IdlePowersOf({.gpu_runs = true}, unused);
  EXPECT_FALSE(opened);
}

TEST(GpuEnergy, IsTheBoardsOwnCounter) {
  const auto meter = GpuEnergy([] { return std::optional<double>(12.5); });
  EXPECT_EQ(meter.from, "nvml");
  ASSERT_EQ(meter.domains.size(), 1u);
  EXPECT_EQ(meter.domains[0].joules(), 12.5);
  EXPECT_THAT(meter.covers, HasSubstr("without CPU"));
}

TEST(GpuEnergy, AGpuThatDoesNotTellHasAReason) {
  const auto meter = GpuEnergy([] { return std::optional<double>(); });
  EXPECT_THAT(meter.domains, IsEmpty());
  EXPECT_THAT(meter.unavailable.value().text, HasSubstr("nvml: the driver does not report"));
  EXPECT_TRUE(GpuEnergy({}).unavailable);
}

}  // namespace
}  // namespace dlroof::runner
