#include "reporters/written_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>

#include "reporters/record_json.h"
#include "reporters/run_file.h"
#include "tests/small_run.h"

namespace dlroof {
namespace {

using nlohmann::json;

TEST(Rounded, HasSoManyDigitsAndIsShortInAFile) {
  EXPECT_EQ(json(Rounded(1.0 / 3, 3)).dump(), "0.333");
  EXPECT_EQ(json(Rounded(303936149453.18274)).dump(), "303936150000.0");
  EXPECT_EQ(Rounded(-2.6e-300, 1), -3e-300);
  EXPECT_EQ(Rounded(0), 0);
  EXPECT_TRUE(std::isinf(Rounded(std::numeric_limits<double>::infinity())));
}

TEST(RoundAll, LeavesTextsAndCountsAndWritesWholeNumbersWhole) {
  json value = {{"a", {1.0 / 3, 2.0, -4.0, 1e300, 7}}, {"b", "0.3333333333333"}, {"c", true}};
  RoundAll(value, 2);
  EXPECT_EQ(value.dump(), R"({"a":[0.33,2,-4,1e+300,7],"b":"0.3333333333333","c":true})");
}

TEST(RoundedToClock, StillNamesTheNanosecond) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const double iterations =
        std::floor(std::pow(10, 7 * std::generate_canonical<double, 53>(random)));
    const double nanoseconds =
        std::floor(std::pow(10, 11 * std::generate_canonical<double, 53>(random)));
    const double exact = nanoseconds * 1e-9 / iterations;
    const double written = RoundedToClock(exact, iterations);
    EXPECT_EQ(std::round(written * iterations * 1e9), nanoseconds) << iterations;
    EXPECT_EQ(RoundedToClock(written, iterations), written);
  }
}

TEST(RoundedToClock, HasNoDigitsBeyondTheClockButThoseAskedFor) {
  // 1 ns / 2 is 5e-10: ten decimals.
  EXPECT_EQ(json(RoundedToClock(0.035090472500000025, 2)).dump(), "0.0350904725");
  // Of 20 ns eight digits are asked for, where the clock resolves two.
  EXPECT_EQ(json(RoundedToClock(2.123456789e-8, 1, 8)).dump(), "2.1234568e-08");
  EXPECT_EQ(json(RoundedToClock(2.123456789e-8, 1)).dump(), "2.12e-08");
  EXPECT_EQ(RoundedToClock(1.0 / 3, 0), 1.0 / 3);  // nobody knows how many calls it was
  EXPECT_EQ(RoundedToClock(0, 5), 0);
}

TEST(RecordJson, WritesWhatTheClockResolvesAndReadsTheSameAgain) {
  Record record = Measured("n1", 1.0 / 3, 7);
  record.repetitions[0].run_delay_seconds = 1.4618000000000964e-05;
  const Machine machine = SmallMachine();
  const auto written = ToJson(record, &machine);
  EXPECT_EQ(written["repetitions"][0]["run_delay_seconds"].dump(), "1.4618e-05");
  EXPECT_EQ(written["repetitions"][0]["iterations"].dump(), "3");
  EXPECT_FALSE(written["repetitions"][6].contains("disturbed"));
  EXPECT_EQ(written["repetitions"][7]["disturbed"], true);
  const Record again = RecordFromJson(JsonReader(written, "x"));
  EXPECT_FALSE(again.repetitions[6].disturbed);
  EXPECT_EQ(ToJson(again, &machine).dump(), written.dump());
}

RunFile RunWithMixes() {
  RunFile run = RunOf("x", {Measured("n1", 1.0 / 3)}).file;
  CeilingSet& set = run.machines[0].by_threads[2];
  set.flops["fp32.vector"].per_second = 1e11 / 3;
  for (auto* ceiling : {&set.bytes[Level::kDram], &set.mixes["dram.copy"]}) {
    *ceiling = {.per_second = 2e10 / 3, .how = "copy", .proved = true};
    ceiling->proof.doubling = 2.0 / 3;
  }
  return run;
}

TEST(ToStoredJson, KeepsTheProofOfEveryRoofAndOfNoSingleMix) {
  const auto stored = ToStoredJson(RunWithMixes());
  const auto& set = stored["machines"][0]["by_threads"]["2"];
  EXPECT_EQ(set["bytes"]["dram"]["proof"]["doubling"].dump(), "0.666667");
  EXPECT_EQ(set["mixes"]["dram.copy"]["per_second"].dump(), "6666670000");
  EXPECT_EQ(set["mixes"]["dram.copy"]["proved"], true);
  EXPECT_FALSE(set["mixes"]["dram.copy"].contains("proof"));
}

TEST(ToStoredJson, IsReadAndStoredAgainAsItIs) {
  const auto stored = ToStoredJson(RunWithMixes());
  std::ostringstream warnings;
  const RunFile again = ParseRunFile(stored.dump(), "x", warnings);
  EXPECT_EQ(ToStoredJson(again).dump(), stored.dump());
  auto records = ToJson(again)["records"];
  for (auto& record : records) record.erase("advice");
  EXPECT_EQ(records, stored["records"]);
}

TEST(ToStoredJson, LargestStoredRunsTakeAtMost300kBAndAreRead) {
  const auto folder = std::filesystem::path(DLROOF_TEST_DATA).parent_path().parent_path() /
                      "baselines" / "cascade-lake-2c";
  for (const char* name : {"2026-11-21-conv2d.json", "2026-11-21-lstm.json"}) {
    EXPECT_LE(std::filesystem::file_size(folder / name), 300000U) << name;
    std::ostringstream warnings;
    EXPECT_GT(ReadRunFile((folder / name).string(), warnings).records.size(), 70U) << name;
    EXPECT_EQ(warnings.str(), "") << name;
  }
}

}  // namespace
}  // namespace dlroof
