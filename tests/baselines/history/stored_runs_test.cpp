#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "baselines/history/builds.h"
#include "counters/base/files.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"

namespace dlroof::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class StoredRuns : public testing::Test {
 protected:
  StoredRuns() { std::filesystem::create_directories(folder_ / "machine"); }

  void Store(const std::string& name, compare::NamedRun run, const std::string& date) {
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
  const auto contender =
      fakes::RunOf("new.json", {fakes::Measured("n0", 2), fakes::Measured("m1", 2)});
  std::ostringstream warnings;
  EXPECT_EQ(
      FindBaselines(folder_, contender, {{fakes::Name("n1"), fakes::Name("m1")}}, warnings).size(),
      2);
  EXPECT_EQ(warnings.str(), "");
  EXPECT_THAT(
      fakes::RefusalOf([&] {
        FindBaselines(folder_, contender, {{fakes::Name("n7"), fakes::Name("m1")}}, warnings);
      }),
      HasSubstr("no stored run of this machine has the benchmark 'Conv2D/cpu/onednn/fwd/f32/n7'"));
}

TEST_F(StoredRuns, NothingFoundSaysWhereAndForWhom) {
  const auto mine = fakes::RunOf("new.json", {fakes::Measured("n0", 2)});
  std::ostringstream warnings;
  const auto refusal = [&](const std::filesystem::path& folder, const compare::NamedRun& run) {
    return fakes::RefusalOf([&] { FindBaselines(folder, run, {}, warnings); });
  };
  EXPECT_THAT(refusal(folder_, mine),
              HasSubstr("none of 0 JSON files is a run of this machine (00)"));
  EXPECT_THAT(refusal(folder_ / "none", mine), HasSubstr("not a folder"));
  auto nameless = mine;
  nameless.file.machines.clear();
  EXPECT_THAT(refusal(folder_, nameless), HasSubstr("has no machine"));
}

TEST(RunsOfBranch, NamedRunsComeBeforeCommitsInGit) {
  const StoredRun named{.id = 1, .commit = "a", .branch = "main"};
  const StoredRun other{.id = 2, .commit = "b", .branch = "topic"};
  const StoredRun nameless{.id = 3, .commit = "c"};
  const auto ids = [](const std::vector<StoredRun>& runs) {
    std::vector<std::int64_t> all;
    for (const auto& run : runs) all.push_back(run.id);
    return all;
  };
  EXPECT_THAT(ids(RunsOfBranch({named, other, nameless}, "main", {"b", "c"})), ElementsAre(1));
  EXPECT_THAT(ids(RunsOfBranch({other, nameless}, "main", {"b", "c"})), ElementsAre(3));
  EXPECT_THAT(ids(RunsOfBranch({other, nameless}, "main", {})), IsEmpty());
}

}  // namespace
}  // namespace dlroof::history
