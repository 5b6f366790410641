#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "bench/supervise/supervised_program.h"
#include "counters/base/files.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::supervise {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

JournalHeader Header() {
  JournalHeader header{.programs = {"old", "new"},
                       .builds = {"1", "2"},
                       .arguments = {"--benchmark_filter=\"x\n"},
                       .settings = {"random order"}};
  header.benchmarks = {{"a/n20", "a/n21"}};
  header.seed = 0xfedcba9876543210U;
  header.id = "0a";
  return header;
}

JournalEntry JournalEntryOfTwo() {
  JournalEntry entry{{"a/n20", "a/n21"}, 3, 1.5, {}};
  entry.outcomes.push_back({Reason{"signal 11"}, {}});
  entry.outcomes.push_back({std::nullopt, {{"records", nlohmann::json::array()}}});
  return entry;
}

std::string Refusal(const std::string& text) {
  return fakes::RefusalOf([&] { ParseJournal(text, "j"); });
}

TEST(Journal, IsReadAsItWasWritten) {
  const auto text = JournalLine(Header()) +
                    JournalLine(nlohmann::json::array({{{"device", "cpu"}}})) +
                    JournalLine(JournalEntryOfTwo());
  const auto journal = ParseJournal(text, "j");
  EXPECT_EQ(journal.header, Header());
  EXPECT_EQ(journal.machines.at(0).at("device"), "cpu");
  EXPECT_THAT(journal.entries, ElementsAre(JournalEntryOfTwo()));
  EXPECT_EQ(journal.complete_bytes, text.size());
}

TEST(Journal, CutAnywhereHasItsCompleteLines) {
  const auto header = JournalLine(Header()), entry = JournalLine(JournalEntryOfTwo());
  const auto text = header + entry + entry;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto journal = ParseJournal(text.substr(0, cut), "j");
    const bool has_header = cut >= header.size();
    const std::size_t entries = has_header ? (cut - header.size()) / entry.size() : 0;
    EXPECT_EQ(journal.header.has_value(), has_header) << cut;
    EXPECT_EQ(journal.entries.size(), entries) << cut;
    EXPECT_EQ(journal.complete_bytes, has_header ? header.size() + entries * entry.size() : 0)
        << cut;
  }
}

TEST(Journal, OtherFilesAreRefusedWithTheirLine) {
  EXPECT_THAT(Refusal("hello\n"), HasSubstr("j:1: not a line"));
  EXPECT_THAT(Refusal("{}\n"), HasSubstr("j:1: not the journal"));
  EXPECT_THAT(Refusal(JournalLine(Header()) + "{\n" + JournalLine(JournalEntryOfTwo())),
              HasSubstr("j:2: "));
  EXPECT_THAT(Refusal(R"({"dlroof_journal": 2, "seed": 1})"
                      "\n"),
              HasSubstr("newer dlroof (schema 2"));
  auto entry = JournalEntryOfTwo();
  entry.outcomes.pop_back();
  EXPECT_THAT(Refusal(JournalLine(Header()) + JournalLine(entry)), HasSubstr("one of each"));
}

// The journal's name may be that of a file of somebody else, or of a link to one.
TEST(JournalFile, LeavesOtherFilesAsTheyAre) {
  const TemporaryFolder folder;
  const auto path = folder / "run.json.journal";
  for (const char* text : {"precious", "{\"a\": 1}", "{\"a\": 1}\n"}) {
    WriteFile(path, text);
    EXPECT_THAT(fakes::RefusalOf([&] { JournalFile{path}; }),
                HasSubstr("run.json.journal: not the journal of a run"));
    EXPECT_EQ(ReadFileIfAny(path), text);
  }
  WriteFile(path, JournalLine(Header()).substr(0, 20));
  EXPECT_EQ(JournalFile(path).found().complete_bytes, 0U);
  EXPECT_EQ(ReadFileIfAny(path), "");
  std::filesystem::create_symlink(path, folder / "link");
  EXPECT_THAT(fakes::RefusalOf([&] { JournalFile{folder / "link"}; }),
              HasSubstr("link: cannot be written: "));
  const JournalFile first(path);
  EXPECT_THAT(fakes::RefusalOf([&] { JournalFile{path}; }), HasSubstr("is writing it"));
}

