#include "reporters/text/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>

#include "reporters/record/record_json.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"
#include "tests/fakes/small_run.h"
#include "tests/test_data.h"

namespace dlroof::text {
namespace {

TEST(WithPrefix, KeepsThreeDigits) {
  EXPECT_EQ(WithPrefix(1.6e11, "FLOP/s"), "160 GFLOP/s");
  EXPECT_EQ(WithPrefix(4.2e-6, "s"), "4.20 µs");
  EXPECT_EQ(WithPrefix(1, "s"), "1.00 s");
  EXPECT_EQ(WithPrefix(57.468, "s"), "57.5 s");
  EXPECT_EQ(WithPrefix(-2e-3, "s"), "-2.00 ms");
}

TEST(WithPrefix, RoundingMayReachTheNextPrefix) {
  EXPECT_EQ(WithPrefix(999.4e-6, "s"), "999 µs");
  EXPECT_EQ(WithPrefix(999.6e-6, "s"), "1.00 ms");
}

TEST(WithPrefix, OutsideThePrefixesStaysInPowersOfTen) {
  EXPECT_EQ(WithPrefix(0, "s"), "0 s");
  EXPECT_EQ(WithPrefix(1e-15, "s"), "1.00e-15 s");
  EXPECT_EQ(WithPrefix(2.5e22, "B"), "2.50e+22 B");
}

TEST(ThreeDigits, WithoutExponentWhereItReadsWell) {
  EXPECT_EQ(ThreeDigits(57.468), "57.5");
  EXPECT_EQ(ThreeDigits(0.424), "0.424");
  EXPECT_EQ(ThreeDigits(7719), "7719");
  EXPECT_EQ(ThreeDigits(0), "0");
  EXPECT_EQ(ThreeDigits(1e-7), "1.00e-07");
}

TEST(PercentText, HasThreeSignificantDigits) {
  EXPECT_EQ(PercentText(0.6642), "66.4 %");
  EXPECT_EQ(PercentText(0.07306), "7.31 %");
  EXPECT_EQ(PercentText(0.00812), "0.812 %");
  EXPECT_EQ(PercentText(0.09996), "10.0 %");
  EXPECT_EQ(PercentText(0.9996), "100 %");
  EXPECT_EQ(PercentText(1), "100 %");
  EXPECT_EQ(PercentText(12.34), "1234 %");
  EXPECT_EQ(PercentText(0), "0 %");
}

}  // namespace
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
  // Eight digits of 20 ns are asked for, where the clock resolves two.
  EXPECT_EQ(json(RoundedToClock(2.123456789e-8, 1, 8)).dump(), "2.1234568e-08");
  EXPECT_EQ(json(RoundedToClock(2.123456789e-8, 1)).dump(), "2.12e-08");
  EXPECT_EQ(RoundedToClock(1.0 / 3, 0), 1.0 / 3);  // nobody knows how many calls it was
  EXPECT_EQ(RoundedToClock(0, 5), 0);
}

TEST(RecordJson, WritesWhatTheClockResolvesAndReadsTheSameAgain) {
  record::Record record = fakes::Measured("n1", 1.0 / 3, 7);
  record.repetitions[0].run_delay_seconds = 1.4618000000000964e-05;
  const machine::Machine machine = fakes::SmallMachine();
  const auto written = roofline::ToJson(record, &machine);
  EXPECT_EQ(written["repetitions"][0]["run_delay_seconds"].dump(), "1.4618e-05");
  EXPECT_EQ(written["repetitions"][0]["iterations"].dump(), "3");
  EXPECT_FALSE(written["repetitions"][6].contains("disturbed"));
  EXPECT_EQ(written["repetitions"][7]["disturbed"], true);
  const record::Record again = record::RecordFromJson(written.dump(), "x");
  EXPECT_FALSE(again.repetitions[6].noisy);
  EXPECT_EQ(roofline::ToJson(again, &machine).dump(), written.dump());
}

record::RunFile RunWithMixes() {
  record::RunFile run = fakes::RunOf("x", {fakes::Measured("n1", 1.0 / 3)}).file;
  machine::CeilingSet& set = run.machines[0].by_threads[2];
  set.flops["fp32.vector"].per_second = 1e11 / 3;
  for (auto* ceiling : {&set.bytes[Level::kDram], &set.mixes["dram.copy"]}) {
    *ceiling = {.per_second = 2e10 / 3, .how = "copy", .validated = true};
    ceiling->validation.doubling = 2.0 / 3;
  }
  return run;
}

TEST(ToStoredJson, KeepsTheValidationOfEveryRoofAndOfNoSingleMix) {
  const auto stored = roofline::ToStoredJson(RunWithMixes());
  const auto& set = stored["machines"][0]["by_threads"]["2"];
  EXPECT_EQ(set["bytes"]["dram"]["proof"]["doubling"].dump(), "0.666667");
  EXPECT_EQ(set["mixes"]["dram.copy"]["per_second"].dump(), "6666670000");
  EXPECT_EQ(set["mixes"]["dram.copy"]["proved"], true);
  EXPECT_FALSE(set["mixes"]["dram.copy"].contains("proof"));
}

TEST(ToStoredJson, IsReadAndStoredAgainAsItIs) {
  const auto stored = roofline::ToStoredJson(RunWithMixes());
  std::ostringstream warnings;
  const record::RunFile again = record::ParseRunFile(stored.dump(), "x", warnings);
  EXPECT_EQ(roofline::ToStoredJson(again).dump(), stored.dump());
}

