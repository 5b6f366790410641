#include "reporters/record/gpu_sample.h"

#include <gtest/gtest.h>

#include "reporters/record/record_from_json.h"
#include "reporters/record/work_counters.h"
#include "reporters/roofline/placed_json.h"

namespace dlroof {
namespace {

TEST(IsThrottled, BelowThreeQuartersOfTheDefaultClock) {
  EXPECT_FALSE(IsThrottled({.clock_hz = 1.5e9, .default_clock_hz = 2e9}));  // just 75 %
  EXPECT_TRUE(IsThrottled({.clock_hz = 1.499e9, .default_clock_hz = 2e9}));
  EXPECT_FALSE(IsThrottled({.clock_hz = 1e6}));
  EXPECT_FALSE(IsThrottled({.default_clock_hz = 2e9}));
}

TEST(IsThrottled, NotByThePowerLimitAlone) {
  EXPECT_FALSE(IsThrottled({.clock_hz = 1e9, .default_clock_hz = 2e9, .throttle = 0x4}));
  EXPECT_TRUE(IsThrottled({.clock_hz = 1e9, .default_clock_hz = 2e9, .throttle = 0x24}));
  EXPECT_TRUE(IsThrottled({.clock_hz = 1e9, .default_clock_hz = 2e9, .throttle = 1e300}));
}

TEST(SummarizeSamples, IsEachQuantitysMedianAndEveryThrottleBit) {
  const auto summary =
      SummarizeSamples({{.throughput_seconds = 1, .power_watts = 100, .throttle = 4},
                        {.throughput_seconds = 3, .throttle = 1},
                        {.throughput_seconds = 2, .host_seconds = 9}});
  EXPECT_EQ(summary.throughput_seconds, 2);
  EXPECT_EQ(summary.power_watts, 100);
  EXPECT_EQ(summary.throttle, 5);
  EXPECT_FALSE(summary.graph_seconds);
  EXPECT_FALSE(summary.host_seconds);
}

TEST(SummarizeSamples, ForeignThrottleNumbersAreNotBits) {
  EXPECT_FALSE(SummarizeSamples({{.throttle = -1}, {.throttle = 1e300}}).throttle);
}

TEST(GpuCounters, CarryEveryQuantityThereAndBack) {
  GpuSample sample;
  double value = 1;
  for (const auto& [key, member] : GpuSampleFields()) sample.*member = ++value;
  const auto counters = ToCounters(sample);
  EXPECT_EQ(counters.size(), GpuSampleFields().size());
  EXPECT_EQ(counters.at("dlroof/gpu/throughput_seconds"), 2);
  EXPECT_EQ(GpuSampleFromCounters(counters), sample);
  EXPECT_FALSE(GpuSampleFromCounters({{"dlroof/threads", 1}}));
}

std::vector<Repetition> Repetitions(double clock_hz, double run_delay, double host_seconds) {
  Repetition repetition{.seconds = 1e-5, .iterations = 10};
  repetition.main_cpu_seconds = 1e-6;
  repetition.run_delay_seconds = run_delay;
  GpuSample sample{.host_seconds = host_seconds, .clock_hz = clock_hz, .default_clock_hz = 2e9};
  repetition.gpu = std::make_shared<GpuSample>(sample);
  Repetition calm = repetition;
  calm.main_cpu_seconds = 9e-6;
  calm.run_delay_seconds = 0;
  sample.clock_hz = 1.9e9;
  calm.gpu = std::make_shared<GpuSample>(sample);
  return {repetition, calm};
}

TEST(MarkDisturbedOnAGpu, AThrottledRepetitionIsDisturbed) {
  auto repetitions = Repetitions(1.4e9, 0, 5e-5);
  MarkDisturbed(repetitions);
  EXPECT_TRUE(repetitions[0].disturbed);
  EXPECT_FALSE(repetitions[1].disturbed);
}

TEST(MarkDisturbedOnAGpu, AHostThatWaitsForTheGpuIsNot) {
  auto repetitions = Repetitions(1.9e9, 0, 5e-5);  // off its CPU for 90 %, the other for 10 %
  MarkDisturbed(repetitions);
  EXPECT_FALSE(repetitions[0].disturbed);
}

TEST(MarkDisturbedOnAGpu, AHostKeptWaitingForItsCpuIsWhenThatIsOnePercentOfItsTime) {
  auto repetitions = Repetitions(1.9e9, 4e-7, 5e-5);  // 0.8 % of the host's time, 4 % of the call's
  MarkDisturbed(repetitions);
  EXPECT_FALSE(repetitions[0].disturbed);
  repetitions = Repetitions(1.9e9, 6e-7, 5e-5);
  MarkDisturbed(repetitions);
  EXPECT_TRUE(repetitions[0].disturbed);
}

TEST(GpuRecord, SaysItsOtherTimesApartFromItsSecondsAndNamesWhyItThrottled) {
  Record record{.name = "Conv2D/gpu/cudnn/fwd/f32/n1"};
  SplitName(record);
  for (int i = 0; i < 4; ++i) {
    Repetition repetition{.seconds = 2};
    repetition.disturbed = i == 3;
    repetition.gpu = std::make_shared<GpuSample>(
        GpuSample{.throughput_seconds = i < 3 ? 1 : 50, .graph_seconds = 0.5, .throttle = 0x24});
    record.repetitions.push_back(repetition);
  }
  const auto json = ToJson(record, nullptr);
  EXPECT_EQ(json["seconds"]["median"], 2);
  EXPECT_EQ(json["gpu"]["throughput_seconds"], 1);
  EXPECT_EQ(json["gpu"]["graph_seconds"], 0.5);
  EXPECT_EQ(json["gpu"]["throttle"],
            (std::vector<std::string>{"sw_power_cap", "sw_thermal_slowdown"}));
  EXPECT_FALSE(json["gpu"].contains("power_watts"));
  EXPECT_EQ(json["repetitions"][3]["gpu"]["throughput_seconds"], 50);
  EXPECT_EQ(ToJson(RecordFromJson(json.dump(), "x"), nullptr), json);
}

TEST(GpuRecord, ARecordOfACpuHasNoSuchKey) {
  Record record;
  record.name = "Conv2D/cpu/onednn/fwd/f32/n1";
  record.repetitions = {{.seconds = 1}, {.seconds = 1}, {.seconds = 1}};
  EXPECT_FALSE(ToJson(record, nullptr).contains("gpu"));
}

}  // namespace
}  // namespace dlroof
