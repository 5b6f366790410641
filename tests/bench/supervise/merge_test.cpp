#include "bench/supervise/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/roofline/placed_json.h"
#include "tests/fakes/small_run.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Result of one process: repetitions of these seconds.
Outcome Result(const std::string& problem, const std::vector<double>& seconds) {
  record::Record record = fakes::Measured(problem, 1);
  record.repetitions.clear();
  json entries = json::array();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    record.repetitions.push_back({.seconds = seconds[i], .iterations = 1});
    entries.push_back(
        {{"name", fakes::Name(problem)}, {"run_type", "iteration"}, {"repetition_index", i}});
  }
  entries.push_back({{"name", fakes::Name(problem) + "_mean"}, {"run_type", "aggregate"}});
  record::RunFile run;
  run.context = {{"date", "today"}, {"dlroof", {{"schema", 1}, {"command", "its own"}}}};
  run.records = {record};
  json whole = roofline::ToJson(run);
  whole["benchmarks"] = entries;
  return {"", whole};
}

Part PartOf(const std::string& problem, const std::vector<double>& seconds,
            std::optional<int> block = std::nullopt) {
  return PartFrom(fakes::Name(problem) + "/real_time", Result(problem, seconds), block);
}

std::vector<double> SecondsOf(const record::Record& record) {
  std::vector<double> seconds;
  for (const auto& repetition : record.repetitions) seconds.push_back(repetition.seconds);
  return seconds;
}

TEST(Merge, KeepsTheGivenOrderAndSaysWhoRanIt) {
  const std::vector<Supervised> supervised = {
      {fakes::Name("n2") + "/real_time", {PartOf("n2", {2, 2, 2})}},
      {fakes::Name("n1") + "/real_time", {PartOf("n1", {1, 1, 1})}}};
  const auto merged = ToJson(
      MergedRun(supervised, json::array({machine::ToJson(fakes::SmallMachine())}), {{"command", "dlroof run"}}));
  EXPECT_EQ(merged["context"]["date"], "today");
  EXPECT_EQ(merged["context"]["dlroof"]["command"], "dlroof run");
  EXPECT_EQ(merged["machines"].size(), 1);
  ASSERT_EQ(merged["records"].size(), 2);
  EXPECT_EQ(merged["records"][0]["name"], fakes::Name("n2"));
  EXPECT_EQ(merged["records"][0]["seconds"]["median"], 2);
  EXPECT_TRUE(merged["records"][0].contains("classic"));  // placed on the machine
  ASSERT_EQ(merged["benchmarks"].size(), 8);              // aggregates too: one process made all
  EXPECT_EQ(merged["benchmarks"][0]["family_index"], 0);
  EXPECT_EQ(merged["benchmarks"][7]["family_index"], 1);
}

TEST(Merge, WhatHasNoResultIsAFailedRecordAndAFailedEntry) {
  const auto listed = fakes::Name("n1") + "/real_time";
  const auto merged =
      ToJson(MergedRun({{listed, {PartFrom(listed, {"ended by signal 11", {}}, std::nullopt)}}}, {},
                       json::object()));
  EXPECT_EQ(merged["records"][0]["status"], "failed");
  EXPECT_EQ(merged["records"][0]["name"], fakes::Name("n1"));
  EXPECT_EQ(merged["records"][0]["problem"], "n1");
  EXPECT_EQ(merged["records"][0]["reason"], "ended by signal 11");
  EXPECT_EQ(merged["benchmarks"][0]["error_occurred"], true);
  EXPECT_EQ(merged["benchmarks"][0]["error_message"], "ended by signal 11");
}

TEST(Merge, AnothersResultIsNone) {
  EXPECT_THAT(PartFrom(fakes::Name("n1"), Result("n2", {1}), std::nullopt).failed,
              HasSubstr("left no result"));
  EXPECT_THAT(PartFrom(fakes::Name("n1"), {"", {{"records", 5}}}, std::nullopt).failed,
              HasSubstr("records"));
}

TEST(Merge, BlocksFollowEachOtherWithoutWhatTheyMadeAlone) {
  const std::vector<Part> parts = {PartOf("n1", {9, 9, 1, 2, 1}, 0), PartOf("n1", {8, 8, 1, 1}, 4)};
  const record::Record record = RecordOf(fakes::Name("n1"), parts);
  EXPECT_THAT(SecondsOf(record), testing::ElementsAre(1, 2, 1, 1, 1));
  EXPECT_EQ(record.repetitions[2].block, 0);
  EXPECT_EQ(record.repetitions[3].block, 4);
  const auto merged = ToJson(MergedRun({{fakes::Name("n1"), parts}}, {}, json::object()));
  ASSERT_EQ(merged["benchmarks"].size(), 5);
  EXPECT_EQ(merged["benchmarks"][4]["repetition_index"], 4);
  EXPECT_EQ(merged["benchmarks"][4]["repetitions"], 5);
  EXPECT_EQ(merged["records"][0]["repetitions"][3]["block"], 4);
}

TEST(Merge, ABlockThatFailedFailsTheBenchmark) {
  const auto failed = PartFrom(fakes::Name("n1"), {"hangs", {}}, 1);
  const record::Record record = RecordOf(fakes::Name("n1"), {PartOf("n1", {9, 9, 1}, 0), failed});
  EXPECT_EQ(record.status, record::Status::kFailed);
  EXPECT_EQ(record.reason, "hangs");
}

}  // namespace
}  // namespace dlroof::supervise
