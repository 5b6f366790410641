#include "reporters/roofline/sweep_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "reporters/record/record.h"

namespace dlroof {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

json RunOf(const std::vector<std::string>& names) {
  json run = {{"records", json::array()}};
  for (const auto& name : names) {
    Record record;
    record.name = name;
    SplitName(record);
    json object = {{"name", name},
                   {"op", record.op},
                   {"device", record.device},
                   {"library", record.library},
                   {"direction", record.direction},
                   {"type", record.type},
                   {"problem", record.problem},
                   {"classic", json::array()}};
    if (!record.options.empty()) object["options"] = record.options;
    run["records"].push_back(object);
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

TEST(SweepLines, RefusesAnUnknownParameterAndTakesAnyFile) {
  try {
    SweepLines(RunOf({}), "colour");
    FAIL() << "accepted";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("--sweep colour: no such parameter; there are batch, "));
  }
  EXPECT_THAT(
      SweepLines(json::parse(R"({"records": [1, null, {"problem": "___x:9", "classic": []}]})"),
                 "batch"),
      IsEmpty());
  EXPECT_THAT(SweepLines(json::object(), "batch"), IsEmpty());
}

}  // namespace
}  // namespace dlroof
