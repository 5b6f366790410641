#include "reporters/roofline/sweep_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::roofline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

PlacedRun RunOf(const std::vector<std::string>& names) {
  PlacedRun run;
  for (const auto& name : names) {
    record::Record record{.name = name};
    record::SplitName(record);
    run.file.records.push_back(record);
    run.places.emplace_back().placement.time = TimePoint();
  }
  return run;
}

TEST(SweepLines, JoinWhatDiffersInOneParameterAloneInItsOrder) {
  const auto run = RunOf({"Conv2D/cpu/onednn/fwd/f32/n64c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/f32/n16c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/f32/n32c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/bf16/n32c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/f32/n128c8h9w9k16r3s3_s2p1/cold",
                          "Conv2D/cpu/onednn/fwd/f32/n32c8h9w9k32r3s3_s2p1"});
  const auto batch = SweepLines(run, "batch");
  ASSERT_THAT(batch, SizeIs(1));
  EXPECT_THAT(batch[0].records, ElementsAre(1, 2, 0));
  EXPECT_THAT(batch[0].values, ElementsAre(16, 32, 64));
  EXPECT_EQ(batch[0].series, "onednn fwd f32");
  const auto filters = SweepLines(run, "filters");
  ASSERT_THAT(filters, SizeIs(1));
  EXPECT_THAT(filters[0].records, ElementsAre(2, 5));
  EXPECT_THAT(SweepLines(run, "stride"), IsEmpty());
}

TEST(SweepLines, WhatMustFollowTheParameterMayChangeWithIt) {
  const auto run = RunOf({"Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r3s3_s2p0:1x0:1",
                          "Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r7s7_s2p2:3x2:3",
                          "Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r3s3_p1"});
  EXPECT_THAT(SweepLines(run, "kernel").at(0).values, ElementsAre(3, 7));
  const auto stride = SweepLines(run, "stride");
  ASSERT_THAT(stride, SizeIs(1));
  EXPECT_THAT(stride[0].values, ElementsAre(1, 2)) << "a stride of 1 is not written";
  EXPECT_THAT(stride[0].records, ElementsAre(2, 0));
}

TEST(SweepLines, TwoOfOneValueAreOnTwoLines) {
  const auto run = RunOf(
      {"Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r3s3", "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r3s3_p1",
       "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r5s5", "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r5s5_p1"});
  const auto lines = SweepLines(run, "kernel");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0].records, ElementsAre(0, 2));
  EXPECT_THAT(lines[1].records, ElementsAre(1, 3));
}

TEST(SweepLines, ParametersAreOfTheirOperation) {
  const auto run = RunOf({"LSTM/cpu/a/fwd/f32/t16n1i8h8", "LSTM/cpu/a/fwd/f32/t16n1i8h16",
                          "LSTM/cpu/a/fwd/f32/t32n1i8h8", "LSTM/cpu/a/fwd/f32/t16n1i8h8bi"});
  EXPECT_THAT(SweepLines(run, "hidden"), SizeIs(1));
  EXPECT_THAT(SweepLines(run, "steps").at(0).values, ElementsAre(16, 32));
  EXPECT_THAT(SweepLines(run, "image"), IsEmpty()) << "h of an LSTM is no image";
}

TEST(SweepLines, RefusesAnUnknownParameterAndTakesAnyName) {
  EXPECT_THAT(fakes::RefusalOf([] { SweepLines(RunOf({}), "colour"); }),
              testing::HasSubstr("--sweep colour: no such parameter; there are batch, "));
  EXPECT_THAT(SweepLines(RunOf({"a/b/c/d/e/___x:9"}), "batch"), IsEmpty());
  auto unplaced = RunOf({"LSTM/cpu/a/fwd/f32/t1n1i8h8", "LSTM/cpu/a/fwd/f32/t1n2i8h8"});
  EXPECT_THAT(SweepLines(unplaced, "batch"), SizeIs(1));
  unplaced.places[0].placement.time.reset();
  EXPECT_THAT(SweepLines(unplaced, "batch"), IsEmpty()) << "one point is no line";
}

TEST(ThreadLines, JoinWhatDiffersInTheNumberOfThreadsAlonePlacedOrNot) {
  auto run = RunOf({"LSTM/cpu/a/fwd/f32/t1n1i8h8/threads2", "LSTM/cpu/a/fwd/f32/t1n1i8h8",
                    "LSTM/cpu/a/fwd/f32/t1n1i8h8/threads1", "LSTM/cpu/a/fwd/f32/t1n2i8h8/threads1",
                    "LSTM/cpu/a/fwd/f32/t1n1i8h8/peephole/threads1"});
  const std::vector<int> threads = {2, 4, 1, 1, 1};
  for (std::size_t i = 0; i < threads.size(); ++i) {
    run.file.records[i].threads = threads[i];
    run.places[i].timing = record::Timing{.median = 1};
    run.places[i].placement.time.reset();
  }
  const auto lines = ThreadLines(run);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0].records, ElementsAre(2, 0, 1));
  EXPECT_THAT(lines[0].values, ElementsAre(1, 2, 4));
  EXPECT_THAT(ThreadLines(run, 1), SizeIs(3));
  run.places[0].timing.reset();
  EXPECT_THAT(ThreadLines(run)[0].values, ElementsAre(1, 4)) << "a record without a time";
}

}  // namespace
}  // namespace dlroof::roofline
