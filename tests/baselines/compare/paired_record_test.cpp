#include "baselines/compare/paired_record.h"

#include <gmock/gmock.h>

#include <functional>

#include "baselines/compare/compare.h"
#include "counters/base/error.h"
#include "tests/fakes/gpu_samples.h"

namespace dlroof::compare {
namespace {

using testing::ElementsAre, testing::HasSubstr;

// The record with a change of its GPU samples.
record::Record With(record::Record record, const std::function<void(record::GpuSample&)>& change) {
  fakes::ChangeSamples(record, change);
  return record;
}

// Repetitions of a GPU in the way of an older file: calls with their launch, times in a graph.
record::Record Called(double call, std::optional<double> graph, int repetitions = 3) {
  record::Record record{.name = "A/gpu/b/c/d/e", .device = "gpu", .timed = record::timed::kCall};
  for (int i = 0; i < repetitions; ++i) {
    auto sample = std::make_shared<record::GpuSample>();
    sample->graph_seconds = graph;
    sample->clock_hz = 1e9;
    record.repetitions.push_back({.seconds = call, .iterations = 10, .gpu = sample});
  }
  return record;
}

// Queued calls, with the launch-inclusive time beside them.
record::Record Queued(double device, double call, int repetitions = 3) {
  auto record = With(Called(device, std::nullopt, repetitions),
                     [&](record::GpuSample& sample) { sample.call_seconds = call; });
  record.timed = record::timed::kDevice;
  return record;
}

// Calls that follow each other, with the time of a queued call beside them.
record::Record Repeated(double seconds, double queued, const char* timed = record::timed::kGraph) {
  auto record =
      With(Queued(seconds, 20), [&](record::GpuSample& sample) { sample.queued_seconds = queued; });
  record.timed = timed;
  return record;
}

std::vector<double> CleanTimes(const record::Record& record) {
  std::vector<double> seconds;
  for (const auto& repetition : record.repetitions)
    if (!repetition.noisy) seconds.push_back(repetition.seconds);
  return seconds;
}

TEST(ChooseTimes, PrefersTheDevicesTimesOfQueuedCallsAndLeavesCallsOnCpusAlone) {
  EXPECT_FALSE(ChooseTimes(Queued(1, 2), Queued(1, 3)));
  EXPECT_FALSE(ChooseTimes(record::Record{.repetitions = {{.seconds = 1}}},
                           record::Record{.repetitions = {{.seconds = 2}}}));
}

// A stream's launches take 0.2 us less in the second process, in every call.
TEST(ChooseTimes, CorrectsQueuedTimesByTheEmptyKernel) {
  const auto queued = [](double device, double empty) {
    return With(Queued(device, 2e-5),
                [&](record::GpuSample& sample) { sample.empty_seconds = empty; });
  };
  const auto chosen = ChooseTimes(queued(1e-5, 3.5e-6), queued(0.98e-5, 3.3e-6));
  ASSERT_TRUE(chosen);
  EXPECT_NEAR(chosen->added_seconds.value(), 2e-7, 1e-12);
  EXPECT_NEAR(chosen->contender.repetitions[0].seconds, 1e-5, 1e-12);
  EXPECT_EQ(chosen->base.repetitions[0].seconds, 1e-5);
}

TEST(ChooseTimes, TakesGraphsWhereLaunchesAreInTheTimesAndNeverComparesTwoKinds) {
  auto base = Called(5, 2);
  base.repetitions[1].noisy = true;  // by the host, which is not in a graph's time
  const auto chosen = ChooseTimes(base, Called(7, 3));
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->timed, "graph");
  EXPECT_THAT(CleanTimes(chosen->base), ElementsAre(2, 2, 2));
  EXPECT_THAT(CleanTimes(chosen->contender), ElementsAre(3, 3, 3));
  EXPECT_EQ(base.repetitions[0].seconds, 5);
  EXPECT_FALSE(ChooseTimes(Called(5, 2), Called(6, std::nullopt)));  // both are calls
  const auto mixed = ChooseTimes(Called(5, 2), Queued(1, 6));
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->timed, "call");
  EXPECT_THAT(CleanTimes(mixed->base), ElementsAre(5, 5, 5));
  EXPECT_THAT(CleanTimes(mixed->contender), ElementsAre(6, 6, 6));
}

