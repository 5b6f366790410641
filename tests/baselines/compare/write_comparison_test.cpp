#include "baselines/compare/write_comparison.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/fakes/refusal.h"

namespace dlroof::compare {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Special characters of the formats.
const std::string kNasty = "A/\"q\",'s'<b>&amp;|`x`\\\n\tend \xC3\xA9\xE2\x82\xAC \x01\x1B[31m ]]>";

record::Record Timed(const std::string& name, double seconds) {
  record::Record record{.name = name};
  record::SplitName(record);
  for (int i = 0; i < 9; ++i)
    record.repetitions.push_back({.seconds = seconds * (1 + 0.001 * i), .iterations = 1});
  record.work[Provenance::kModelled].flops["fp32.vector"] = 100;
  return record;
}

struct Compared {
  compare::NamedRun base{"base<1>.json", {}}, contender{"new dir/n.json", {}};
  compare::CompareResult result;
  ComparedFiles files{"base<1>.json", "new dir/n.json"};

  explicit Compared(double factor) {
    auto failed = Timed("failed", 1);
    base.file.records = {Timed(kNasty, 1), Timed("same", 1), failed, Timed("gone", 1)};
    failed.status = record::Status::kFailed;
    failed.reason = "boom <at> \"x\"";
    failed.repetitions.clear();
    auto moved = Timed(kNasty, factor);
    moved.work[Provenance::kModelled].flops["fp32.vector"] = 200;
    contender.file.records = {moved, Timed("same", 1), failed, Timed("new", 1)};
    compare::CompareOptions options{.min_effect = 0.03, .run_noise = 0.003};
    result = compare::Compare(base, contender, options);
  }