TEST(Journal, AcceptsMessagesThatAreNotUtf8) {
  auto entry = JournalEntryOfTwo();
  entry.outcomes[0].failure = Reason{"\xff said"};
  EXPECT_EQ(ParseJournal(JournalLine(Header()) + JournalLine(entry), "j").entries.size(), 1);
}

// Returns the result of a process whose repetitions took these times. [s]
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
  return {std::nullopt, whole};
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

TEST(Merge, KeepsTheSpecifiedOrderAndSaysWhoRanIt) {
  const std::vector<Supervised> supervised = {
      {fakes::Name("n2") + "/real_time", {PartOf("n2", {2, 2, 2})}},
      {fakes::Name("n1") + "/real_time", {PartOf("n1", {1, 1, 1})}}};
  const auto merged =
      ToJson(MergedRun(supervised, json::array({machine::ToJson(fakes::SmallMachine())}),
                       {{"command", "dlroof run"}}));
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
  const auto merged = ToJson(MergedRun(
      {{listed, {PartFrom(listed, {Reason{"ended by signal 11"}, {}}, {})}}}, {}, json::object()));
  EXPECT_EQ(merged["records"][0]["status"], "failed");
  EXPECT_EQ(merged["records"][0]["name"], fakes::Name("n1"));
  EXPECT_EQ(merged["records"][0]["problem"], "n1");
  EXPECT_EQ(merged["records"][0]["reason"], "ended by signal 11");
  EXPECT_EQ(merged["benchmarks"][0]["error_occurred"], true);
  EXPECT_EQ(merged["benchmarks"][0]["error_message"], "ended by signal 11");
}

TEST(Merge, TheResultOfAnotherBenchmarkIsAFailure) {
  EXPECT_THAT(PartFrom(fakes::Name("n1"), Result("n2", {1}), std::nullopt).failure.value().text,
              HasSubstr("left no result"));
  EXPECT_THAT(
      PartFrom(fakes::Name("n1"), {std::nullopt, {{"records", 5}}}, std::nullopt).failure->text,
      HasSubstr("records"));
}

TEST(Merge, BlocksFollowEachOtherWithoutTheirSettlingRepetitions) {
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
  const auto failed = PartFrom(fakes::Name("n1"), {Reason{"hangs"}, {}}, 1);
  const record::Record record = RecordOf(fakes::Name("n1"), {PartOf("n1", {9, 9, 1}, 0), failed});
  EXPECT_EQ(record.status, record::Status::kFailed);
  EXPECT_EQ(record.reason, "hangs");
}

TEST(Schedule, BothSidesGoFirstAboutAsOften) {
  int base = 0;
  for (std::uint64_t block = 0; block < 200; ++block)
    for (const bool first : DrawBaseFirst(5, 1, block)) base += first ? 1 : 0;
  // 1000 draws: three deviations are 47.
  EXPECT_GT(base, 450);
  EXPECT_LT(base, 550);
  EXPECT_EQ(DrawBaseFirst(64, 1, 2), DrawBaseFirst(64, 1, 2));
  EXPECT_NE(DrawBaseFirst(64, 1, 2), DrawBaseFirst(64, 1, 3));
  EXPECT_NE(DrawBaseFirst(64, 1, 2), DrawBaseFirst(64, 2, 2));
}

TEST(Schedule, TheTimeLeftIsTheMeanTimeOfEachBenchmarkLeft) {
  EXPECT_EQ(LeftText({1, 3}, 5), "10 s");
  EXPECT_EQ(LeftText({129.6}, 1), "2 min 10 s");
  EXPECT_EQ(LeftText({3900}, 1), "1 h 5 min");
}

}  // namespace
}  // namespace dlroof::supervise