// 100 flop in 0.7 s, the slowest repetition in 2/3 s; 3 iterations: ten decimals name the
// nanosecond.
TEST(ToStoredJson, KeepsWallTimesWholeAndSixDigitsOfWhatIsDerived) {
  record::RunFile run = fakes::RunOf("x", {fakes::Measured("n1", 0.7)}).file;
  auto& repetition = run.records[0].repetitions[0];
  repetition.seconds = 2.0 / 3;
  repetition.cpu_seconds = 4.0 / 3;
  repetition.main_cpu_seconds = 2.0 / 3;
  repetition.run_delay_seconds = 1.4618e-5;
  run.records[0].repetitions[1].run_delay_seconds = 0;
  const auto stored = roofline::ToStoredJson(run)["records"][0];
  EXPECT_EQ(stored["repetitions"][0].dump(),
            R"({"cpu_seconds":1.33333,"iterations":3,"main_cpu_seconds":0.666667,)"
            R"("run_delay_seconds":1.46e-05,"seconds":0.6666666667})");
  EXPECT_EQ(stored["repetitions"][1]["run_delay_seconds"].dump(), "0");
  EXPECT_EQ(stored["seconds"]["median"].dump(), "0.7");
  EXPECT_EQ(stored["classic"][0]["flops_per_second"].dump(), "142.857");
  EXPECT_EQ(stored["work"]["modelled"].dump(),
            R"({"bytes":{"dram":1},"flops":{"fp32.vector":100},"launches":1})");
}

TEST(ToStoredJson, LeavesOutWhatTheReaderGivesAnew) {
  record::RunFile run = RunWithMixes();
  run.machines[0].by_threads[2].flops["fp32.vector"].validated = false;  // a remark
  const auto stored = roofline::ToStoredJson(run);
  const auto& record = stored["records"][0];
  const auto& machine = stored["machines"][0];
  EXPECT_FALSE(record["classic"][0].contains("flops_per_second_ci95"));
  for (const char* key : {"remarks", "advice"}) EXPECT_FALSE(record.contains(key)) << key;
  for (const char* key : {"flops", "bytes", "launch_seconds"})
    EXPECT_FALSE(machine.contains(key)) << key;
  std::ostringstream warnings;
  const auto again = roofline::ToJson(record::ParseRunFile(stored.dump(), "x", warnings));
  EXPECT_TRUE(again["records"][0]["classic"][0].contains("flops_per_second_ci95"));
  EXPECT_EQ(again["records"][0]["remarks"].size(), 1U);
  EXPECT_EQ(again["machines"][0]["flops"], machine["by_threads"]["2"]["flops"]);
}

// 100 flop at 1e11/3 flop/s, written 33333300000, take 3.00000e-9 s and not 1/3 s.
TEST(ToStoredJson, TimePointIsTheComplexityPointTimesItsGap) {
  const auto stored = roofline::ToStoredJson(RunWithMixes());
  const auto& time = stored["records"][0]["time"];
  EXPECT_FALSE(time.contains("point"));
  EXPECT_EQ(time["compute_seconds"].dump(), "3e-09");
  EXPECT_EQ(time["gap"].dump(), "111111000");
  std::ostringstream warnings;
  const auto again = roofline::ToJson(record::ParseRunFile(stored.dump(), "x", warnings));
  EXPECT_NEAR(again["records"][0]["time"]["point"]["compute_seconds"].get<double>(), 1.0 / 3, 1e-6);
}

// One point per level everywhere, which no run has: reference implementations are modelled at DRAM
// alone.
TEST(ToStoredJson, ALargeRunWithEveryLevelTakesAtMost300kB) {
  for (const char* name : {"2026-11-21-conv2d.json", "2026-11-21-lstm.json"}) {
    const auto path = std::filesystem::path(fakes::TestData("../..")) / "baselines" / "stored" /
                      "cascade-lake-2c" / name;
    std::ostringstream warnings;
    record::RunFile run = record::ReadRunFile(path.string(), warnings);
    for (auto& record : run.records) {
      auto& bytes = record.work[Provenance::kModelled].bytes;
      const auto dram = bytes.find(Level::kDram);
      if (dram == bytes.end()) continue;
      const double compulsory = dram->second;
      bytes[Level::kL1] = 24 * compulsory + 64;
      bytes[Level::kL2] = 8 * compulsory + 64;
      bytes[Level::kL3] = 3 * compulsory + 64;
    }
    EXPECT_LE(roofline::ToStoredJson(run).dump().size(), 300000U) << name;
  }
}

TEST(ToStoredJson, LargestStoredRunsTakeAtMost300kBAndAreRead) {
  const auto folder =
      std::filesystem::path(fakes::TestData("../..")) / "baselines" / "stored" / "cascade-lake-2c";
  for (const char* name : {"2026-11-21-conv2d.json", "2026-11-21-lstm.json"}) {
    EXPECT_LE(std::filesystem::file_size(folder / name), 300000U) << name;
    std::ostringstream warnings;
    EXPECT_GT(record::ReadRunFile((folder / name).string(), warnings).records.size(), 70U) << name;
    EXPECT_EQ(warnings.str(), "") << name;
  }
}

}  // namespace
}  // namespace dlroof::text
