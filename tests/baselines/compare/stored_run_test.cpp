#include "baselines/compare/stored_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "counters/base/folders.h"
#include "reporters/roofline/placed_json.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::compare {
namespace {

using testing::HasSubstr;

class StoredRuns : public testing::Test {
 protected:
  StoredRuns() { std::filesystem::create_directories(folder_ / "machine"); }

  void Store(const std::string& name, NamedRun run, const std::string& date) {
    run.file.context["date"] = date;
    std::ofstream(folder_ / "machine" / name) << roofline::ToJson(run.file).dump();
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_ / "stored";
};

TEST_F(StoredRuns, ThoseOfTheMachineThatCanBeComparedAreFoundOldestFirst) {
  const auto mine = fakes::RunOf("new.json", {fakes::Measured("n0", 2)});
  auto foreign = mine, other = mine;
  foreign.file.machines[0].fingerprint = "11";
  other.file.records[0].name = "other";
  Store("a.json", mine, "2026-01-01T10:00:00+00:00");
  Store("b.json", mine, "2026-01-01T10:30:00+02:00");  // 8:30 UTC: older
  Store("c.json", foreign, "2026-02-01T10:00:00+00:00");
  Store("d.json", other, "2026-02-01T10:00:00+00:00");
  std::ofstream(folder_ / "study.json") << R"({"table": []})";
  std::ostringstream warnings;
  const auto found = FindBaselines(folder_, mine, {}, warnings);
  ASSERT_EQ(found.size(), 2);
  EXPECT_THAT(found[0].where, HasSubstr("b.json"));
  EXPECT_THAT(found[1].where, HasSubstr("a.json"));
  EXPECT_THAT(warnings.str(), HasSubstr("d.json and new.json have no benchmark in common"));
}

TEST_F(StoredRuns, ANameMapIsOfTheRunsThatHaveTheOldName) {
  Store("a.json", fakes::RunOf("a", {fakes::Measured("n1", 2)}), "2026-01-01T10:00:00+00:00");
  Store("b.json", fakes::RunOf("b", {fakes::Measured("n0", 2)}), "2026-02-01T10:00:00+00:00");
  const auto fresh = fakes::RunOf("new.json", {fakes::Measured("n0", 2), fakes::Measured("m1", 2)});
  std::ostringstream warnings;
  EXPECT_EQ(FindBaselines(folder_, fresh, {{fakes::Name("n1"), fakes::Name("m1")}}, warnings).size(), 2);
  EXPECT_EQ(warnings.str(), "");
  EXPECT_THAT(
      fakes::RefusalOf([&] {
        FindBaselines(folder_, fresh, {{fakes::Name("n7"), fakes::Name("m1")}}, warnings);
      }),
      HasSubstr("no stored run of this machine has the benchmark 'Conv2D/cpu/onednn/fwd/f32/n7'"));
}

TEST_F(StoredRuns, NothingFoundSaysWhereAndForWhom) {
  const auto mine = fakes::RunOf("new.json", {fakes::Measured("n0", 2)});
  std::ostringstream warnings;
  const auto refusal = [&](const std::filesystem::path& folder, const NamedRun& run) {
    return fakes::RefusalOf([&] { FindBaselines(folder, run, {}, warnings); });
  };
  EXPECT_THAT(refusal(folder_, mine),
              HasSubstr("none of 0 JSON files is a run of this machine (00)"));
  EXPECT_THAT(refusal(folder_ / "none", mine), HasSubstr("not a folder"));
  auto nameless = mine;
  nameless.file.machines.clear();
  EXPECT_THAT(refusal(folder_, nameless), HasSubstr("names no machine"));
}

TEST(Moment, ReadsWhatOtherVersionsAndToolsWrite) {
  const auto moment = [](const char* date) {
    record::RunFile file;
    file.context["date"] = date;
    return Moment(file);
  };
  EXPECT_EQ(Moment(record::RunFile()), 0);
  // A day is 86400 s, an hour 3600 s.
  EXPECT_EQ(moment("1970-01-02T01:00:00+01:00"), 86400);
  EXPECT_EQ(moment("1970-01-02 00:00:00"), 86400);  // older Google Benchmark
  EXPECT_EQ(moment("1970-01-02T00:00:00Z"), 86400);
  EXPECT_EQ(moment("1970-01-02T01:00:00.123456+01:00"), 86400);
  EXPECT_EQ(moment("1970-01-01T22:30:00.5-01:30"), 86400);
  EXPECT_EQ(moment("1970-01-02T05:30:00+0530"), 86400);
  EXPECT_EQ(moment("1970-01-02T01:00:00+01"), 86400);
  EXPECT_EQ(moment("1970-01-02 01:00:00 +0100"), 86400);
  EXPECT_EQ(moment("1970-01-02T00:00:07.999"), 86407);
  EXPECT_EQ(moment("1970-01-02"), 0);
  EXPECT_EQ(moment("yesterday"), 0);
}

}  // namespace
}  // namespace dlroof::compare
