#include "reporters/roofline/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/placed_files.h"

namespace dlroof::roofline {
namespace {

using testing::ElementsAre;

std::vector<RoofSet> SmallSets() { return RoofSets(fakes::SmallRun().file.machines); }
RoofSet TwoThreads() { return SmallSets().at(0); }

TEST(RoofSets, OnePerThreadCountMostFirstBestPipeFirst) {
  const auto sets = SmallSets();
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].threads, 2);
  EXPECT_EQ(sets[1].threads, 1);
  EXPECT_EQ(sets[0].machine, "Example CPU, 2 cores");
  ASSERT_EQ(sets[0].flops.size(), 6U);
  EXPECT_EQ(sets[0].flops[0].key, "int8.matrix");
  EXPECT_FALSE(sets[0].flops[0].proved);
  EXPECT_EQ(sets[0].flops[1].key, "bf16.matrix");
  EXPECT_TRUE(sets[0].flops[1].proved);
  ASSERT_EQ(sets[0].bytes.size(), 4U);
  EXPECT_EQ(sets[0].bytes[0].key, "l1");
  EXPECT_EQ(sets[0].bytes[3].key, "dram");
  EXPECT_DOUBLE_EQ(sets[1].bytes[3].per_second, 10e9);
  EXPECT_DOUBLE_EQ(sets[0].launch_seconds.value(), 5e-6);
}

TEST(RoofSets, MeasuredRidgesAreThoseOfTheirThreads) {
  auto run = fakes::SmallRun();
  fakes::TwoThreadsOf(run).ridges[Level::kDram] = {{0.5, 10e9}, {8, 160e9}};
  const auto sets = RoofSets(run.file.machines);
  EXPECT_THAT(sets.at(0).ridges.at(Level::kDram),
              ElementsAre(machine::RidgePoint{0.5, 10e9}, machine::RidgePoint{8, 160e9}));
  EXPECT_TRUE(sets.at(1).ridges.empty());
  EXPECT_TRUE(RoofSets({}).empty());
}

TEST(SustainedOf, IsARoofBelowItsOwnWhereItWasMeasured) {
  auto run = fakes::SmallRun();
  fakes::TwoThreadsOf(run).flops.at("int8.matrix").sustained_per_second = 2400e9;
  const auto flops = RoofSets(run.file.machines).at(0).flops;
  const auto sustained = SustainedOf(flops.at(0));
  ASSERT_TRUE(sustained.has_value());
  EXPECT_EQ(sustained->key, "int8.matrix");
  EXPECT_DOUBLE_EQ(sustained->per_second, 2400e9);
  EXPECT_FALSE(sustained->proved) << "as little as the roof itself";
  EXPECT_FALSE(SustainedOf(flops.at(1)).has_value());
}

TEST(MainRoofSet, IsTheOneThatMostPlacedRecordsRestOn) {
  auto run = fakes::SmallRun();
  EXPECT_EQ(MainRoofSet(run, SmallSets()), 0U);
  for (auto& record : run.file.records) record.threads = 1;
  EXPECT_EQ(MainRoofSet(run, SmallSets()), 1U);
  EXPECT_EQ(MainRoofSet(run, {}), std::nullopt);
}

TEST(PipesInUse, CountsPlacedRecordsOnly) {
  EXPECT_THAT(PipesInUse(fakes::SmallRun(), TwoThreads()),
              ElementsAre("bf16.matrix", "fp32.vector", "int8.matrix"));
}

TEST(PipesInUse, ARowThatJudgedStandsForItsPipe) {
  auto run = fakes::SmallRun();
  for (auto& placed : run.places)
    if (auto& time = placed.placement.time) time->compute_roofs["fp32.vector"] = "fp32.vector.avx2";
  EXPECT_THAT(PipesInUse(run, TwoThreads()),
              ElementsAre("bf16.matrix", "fp32.vector.avx2", "int8.matrix"));
}

TEST(IsFinerPipe, HasMoreThanTypeAndUnit) {
  EXPECT_TRUE(IsFinerPipe("fp32.vector.avx2"));
  EXPECT_FALSE(IsFinerPipe("fp32.vector"));
}

TEST(RidgeIntensity, IsWhereBothRoofsAreEqual) {
  // 200e9 flop/s / 20e9 byte/s
  EXPECT_DOUBLE_EQ(RidgeIntensity({"fp32.vector", 200e9, true}, {"dram", 20e9, true}), 10);
}

TEST(MainLevel, IsTheOneThatMostRecordsKnow) {
  auto run = fakes::SmallRun();
  EXPECT_EQ(MainLevel(run, TwoThreads()), Level::kDram);
  for (auto& placed : run.places) placed.placement.classic.clear();
  EXPECT_EQ(MainLevel(run, TwoThreads()), std::nullopt);
}