TEST(ChooseTimes, CallsInGraphsAreJudgedAsTheyAreOnlyBesideOthersInGraphs) {
  EXPECT_FALSE(ChooseTimes(Repeated(5, 8), Repeated(6, 9)));
  for (const auto& older : {Queued(7, 20), Repeated(7, 7, record::timed::kThroughput)}) {
    const auto chosen = ChooseTimes(older, Repeated(5, 8));
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->timed, "device");
    EXPECT_THAT(CleanTimes(chosen->base), ElementsAre(7, 7, 7));
    EXPECT_THAT(CleanTimes(chosen->contender), ElementsAre(8, 8, 8));
  }
  // The oldest have neither: calls with their launch are left.
  EXPECT_EQ(ChooseTimes(Called(25, 4), Repeated(5, 8))->timed, "call");
  for (const auto& others : {Queued(1, 6), Repeated(5, 8)}) {
    auto kernels = Called(5, std::nullopt);
    kernels.timed = record::timed::kKernels;
    EXPECT_THROW(ChooseTimes(kernels, others), Unsupported);
  }
}

TEST(CanTell, JudgesAGpuByTheTimesThatAreCompared) {
  auto calls = Called(5, 2, 9);
  for (auto& repetition : calls.repetitions) repetition.noisy = true;  // by the host
  EXPECT_TRUE(CanTell(calls));
  for (auto& repetition : calls.repetitions) repetition.gpu.reset();
  EXPECT_FALSE(CanTell(calls));
}

NamedRun RunOf(const std::string& where, std::vector<double> seconds, double clock_hz) {
  NamedRun run{where, {}};
  run.file.context = {{"dlroof", {{"schema", 2}}}};
  auto& machine = run.file.machines.emplace_back();
  machine.device = "gpu";
  machine.fingerprint = "same";
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    auto& record = run.file.records.emplace_back(
        With(Queued(seconds[i], 5, 9), [&](auto& sample) { sample.clock_hz = clock_hz; }));
    record.name += std::to_string(i);
    record.cache = "warm";
    for (std::size_t k = 0; k < record.repetitions.size(); ++k)
      record.repetitions[k].seconds *= 1 + 1e-3 * static_cast<double>(k % 3);
  }
  return run;
}

// 5 % more time at a clock that is 5 % lower: as many cycles as before.
TEST(Compare, AGpusVerdictHoldsInCyclesToo) {
  const std::vector<double> seconds(8, 1e-5);
  auto slowed = seconds;
  slowed[3] *= 1.05;
  const auto base = RunOf("base", seconds, 1.8e9);
  const auto slower = Compare(base, RunOf("new", slowed, 1.8e9), {.min_effect = 0.02});
  EXPECT_EQ(slower.rows[3].verdict, statistics::Verdict::kSlower);
  EXPECT_EQ(slower.exit_code, 1);
  auto throttled = RunOf("new", slowed, 1.8e9);
  throttled.file.records[3] =
      With(throttled.file.records[3], [](auto& sample) { sample.clock_hz = 1.8e9 / 1.05; });
  const auto clock = Compare(base, throttled, {.min_effect = 0.02});
  EXPECT_EQ(clock.rows[3].verdict, statistics::Verdict::kAmbiguous);
  EXPECT_THAT(clock.rows[3].reason, HasSubstr("+0.0 % in SM cycles"));
  EXPECT_EQ(clock.exit_code, 3);
}

TEST(IsSameMeasurement, NeedsARepetitionThatBothHave) {
  auto base = Called(1e-3, std::nullopt), other = Called(2e-3, std::nullopt);
  EXPECT_TRUE(IsSameMeasurement(base, base));
  EXPECT_FALSE(IsSameMeasurement(base, other));
  for (auto* record : {&base, &other})
    for (auto& repetition : record->repetitions) repetition.noisy = true;
  EXPECT_FALSE(IsSameMeasurement(base, other));
}

}  // namespace
}  // namespace dlroof::compare