  std::string Written(void (*write)(const compare::CompareResult&, const ComparedFiles&,
                                    std::ostream&)) {
    std::ostringstream out;
    write(result, files, out);
    return out.str();
  }
};

std::string TableOf(const compare::CompareResult& result, const ComparedFiles& files = {"b", "n"}) {
  std::ostringstream out;
  WriteTable(result, files, 0, out);
  return out.str();
}

TEST(WriteTable, NamesAReasonOnceForAllThatNeitherRunSupports) {
  auto one = Timed("bf16/a", 1), other = Timed("bf16/b", 1);
  one.status = other.status = record::Status::kUnsupported;
  one.reason = other.reason = "no bf16 for avx2";
  compare::NamedRun base{"b", {}}, contender{"n", {}};
  base.file.records = contender.file.records = {Timed("same", 1), one, other};
  contender.file.records[0].repetitions[0].seconds = 1.0001;  // another measurement
  const auto table = TableOf(compare::Compare(base, contender, compare::CompareOptions()));
  fakes::ExpectHas(table, {"2 unsupported",
                           "  unsupported: no bf16 for avx2 (in both runs): bf16/a and 1 more\n"});
  fakes::ExpectLacks(table, {"bf16/b"});
}

TEST(WriteTable, APercentOfASpecifiedRoofSaysSo) {
  Compared compared(1.2);
  auto& row = compared.result.rows[0];
  row.before.fraction = 0.5;
  row.after.fraction = 0.4;
  EXPECT_THAT(TableOf(compared.result), Not(HasSubstr("(specified)")));
  row.after.specified_roof = true;
  EXPECT_THAT(TableOf(compared.result), HasSubstr("50.0 -> 40.0 (specified)"));
  EXPECT_EQ(json::parse(compared.Written(WriteJson))["benchmarks"][0]["given_roof"], true);
}

TEST(WriteJson, HoldsNameAndVerdictOfEachAndNothingElseThanJson) {
  Compared compared(1.2);
  const auto whole = json::parse(compared.Written(WriteJson));
  ASSERT_EQ(whole["benchmarks"].size(), 5);
  EXPECT_EQ(whole["benchmarks"][0]["name"], kNasty);
  EXPECT_EQ(whole["benchmarks"][0]["verdict"], "slower");
  EXPECT_NEAR(whole["benchmarks"][0]["ratio"].get<double>(), 1.2, 1e-3);
  EXPECT_EQ(whole["benchmarks"][0]["changes"][0]["kind"], "flops");
  EXPECT_FALSE(whole["benchmarks"][0].contains("base_fraction"));
  EXPECT_EQ(whole["benchmarks"][4]["verdict"], "gone");
  EXPECT_FALSE(whole["benchmarks"][4].contains("ratio"));
  EXPECT_EQ(whole["summary"]["slower"], 1);
  EXPECT_EQ(whole["summary"]["faster"], 0);
  EXPECT_EQ(whole["exit_code"], 1);
}

// Nasty names: tests/cli/test_compare.py. Failed, new and gone benchmarks have no ratio.
TEST(WriteJunit, CountsAndWritesWhatHasNoTimeWithoutOne) {
  Compared compared(1.2);
  const auto xml = compared.Written(WriteJunit);
  fakes::ExpectHas(xml, {"tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"2\"",
                         "<failure message=\"slower by 1.200", "boom &#60;at&#62; &#34;x&#34;",
                         "name=\"same\" time=\"1.003996680\"/>", "name=\"failed\"><",
                         "name=\"new\" time=\"1.004000000\"><", "name=\"gone\"><"});
}

TEST(WriteMarkdown, NamesAreTextAndRowsStayRows) {
  Compared compared(1.2);
  const auto markdown = compared.Written(WriteMarkdown);
  fakes::ExpectHas(markdown,
                   {"### dlroof: 1 slower, 1 failed, 1 gone, 1 new, 1 same",
                    "| A/\"q\",'s'\\<b\\>\\&amp;\\|\\`x", "| 95 % | p (adjusted) | base |"});
  fakes::ExpectLacks(markdown, {"<b>"});
}

TEST(WriteTable, SaysWhatMovedAndWhy) {
  Compared compared(1.2);
  const auto table = TableOf(compared.result, compared.files);
  fakes::ExpectHas(
      table, {"1.200", "fp32.vector FLOPs (modelled) grew 2.00-fold",
              "1 slower, 1 failed, 1 gone, 1 new, 1 same", "minimum effect 3.0 % (as asked for)"});
  fakes::ExpectLacks(table, {"\x1B"});
}

TEST(BudgetAdvice, EndsWithTheLastBlock) {
  auto record = Timed("a", 3);
  compare::CompareResult result;
  result.rows.push_back({.contender = &record, .verdict = statistics::Verdict::kAmbiguous});
  record.repetitions.back().block = 27;
  EXPECT_EQ(compare::BudgetAdvice(result), ", or a larger --budget, up to 40 blocks each");
  record.repetitions.back().block = 39;
  EXPECT_EQ(compare::BudgetAdvice(result), "");
}

TEST(RemarksOf, SaysThatWallTimeIsLongerThanCpuTime) {
  compare::NamedRun base{"b", {}}, contender{"n", {}};
  base.file.records = contender.file.records = {Timed("a", 3)};
  base.file.records[0].threads = contender.file.records[0].threads = 1;
  for (auto& repetition : base.file.records[0].repetitions) repetition.main_cpu_seconds = 3;
  for (auto& repetition : contender.file.records[0].repetitions) repetition.main_cpu_seconds = 1.5;
  const auto table = [&] {
    return TableOf(compare::Compare(base, contender, compare::CompareOptions()));
  };
  EXPECT_THAT(table(),
              HasSubstr("wall time is 1.00 times the CPU time in BASE, 2.01 times in NEW"));
  // The CPU time fell by half.
  for (auto& repetition : contender.file.records[0].repetitions) repetition.seconds *= 1.4;
  EXPECT_THAT(table(), HasSubstr("ambiguous: +40.0 % in time but -50.0 % in CPU time: it waits"));
  EXPECT_EQ(compare::Compare(base, contender, compare::CompareOptions()).exit_code, 3);
  for (auto& repetition : contender.file.records[0].repetitions)
    *repetition.main_cpu_seconds *= 2.8;
  EXPECT_THAT(table(), HasSubstr("1 slower"));
  contender.file.records[0].repetitions = base.file.records[0].repetitions;
  EXPECT_THAT(table(), Not(HasSubstr("the CPU time")));
}

TEST(RemarksOf, SaysThatTheFilesHaveLittleInCommon) {
  compare::NamedRun base{"b", {}}, contender{"n", {}};
  const auto add = [](compare::NamedRun& run, const std::string& name) {
    run.file.records.push_back(Timed(name, 1));
  };
  const auto few = [&] { return FewSharedText(compare::Compare(base, contender, {})); };
  add(base, "a");
  add(contender, "a");
  for (int i = 0; i < 4; ++i) add(base, fmt::format("base{}", i));
  EXPECT_EQ(few(), "");  // all that NEW has: a run of fewer benchmarks
  add(contender, "new0");
  EXPECT_EQ(few(), "");  // half of it
  add(contender, "new1");
  EXPECT_EQ(few(), "only 1 of 3 benchmarks is in both files (5 in BASE, 3 in NEW)");
  EXPECT_THAT(RemarksOf(compare::Compare(base, contender, {})), testing::Contains(few()));
}

TEST(WriteJson, NamesTheStoredRuns) {
  std::vector<compare::NamedRun> runs = {{"old.json", {}}, {"new.json", {}}};
  compare::NamedRun contender{"n.json", {}};
  runs[0].file.records = {Timed("a", 1)};
  runs[1].file.records = {Timed("b", 1)};
  contender.file.records = {Timed("a", 1), Timed("b", 1), Timed("c", 1)};
  std::ostringstream text;
  WriteJson(compare::CompareWithStored(runs, contender, {}), {"new.json, old.json", "n.json"},
            text);
  const auto whole = json::parse(text.str());
  EXPECT_EQ(whole["benchmarks"][0]["base_file"], "old.json");
  EXPECT_EQ(whole["benchmarks"][1]["base_file"], "new.json");
  EXPECT_FALSE(whole["benchmarks"][2].contains("base_file"));
}

TEST(WriteTable, AShiftOfAllIsOneLine) {
  compare::NamedRun base{"b", {}}, contender{"n", {}};
  for (int i = 0; i < 200; ++i) {
    base.file.records.push_back(Timed(fmt::format("bench{}", i), 1));
    contender.file.records.push_back(Timed(fmt::format("bench{}", i), 1.06));
  }
  const auto result = compare::Compare(base, contender, {});
  EXPECT_EQ(result.exit_code, 3);
  const auto table = TableOf(result);
  fakes::ExpectHas(table, {"all 200 benchmarks together: slower 1.060 (", "program or machine?",
                           "and 200 same (--all shows them)\n"});
  fakes::ExpectLacks(table, {"bench17"});
  EXPECT_THAT(TableOf(result, {"b", "n", true}), HasSubstr("bench17"));
}

}  // namespace
}  // namespace dlroof::compare