TEST(ClassicMarks, TakeTheNumbersOfTheFile) {
  const auto marks = ClassicMarks(fakes::SmallRun(), TwoThreads(), Level::kDram);
  ASSERT_EQ(marks.size(), 7U);
  for (const auto& mark : marks) EXPECT_EQ(mark.disturbed, mark.series == "LSTM bwd f32");
  EXPECT_EQ(marks[0].series, "Conv2D fwd f32");
  // 2*16*64*56*56*64*9 flop = 3699376128 in 23.1211008 ms; 64372736 byte.
  EXPECT_NEAR(marks[0].flops_per_second, 160e9, 1);
  EXPECT_NEAR(marks[0].intensity, 3699376128.0 / 64372736, 1e-6);
  EXPECT_FALSE(marks[0].measured);
  EXPECT_EQ(marks[3].record, 3U);
  EXPECT_TRUE(marks[3].measured);
  EXPECT_FALSE(marks[4].ci95.has_value()) << "its time has no interval";
  ASSERT_EQ(ClassicMarks(fakes::SmallRun(), TwoThreads(), Level::kL2).size(), 1U);
}

TEST(ClassicMarks, ABenchmarkOfOtherThreadsIsNotOnTheseRoofs) {
  const auto sets = SmallSets();
  EXPECT_TRUE(ClassicMarks(fakes::SmallRun(), sets.at(1), Level::kDram).empty());
}

TEST(RateInterval, SlowestTimeGivesLowestRate) {
  const auto interval = RateInterval({2, {{1.6, 4}}}, 100);  // 200 flop: 200/4 and 200/1.6
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->first, 50);
  EXPECT_DOUBLE_EQ(interval->second, 125);
}

TEST(RateInterval, AnIntervalThatCannotBeIsNone) {
  for (const record::Timing& timing : {record::Timing{2, {}}, record::Timing{2, {{0, 4}}}, record::Timing{2, {{3, 4}}}})
    EXPECT_FALSE(RateInterval(timing, 100).has_value());
}

TEST(TimeMarks, ComplexityAndTimeLieOnOneDiagonal) {
  const auto marks = TimeMarks(fakes::SmallRun(), TwoThreads(), Level::kDram);
  ASSERT_EQ(marks.size(), 7U);
  EXPECT_TRUE(marks[6].disturbed);
  for (const auto& mark : marks) {
    if (!mark.point) continue;
    EXPECT_NEAR(mark.point->first / mark.complexity.first,
                mark.point->second / mark.complexity.second, 1e-6);
  }
  // 4240 flop / 200e9 = 21.2 ns, 10000 byte / 20e9 = 0.5 us; measured 8 us, so the gap is 16.
  EXPECT_NEAR(marks[2].complexity.first, 0.5e-6, 1e-15);
  EXPECT_NEAR(marks[2].complexity.second, 21.2e-9, 1e-15);
  EXPECT_NEAR(marks[2].point->first, 8e-6, 1e-15);
  EXPECT_NEAR(marks[2].point->second, 16 * 21.2e-9, 1e-15);
}

// 10 s measured; L2 binds: 10 / 8 is the gap. Alone, L1 leaves compute to bind (x 5), DRAM (x 2.5).
TEST(TimePlace, TheLargerCoordinateIsTheMeasuredTimeWhateverLevelBinds) {
  TimePoint time{.seconds = 10, .compute_seconds = 2, .gap = 1.25};
  time.memory_seconds = {{Level::kL1, 1}, {Level::kL2, 8}, {Level::kDram, 4}};
  EXPECT_EQ(TimePlace(time, Level::kL1), std::pair(5.0, 10.0));
  EXPECT_EQ(TimePlace(time, Level::kL2), std::pair(10.0, 2.5));
  EXPECT_EQ(TimePlace(time, Level::kDram), std::pair(10.0, 5.0));
  EXPECT_EQ(TimePlace(time, Level::kL3), std::nullopt);
  time.unproved_levels = {Level::kDram};
  EXPECT_EQ(TimePlace(time, Level::kDram), std::nullopt) << "DRAM's roof may be wrong";
  EXPECT_EQ(TimePlace(time, Level::kL2), std::pair(10.0, 2.5));
  time.gap.reset();
  EXPECT_EQ(TimePlace(time, Level::kL2), std::nullopt);
}

TEST(TimeMarks, ARecordBoundByDramReachesItsTimeInTheViewOfL2Too) {
  // 1.25 ms; roof times: L2 0.25 ms, compute 0.51380224 ms, DRAM 1 ms.
  const auto marks = TimeMarks(fakes::SmallRun(), TwoThreads(), Level::kL2);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_NEAR(marks[0].point->second, 1.25e-3, 1e-15);
  EXPECT_NEAR(marks[0].point->first, 1.25e-3 * 0.25 / 0.51380224, 1e-15);
}

TEST(TimeMarks, WithoutProofThereIsNoTimePoint) {
  const auto marks = TimeMarks(fakes::SmallRun(), TwoThreads(), Level::kDram);
  EXPECT_EQ(marks[5].series, "Conv2D fwd int8");
  EXPECT_FALSE(marks[5].point.has_value());
}

}  // namespace
}  // namespace dlroof::roofline
