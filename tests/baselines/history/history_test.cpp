#include "baselines/history/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "baselines/history/database.h"
#include "counters/base/files.h"
#include "counters/base/numbers.h"
#include "reporters/record/record_json.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::history {
namespace {

using fakes::RefusalOf, fakes::Name, fakes::Measured;
using nlohmann::json;
using testing::HasSubstr;

namespace fs = std::filesystem;

class HistoryTest : public testing::Test {
 protected:
  std::string Path() const { return folder_ / "perf.sqlite"; }

  const TemporaryFolder folder_;
};

compare::NamedRun RunOn(int day, const std::vector<record::Record>& records) {
  compare::NamedRun run = fakes::RunOf(fmt::format("{}.json", day), records);
  run.file.context["date"] = fmt::format("2026-01-{:02}T00:00:00+00:00", day);
  return run;
}

// Of 9 repetitions 2 are clean: the estimate is the fastest.
TEST_F(HistoryTest, ANoisyPointHasAnEstimateAndNoMedian) {
  auto wrong = Measured("n2", 1, 2);
  wrong.status = record::Status::kWrong;
  History history(Path(), Access::kWrite);
  history.Add(RunOn(1, {Measured("n1", 1, 2), wrong, Measured("n3", 1)}));
  const auto point = [&](const char* problem) {
    return history.PointsOf(history.SeriesNamed(Name(problem)).at(0)).at(0);
  };
  EXPECT_FALSE(point("n1").median);
  EXPECT_TRUE(point("n1").estimate.value().noisy);
  EXPECT_DOUBLE_EQ(point("n1").estimate->median, 0.99);
  EXPECT_FALSE(point("n2").estimate);
  EXPECT_TRUE(point("n3").median);
  EXPECT_FALSE(point("n3").estimate);
}

TEST_F(HistoryTest, SeriesDifferByWhatTheTimeDependsOn) {
  History history(Path(), Access::kWrite);
  record::Record one_thread = Measured("n1", 1), warm = one_thread, queued = one_thread;
  one_thread.threads = 1;
  warm.cache = "warm";
  queued.timed = record::timed::kDevice;
  record::Record in_graph = queued;
  in_graph.timed = record::timed::kGraph;
  compare::NamedRun elsewhere = RunOn(4, {Measured("n1", 1)});
  elsewhere.file.machines[0].fingerprint = "11";
  compare::NamedRun seconds = RunOn(5, {Measured("n1", 1)});
  seconds.file.context["dlroof"]["conventions"]["seconds"] = "the least one";
  for (const auto& run :
       {RunOn(1, {Measured("n1", 1)}), RunOn(2, {one_thread}), RunOn(3, {warm}), elsewhere, seconds,
        RunOn(6, {Measured("n1", 2)}), RunOn(7, {queued}), RunOn(8, {in_graph})})
    history.Add(run);
  const auto all = history.SeriesNamed(Name("n1"));
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0].points, 2);  // days 1 and 6
}

TEST_F(HistoryTest, PointsComeOldestFirst) {
  History history(Path(), Access::kWrite);
  history.Add(RunOn(3, {Measured("n1", 3)}));
  history.Add(RunOn(1, {Measured("n1", 1)}));
  history.Add(RunOn(2, {Measured("n2", 7), Measured("n1", 2, 2)}));  // too few clean ones
  const auto points = history.PointsOf(history.SeriesNamed(Name("n1")).at(0));
  ASSERT_EQ(points.size(), 3U);
  EXPECT_DOUBLE_EQ(points[0].median.value(), 1);
  EXPECT_FALSE(points[1].median);
  EXPECT_DOUBLE_EQ(points[2].median.value(), 3);
  EXPECT_EQ(points[2].clean, 9);
  EXPECT_EQ(points[2].repetitions, 9);
  EXPECT_EQ(points[0].facts, points[2].facts);
  EXPECT_EQ(history.Facts(points[0]).algorithm, "brgemm");
}

