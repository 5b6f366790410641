#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "reporters/record/record_json.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/small_run.h"
#include "tests/test_data.h"

namespace dlroof::roofline {
namespace {

TEST(RecordJson, WritesTheClocksDigitsAndReadsTheSameValuesBack) {
  record::Record record = fakes::Measured("n1", 1.0 / 3, 7);
  record.repetitions[0].run_delay_seconds = 1.4618000000000964e-05;
  const machine::Machine machine = fakes::SmallMachine();
  const auto written = ToJson(record, &machine);
  EXPECT_EQ(written["repetitions"][0]["run_delay_seconds"].dump(), "1.4618e-05");
  EXPECT_EQ(written["repetitions"][0]["iterations"].dump(), "3");
  EXPECT_FALSE(written["repetitions"][6].contains("disturbed"));
  EXPECT_EQ(written["repetitions"][7]["disturbed"], true);
  const record::Record again = record::RecordFromJson(written.dump(), "x");
  EXPECT_FALSE(again.repetitions[6].noisy);
  EXPECT_EQ(ToJson(again, &machine).dump(), written.dump());
}

record::RunFile RunWithMixes() {
  record::RunFile run = fakes::RunOf("x", {fakes::Measured("n1", 1.0 / 3)}).file;
  machine::CeilingSet& set = run.machines[0].by_threads[2];
  set.flops["fp32.vector"].per_second = 1e11 / 3;
  for (auto* ceiling : {&set.bytes[Level::kDram], &set.mixes["dram.copy"]}) {
    *ceiling = {
        .per_second = 2e10 / 3, .how = "copy", .status = machine::CeilingStatus::kValidated};
    ceiling->validation.doubling = 2.0 / 3;
  }
  return run;
}

TEST(ToStoredJson, KeepsTheValidationOfRoofsAndDropsThatOfAccessMixes) {
  const auto stored = ToStoredJson(RunWithMixes());
  const auto& set = stored["machines"][0]["by_threads"]["2"];
  EXPECT_EQ(set["bytes"]["dram"]["proof"]["doubling"].dump(), "0.666667");
  EXPECT_EQ(set["mixes"]["dram.copy"]["per_second"].dump(), "6666670000");
  EXPECT_EQ(set["mixes"]["dram.copy"]["proved"], true);
  EXPECT_FALSE(set["mixes"]["dram.copy"].contains("proof"));
}

TEST(ToStoredJson, StaysTheSameWhenReadAndStoredAgain) {
  const auto stored = ToStoredJson(RunWithMixes());
  std::ostringstream warnings;
  const record::RunFile again = record::ParseRunFile(stored.dump(), "x", warnings);
  EXPECT_EQ(ToStoredJson(again).dump(), stored.dump());
}

// 100 flop take 0.7 s, and 2/3 s in one repetition. With 3 iterations ten decimals resolve 1 ns.
TEST(ToStoredJson, KeepsAllDigitsOfWallTimesAndSixOfDerivedValues) {
  record::RunFile run = fakes::RunOf("x", {fakes::Measured("n1", 0.7)}).file;
  auto& repetition = run.records[0].repetitions[0];
  repetition.seconds = 2.0 / 3;
  repetition.cpu_seconds = 4.0 / 3;
  repetition.main_cpu_seconds = 2.0 / 3;
  repetition.run_delay_seconds = 1.4618e-5;
  run.records[0].repetitions[1].run_delay_seconds = 0;
  const auto stored = ToStoredJson(run)["records"][0];
  EXPECT_EQ(stored["repetitions"][0].dump(),
            R"({"cpu_seconds":1.33333,"iterations":3,"main_cpu_seconds":0.666667,)"
            R"("run_delay_seconds":1.46e-05,"seconds":0.6666666667})");
  EXPECT_EQ(stored["repetitions"][1]["run_delay_seconds"].dump(), "0");
  EXPECT_EQ(stored["seconds"]["median"].dump(), "0.7");
  EXPECT_EQ(stored["classic"][0]["flops_per_second"].dump(), "142.857");
  EXPECT_EQ(stored["work"]["modelled"].dump(),
            R"({"bytes":{"dram":1},"flops":{"fp32.vector":100},"launches":1})");
}

TEST(ToStoredJson, OmitsWhatTheReaderDerivesAgain) {
  record::RunFile run = RunWithMixes();
  run.machines[0].by_threads[2].flops["fp32.vector"].status =
      machine::CeilingStatus::kNotValidated;  // limits the time point
  const auto stored = ToStoredJson(run);
  const auto& record = stored["records"][0];
  const auto& machine = stored["machines"][0];
  EXPECT_FALSE(record["classic"][0].contains("flops_per_second_ci95"));
  for (const char* key : {"limited_by", "remarks", "advice"})
    EXPECT_FALSE(record.contains(key)) << key;
  for (const char* key : {"flops", "bytes", "launch_seconds"})
    EXPECT_FALSE(machine.contains(key)) << key;
  std::ostringstream warnings;
  const auto again = ToJson(record::ParseRunFile(stored.dump(), "x", warnings));
  EXPECT_TRUE(again["records"][0]["classic"][0].contains("flops_per_second_ci95"));
  ASSERT_TRUE(again["records"][0].contains("limited_by"));
  EXPECT_EQ(again["records"][0]["limited_by"].size(), 1U);
  EXPECT_EQ(again["machines"][0]["flops"], machine["by_threads"]["2"]["flops"]);
}

// The rate of 1e11/3 flop/s is written as 33333300000: 100 flop take 3.00000e-9 s.
TEST(ToStoredJson, TimePointIsTheComplexityPointTimesTheDistanceToTheRoof) {
  const auto stored = ToStoredJson(RunWithMixes());
  const auto& time = stored["records"][0]["time"];
  EXPECT_FALSE(time.contains("point"));
  EXPECT_EQ(time["compute_seconds"].dump(), "3e-09");
  EXPECT_EQ(time["gap"].dump(), "111111000");
  std::ostringstream warnings;
  const auto again = ToJson(record::ParseRunFile(stored.dump(), "x", warnings));
  EXPECT_NEAR(again["records"][0]["time"]["point"]["compute_seconds"].get<double>(), 1.0 / 3, 1e-6);
}

// The largest stored runs, and an upper bound: every record gets a point at each level. In real
// runs reference implementations are modelled at DRAM only.
TEST(ToStoredJson, OfALargeRunTakesAtMost300kBAndIsRead) {
  const auto folder =
      std::filesystem::path(fakes::TestData("../..")) / "baselines" / "stored" / "cascade-lake-2c";
  for (const char* name : {"2026-11-21-conv2d.json", "2026-11-21-lstm.json"}) {
    EXPECT_LE(std::filesystem::file_size(folder / name), 300000U) << name;
    std::ostringstream warnings;
    record::RunFile run = record::ReadRunFile((folder / name).string(), warnings);
    EXPECT_GT(run.records.size(), 70U) << name;
    EXPECT_EQ(warnings.str(), "") << name;
    for (auto& record : run.records) {
      auto& bytes = record.work[Provenance::kModelled].bytes;
      const auto dram = bytes.find(Level::kDram);
      if (dram == bytes.end()) continue;
      const double compulsory = dram->second;
      bytes[Level::kL1] = 24 * compulsory + 64;
      bytes[Level::kL2] = 8 * compulsory + 64;
      bytes[Level::kL3] = 3 * compulsory + 64;
    }
    EXPECT_LE(ToStoredJson(run).dump().size(), 300000U) << name;
  }
}

}  // namespace
}  // namespace dlroof::roofline
