#include <gtest/gtest.h>

#include <memory>

#include "baselines/cluster/versus.h"

namespace dlroof::cluster {
namespace {

record::Record Gpu(const char* timed, const record::GpuSample& sample) {
  record::Record record{.name = "LSTM/gpu/cudnn/fwd/f32/t1n1i1h1", .timed = timed};
  record::SplitName(record);
  for (int i = 0; i < 6; ++i)
    record.repetitions.push_back(
        {.seconds = 2e-6, .iterations = 1, .gpu = std::make_shared<record::GpuSample>(sample)});
  return record;
}

TEST(UseTimes, LatencyIsTheTimeOfACallWithItsLaunch) {
  record::RunFile run;
  run.records = {Gpu(record::timed::kDevice, {.call_seconds = 9e-6})};
  UseTimes(CallTime::kThroughput, run);
  EXPECT_EQ(record::TimeOf(run.records[0].repetitions)->median, 2e-6);
  UseTimes(CallTime::kLatency, run);
  EXPECT_EQ(record::TimeOf(run.records[0].repetitions)->median, 9e-6);
  EXPECT_EQ(run.records[0].timed, record::timed::kCall);
  EXPECT_TRUE(IsTimed(CallTime::kLatency, run.records[0]));
}

TEST(UseTimes, ThroughputOfARunOfSingleCallsIsThatOfCallsBackToBack) {
  record::RunFile run;
  run.records = {Gpu(record::timed::kCall, {.throughput_seconds = 1e-6}),
                 Gpu(record::timed::kCall, {})};
  UseTimes(CallTime::kThroughput, run);
  EXPECT_EQ(run.records[0].repetitions[0].seconds, 1e-6);
  EXPECT_EQ(TimedText(run.records[0]), "calls back to back");
  EXPECT_EQ(run.records[1].repetitions[0].seconds, 2e-6);  // it has no other time
  EXPECT_FALSE(IsTimed(CallTime::kThroughput, run.records[1]));
}

TEST(UseTimes, ACpusTimesAreBothKinds) {
  record::RunFile run;
  record::Record record{.name = "LSTM/cpu/onednn/fwd/f32/t1n1i1h1"};
  record::SplitName(record);
  record.repetitions = {{.seconds = 3}};
  run.records = {record};
  UseTimes(CallTime::kLatency, run);
  EXPECT_EQ(run.records[0].repetitions[0].seconds, 3);
  EXPECT_TRUE(IsTimed(CallTime::kLatency, run.records[0]));
}

}  // namespace
}  // namespace dlroof::cluster