TEST(Moment, ReadsWhatOtherVersionsAndToolsWrite) {
  const auto moment = [](const char* date) {
    record::RunFile file;
    file.context["date"] = date;
    return Moment(file);
  };
  EXPECT_EQ(Moment(record::RunFile()), std::nullopt);
  // A day is 86400 s, an hour 3600 s; the second is that of an older Google Benchmark.
  for (const char* date :
       {"1970-01-02T01:00:00+01:00", "1970-01-02 00:00:00", "1970-01-02T00:00:00Z",
        "1970-01-02T01:00:00.123456+01:00", "1970-01-01T22:30:00.5-01:30",
        "1970-01-02T05:30:00+0530", "1970-01-02T01:00:00+01", "1970-01-02 01:00:00 +0100"})
    EXPECT_EQ(moment(date), 86400) << date;
  EXPECT_EQ(moment("1970-01-02T00:00:07.999"), 86407);
  for (const char* date : {"1970-01-02", "yesterday"})
    EXPECT_EQ(moment(date), std::nullopt) << date;
}

TEST_F(HistoryTest, RefusesFilesThatAreNotHistories) {
  const auto refusal = [&](Access access) { return RefusalOf([&] { History(Path(), access); }); };
  EXPECT_THAT(refusal(Access::kRead), HasSubstr("no such history"));
  std::ofstream(Path()) << std::string(5000, 'x');
  EXPECT_THAT(refusal(Access::kRead), HasSubstr("perf.sqlite: not a history"));
  fs::remove(Path());
  Execute(*OpenDatabase(Path(), Access::kWrite), "CREATE TABLE other (x)");
  EXPECT_THAT(refusal(Access::kWrite), HasSubstr("not a history of dlroof"));
  fs::remove(Path());
  { History(Path(), Access::kWrite); }
  Execute(*OpenDatabase(Path(), Access::kWrite), "PRAGMA user_version = 5");
  EXPECT_THAT(refusal(Access::kRead), HasSubstr("newer dlroof (schema 5, this one reads up to 4"));
  Execute(*OpenDatabase(Path(), Access::kWrite), "PRAGMA user_version = 3");
  EXPECT_THAT(refusal(Access::kRead), HasSubstr("older dlroof (schema 3): add its run files to"));
  History history(":memory:", Access::kWrite);
  EXPECT_THAT(RefusalOf([&] {
                history.Add(RunOn(1, {Measured("n1", 1), Measured("n1", 2)}));
              }),
              HasSubstr("occurs twice"));
}

// A repetition with all members set to different values.
std::vector<record::Repetition> FullRepetitions() {
  record::Repetition full{.seconds = 0.1,
                          .cpu_seconds = 0.2,
                          .main_cpu_seconds = 0.3,
                          .run_delay_seconds = 1e-18,
                          .core_share = 0.875,
                          .iterations = 5,
                          .noisy = true,
                          .block = 65537};
  double value = 1.0 / 3;
  record::GpuSample sample;
  for (const auto& [key, member] : record::GpuSampleFields())
    sample.*member = RangeOf(key).least + ++value;
  full.gpu = std::make_shared<record::GpuSample>(sample);
  record::Repetition last_only{.seconds = 2}, nothing_known{.seconds = 3};
  last_only.gpu = std::make_shared<record::GpuSample>(record::GpuSample{.throttle = 0});
  nothing_known.gpu = std::make_shared<record::GpuSample>();
  return {full, last_only, nothing_known, {.seconds = 4}};
}

TEST(PackedRecord, StoresEveryMemberOfARepetitionAndNothingElse) {
  record::Record record{.name = "Conv2D/gpu/cudnn/fwd/f32/n1"};
  record::SplitName(record);
  record.repetitions = FullRepetitions();
  record.repetitions[0].link_share = 0.625;
  record.repetitions[3].clean_calls = 4;
  const auto packed = Pack(record);
  const record::Record back = Unpack(packed.facts, packed.repetitions, "x");
  EXPECT_EQ(roofline::ToJson(back, nullptr), roofline::ToJson(record, nullptr));
  EXPECT_EQ(*back.repetitions[0].gpu, *record.repetitions[0].gpu);
}

// A view could answer in place of a table, and a trigger act when dlroof writes.
TEST_F(HistoryTest, OtherTablesViewsAndTriggersAreRefused) {
  History(Path(), Access::kWrite);
  for (const char* sql :
       {"CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM points; END", "DROP TRIGGER t",
        "ALTER TABLE runs RENAME TO hidden; CREATE VIEW runs AS SELECT * FROM hidden"}) {
    SQLite::Database(Path(), SQLite::OPEN_READWRITE).exec(sql);
    const auto refusal = RefusalOf([&] { History(Path(), Access::kRead); });
    EXPECT_EQ(refusal == "accepted", std::string_view(sql).starts_with("DROP")) << refusal;
  }
}

// SQLite itself allows such a name only by a write into its schema.
TEST_F(HistoryTest, ATriggerWithANameOfSqliteIsRefused) {
  History(Path(), Access::kWrite);
  SQLite::Database(Path(), SQLite::OPEN_READWRITE)
      .exec(
          "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_t', "
          "'runs', 0, 'CREATE TRIGGER sqlite_t AFTER INSERT ON runs BEGIN DELETE FROM points; "
          "END')");
  EXPECT_THAT(RefusalOf([&] { History(Path(), Access::kRead); }),
              HasSubstr("its schema has \"CREATE TRIGGER sqlite_t"));
}

TEST_F(HistoryTest, NumbersThatCannotBeAreRefused) {
  History(Path(), Access::kWrite).Add(RunOn(1, {Measured("n1", 1)}));
  const std::string copy = folder_ / "copy.sqlite";
  for (const auto& [change, fault] :
       {std::pair("points SET median = 3 * median", "damaged: a median of"),
        {"points SET high = 0.5 * median", "damaged: a median of"},
        {"points SET low = 2 * median", "damaged: a median of"},
        {"points SET median = 1e300", "damaged: '"},
        {"points SET clean = -1", "damaged: '"},
        {"series SET threads = -1", "damaged: '"},
        {"runs SET points = -1", "damaged: '"}}) {
    fs::copy_file(Path(), copy, fs::copy_options::overwrite_existing);
    SQLite::Database(copy, SQLite::OPEN_READWRITE).exec(fmt::format("UPDATE {}", change));
    const History history(copy, Access::kRead);
    const auto read = [&] { history.Runs(), history.PointsOf(history.AllSeries().at(0)); };
    EXPECT_THAT(RefusalOf(read), HasSubstr(fault)) << change;
  }
}

// 201 points share a text of 1 MB; a run file has at most 192 MiB.
TEST_F(HistoryTest, ATextThatPointsShareCountsForEachAndAPointIsOfOneRun) {
  History(Path(), Access::kWrite).Add(RunOn(1, {Measured("n1", 1)}));
  SQLite::Database(Path(), SQLite::OPEN_READWRITE)
      .exec(
          "UPDATE texts SET text = text || printf('%.*c', 1048576, ' ') WHERE hash = (SELECT facts "
          "FROM points); INSERT INTO points SELECT NULL, run, series, facts, median, low, high, "
          "clean, repetitions FROM points, (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + "
          "1 FROM n LIMIT 200) SELECT i FROM n); UPDATE runs SET points = 201; INSERT INTO runs "
          "SELECT 2, 2, date, moment, code, source, context, machines, first_point, points FROM "
          "runs");
  const History history(Path(), Access::kRead);
  const auto runs = history.Runs();
  EXPECT_THAT(RefusalOf([&] { history.Read(runs.at(0)); }), HasSubstr("more than a run file"));
  EXPECT_TRUE(history.Read(runs.at(1)).file.records.empty());
}

TEST(PackedRecord, DamagedBytesAreRefused) {
  auto packed = Pack(Measured("n1", 1));
  packed.repetitions.pop_back();
  fakes::ExpectRefused([&] { Unpack(packed.facts, packed.repetitions, "x"); }, {"x: damaged"});
  for (const char* row : {"[[1, 2]]", "[7]", R"([["a", 1, false]])"}) {
    const auto bytes = json::to_cbor(json::parse(row));
    EXPECT_THAT(RefusalOf([&] {
                  UnpackRepetitions({bytes.begin(), bytes.end()}, "x");
                }),
                HasSubstr("x: damaged"));
  }
  for (const char* head : {"\x81", "\xa1\x01", "\x9f", "\x5f", "\xc1"}) {
    std::string deep = "\x81";
    for (int i = 0; i < 300000; ++i) deep += head;
    EXPECT_THAT(RefusalOf([&] { Unpack(packed.facts, deep, "x"); }), HasSubstr("x: damaged"));
  }
}

}  // namespace
}  // namespace dlroof::history
