#include "reporters/roofline/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/placed_files.h"
#include "tests/fakes/refusal.h"

namespace dlroof::roofline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

PlacedRun RunOf(const std::vector<std::string>& names) {
  PlacedRun run;
  for (const auto& name : names) {
    record::Record record{.name = name};
    record::SplitName(record);
    run.file.records.push_back(record);
    run.places.emplace_back().placement.time = TimePoint();
  }
  return run;
}

TEST(SweepLines, JoinBenchmarksThatDifferInOneParameter) {
  const auto run = RunOf({"Conv2D/cpu/onednn/fwd/f32/n64c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/f32/n16c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/f32/n32c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/bf16/n32c8h9w9k16r3s3_s2p1",
                          "Conv2D/cpu/onednn/fwd/f32/n128c8h9w9k16r3s3_s2p1/cold",
                          "Conv2D/cpu/onednn/fwd/f32/n32c8h9w9k32r3s3_s2p1"});
  const auto batch = SweepLines(run, "batch");
  ASSERT_THAT(batch, SizeIs(1));
  EXPECT_THAT(batch[0].records, ElementsAre(1, 2, 0));
  EXPECT_THAT(batch[0].values, ElementsAre(16, 32, 64));
  EXPECT_EQ(batch[0].series, "onednn fwd f32");
  const auto filters = SweepLines(run, "filters");
  ASSERT_THAT(filters, SizeIs(1));
  EXPECT_THAT(filters[0].records, ElementsAre(2, 5));
  EXPECT_THAT(SweepLines(run, "stride"), IsEmpty());
}

TEST(SweepLines, AllowFollowingKeysToChange) {
  const auto run = RunOf({"Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r3s3_s2p0:1x0:1",
                          "Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r7s7_s2p2:3x2:3",
                          "Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r3s3_p1"});
  EXPECT_THAT(SweepLines(run, "kernel").at(0).values, ElementsAre(3, 7));
  const auto stride = SweepLines(run, "stride");
  ASSERT_THAT(stride, SizeIs(1));
  EXPECT_THAT(stride[0].values, ElementsAre(1, 2)) << "a stride of 1 is omitted";
  EXPECT_THAT(stride[0].records, ElementsAre(2, 0));
}

TEST(SweepLines, PutEqualValuesOnDifferentLines) {
  const auto run = RunOf(
      {"Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r3s3", "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r3s3_p1",
       "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r5s5", "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r5s5_p1"});
  const auto lines = SweepLines(run, "kernel");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0].records, ElementsAre(0, 2));
  EXPECT_THAT(lines[1].records, ElementsAre(1, 3));
}

TEST(SweepLines, UseTheParametersOfEachOp) {
  const auto run = RunOf({"LSTM/cpu/a/fwd/f32/t16n1i8h8", "LSTM/cpu/a/fwd/f32/t16n1i8h16",
                          "LSTM/cpu/a/fwd/f32/t32n1i8h8", "LSTM/cpu/a/fwd/f32/t16n1i8h8bi"});
  EXPECT_THAT(SweepLines(run, "hidden"), SizeIs(1));
  EXPECT_THAT(SweepLines(run, "steps").at(0).values, ElementsAre(16, 32));
  EXPECT_THAT(SweepLines(run, "image"), IsEmpty()) << "h of an LSTM is not an image";
}

TEST(SweepLines, RefuseAnUnknownParameterAndAcceptAnyName) {
  EXPECT_THAT(fakes::RefusalOf([] { SweepLines(RunOf({}), "colour"); }),
              testing::HasSubstr("--sweep colour: no such parameter; there are batch, "));
  EXPECT_THAT(SweepLines(RunOf({"a/b/c/d/e/___x:9"}), "batch"), IsEmpty());
  auto unplaced = RunOf({"LSTM/cpu/a/fwd/f32/t1n1i8h8", "LSTM/cpu/a/fwd/f32/t1n2i8h8"});
  EXPECT_THAT(SweepLines(unplaced, "batch"), SizeIs(1));
  unplaced.places[0].placement.time.reset();
  EXPECT_THAT(SweepLines(unplaced, "batch"), IsEmpty()) << "a line needs two points";
}

TEST(ThreadLines, JoinBenchmarksThatDifferInThreadsPlacedOrNot) {
  auto run = RunOf({"LSTM/cpu/a/fwd/f32/t1n1i8h8/threads2", "LSTM/cpu/a/fwd/f32/t1n1i8h8",
                    "LSTM/cpu/a/fwd/f32/t1n1i8h8/threads1", "LSTM/cpu/a/fwd/f32/t1n2i8h8/threads1",
                    "LSTM/cpu/a/fwd/f32/t1n1i8h8/peephole/threads1"});
  const std::vector<int> threads = {2, 4, 1, 1, 1};
  for (std::size_t i = 0; i < threads.size(); ++i) {
    run.file.records[i].threads = threads[i];
    run.places[i].timing = record::Timing{.median = 1};
    run.places[i].placement.time.reset();
  }
  const auto lines = ThreadLines(run);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0].records, ElementsAre(2, 0, 1));
  EXPECT_THAT(lines[0].values, ElementsAre(1, 2, 4));
  EXPECT_THAT(ThreadLines(run, 1), SizeIs(3));
  run.places[0].timing.reset();
  EXPECT_THAT(ThreadLines(run)[0].values, ElementsAre(1, 4)) << "a record without a time";
}

std::vector<RoofSet> SmallSets() { return RoofSets(fakes::SmallRun().file.machines); }
RoofSet TwoThreads() { return SmallSets().at(0); }

TEST(RoofSets, AreSortedByThreadsAndRate) {
  const auto sets = SmallSets();
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].threads, 2);
  EXPECT_EQ(sets[1].threads, 1);
  EXPECT_EQ(sets[0].machine, "Example CPU, 2 cores");
  ASSERT_EQ(sets[0].flops.size(), 6U);
  EXPECT_EQ(sets[0].flops[0].key, "int8.matrix");
  EXPECT_FALSE(sets[0].flops[0].validated);
  EXPECT_EQ(sets[0].flops[1].key, "bf16.matrix");
  EXPECT_TRUE(sets[0].flops[1].validated);
  ASSERT_EQ(sets[0].bytes.size(), 4U);
  EXPECT_EQ(sets[0].bytes[0].key, "l1");
  EXPECT_EQ(sets[0].bytes[3].key, "dram");
  EXPECT_DOUBLE_EQ(sets[1].bytes[3].per_second, 10e9);
  EXPECT_DOUBLE_EQ(sets[0].launch_seconds.value(), 5e-6);
}

TEST(RoofSets, HaveTheRidgesOfTheirThreads) {
  auto run = fakes::SmallRun();
  fakes::TwoThreadsOf(run).ridges[Level::kDram] = {{0.5, 10e9}, {8, 160e9}};
  const auto sets = RoofSets(run.file.machines);
  EXPECT_THAT(sets.at(0).ridges.at(Level::kDram),
              ElementsAre(machine::RidgePoint{0.5, 10e9}, machine::RidgePoint{8, 160e9}));
  EXPECT_TRUE(sets.at(1).ridges.empty());
  EXPECT_TRUE(RoofSets({}).empty());
}

TEST(SustainedOf, IsALowerRoofIfItWasMeasured) {
  auto run = fakes::SmallRun();
  fakes::TwoThreadsOf(run).flops.at("int8.matrix").sustained_per_second = 2400e9;
  const auto flops = RoofSets(run.file.machines).at(0).flops;
  const auto sustained = SustainedOf(flops.at(0));
  ASSERT_TRUE(sustained.has_value());
  EXPECT_EQ(sustained->key, "int8.matrix");
  EXPECT_DOUBLE_EQ(sustained->per_second, 2400e9);
  EXPECT_FALSE(sustained->validated) << "like the roof itself";
  EXPECT_FALSE(SustainedOf(flops.at(1)).has_value());
}

TEST(MainRoofSet, HasTheMostPlacedRecords) {
  auto run = fakes::SmallRun();
  EXPECT_EQ(MainRoofSet(run, SmallSets()), 0U);
  for (auto& record : run.file.records) record.threads = 1;
  EXPECT_EQ(MainRoofSet(run, SmallSets()), 1U);
  EXPECT_EQ(MainRoofSet(run, {}), std::nullopt);
}

TEST(PipesInUse, HasTheRowThatJudgedInPlaceOfItsPipe) {
  auto run = fakes::SmallRun();
  for (auto& placed : run.places)
    if (auto& time = placed.placement.time) time->compute_roofs["fp32.vector"] = "fp32.vector.avx2";
  EXPECT_THAT(PipesInUse(run, TwoThreads()),
              ElementsAre("bf16.matrix", "fp32.vector.avx2", "int8.matrix"));
}

// Moves the DRAM point of the record's placement to L3, as for a warm call whose tensors fit it.
void MoveToL3(Placed& placed) {
  for (auto& point : placed.placement.classic)
    if (point.level == Level::kDram) point.level = Level::kL3;
}

TEST(ClassicMarks, OfTheMainLevelHaveTheCacheThatHoldsTheTensorsOfAWarmCall) {
  auto run = fakes::SmallRun();
  const auto before = ClassicMarks(run, TwoThreads(), Level::kDram);
  MoveToL3(run.places[0]);
  EXPECT_EQ(ClassicMarks(run, TwoThreads(), Level::kDram).size(), before.size() - 1);
  const auto marks = ClassicMarks(run, TwoThreads(), Level::kDram, true);
  ASSERT_EQ(marks.size(), before.size());
  EXPECT_EQ(marks[0].level, Level::kL3);
  EXPECT_EQ(marks[0].intensity, before[0].intensity);
  EXPECT_EQ(marks[1].level, Level::kDram);
}

TEST(RoofSets, LeaveOutAMeasuredKneeThatFallsWithRisingIntensity) {
  machine::Machine machine{.device = "cpu"};
  auto& ridges = machine.by_threads[1].ridges;
  ridges[Level::kL2] = {{1, 10}, {2, 19}, {4, 18.5}};  // within the noise
  ridges[Level::kDram] = {{1, 10}, {2, 20}, {4, 15}};  // another program
  const auto drawn = RoofSets({machine}).at(0).ridges;
  EXPECT_TRUE(drawn.contains(Level::kL2));
  EXPECT_FALSE(drawn.contains(Level::kDram));
}

TEST(MainLevel, IsThatOfTheTables) {
  auto run = fakes::SmallRun();
  for (auto& placed : run.places) MoveToL3(placed);
  EXPECT_EQ(MainLevel(run, TwoThreads()), Level::kDram);
  auto without = TwoThreads();
  std::erase_if(without.bytes, [](const Roof& roof) { return roof.key == "dram"; });
  EXPECT_EQ(MainLevel(run, without), Level::kL3);
  for (auto& placed : run.places) placed.placement.classic.clear();
  EXPECT_EQ(MainLevel(run, TwoThreads()), std::nullopt);
}

TEST(ClassicMarks, HaveTheNumbersOfTheFile) {
  const auto marks = ClassicMarks(fakes::SmallRun(), TwoThreads(), Level::kDram);
  ASSERT_EQ(marks.size(), 7U);
  for (const auto& mark : marks) EXPECT_EQ(mark.noisy, mark.series == "LSTM bwd f32");
  EXPECT_EQ(marks[0].series, "Conv2D fwd f32");
  // 2*16*64*56*56*64*9 flop = 3699376128 in 23.1211008 ms; 64372736 byte.
  EXPECT_NEAR(marks[0].flops_per_second, 160e9, 1);
  EXPECT_NEAR(marks[0].intensity, 3699376128.0 / 64372736, 1e-6);
  EXPECT_FALSE(marks[0].measured);
  EXPECT_EQ(marks[3].record, 3U);
  EXPECT_TRUE(marks[3].measured);
  EXPECT_FALSE(marks[4].ci95.has_value()) << "its time has no interval";
  EXPECT_EQ(ClassicMarks(fakes::SmallRun(), TwoThreads(), Level::kL2).size(), 1U);
  EXPECT_TRUE(ClassicMarks(fakes::SmallRun(), SmallSets().at(1), Level::kDram).empty());
}

TEST(RateInterval, HasTheLowestRateOfTheSlowestTimeAndNoneIfItIsImpossible) {
  const auto interval = RateInterval({2, {{1.6, 4}}}, 100);  // 200 flop: 200/4 and 200/1.6
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->first, 50);
  EXPECT_DOUBLE_EQ(interval->second, 125);
  for (const record::Timing& timing :
       {record::Timing{2, {}}, record::Timing{2, {{0, 4}}}, record::Timing{2, {{3, 4}}}})
    EXPECT_FALSE(RateInterval(timing, 100).has_value());
}

TEST(TimeMarks, HaveComplexityAndTimePointOnOneDiagonal) {
  const auto marks = TimeMarks(fakes::SmallRun(), TwoThreads(), Level::kDram);
  ASSERT_EQ(marks.size(), 7U);
  EXPECT_TRUE(marks[6].noisy);
  for (const auto& mark : marks) {
    if (!mark.point) continue;
    EXPECT_NEAR(mark.point->first / mark.complexity.first,
                mark.point->second / mark.complexity.second, 1e-6);
  }
  // 4240 flop / 200e9 = 21.2 ns, 10000 byte / 20e9 = 0.5 us; measured 8 us: 16 x its roof.
  EXPECT_NEAR(marks[2].complexity.first, 0.5e-6, 1e-15);
  EXPECT_NEAR(marks[2].complexity.second, 21.2e-9, 1e-15);
  EXPECT_NEAR(marks[2].point->first, 8e-6, 1e-15);
  EXPECT_NEAR(marks[2].point->second, 16 * 21.2e-9, 1e-15);
}

// 10 s measured; L2 binds at 10 / 8 of its roof. Beside L1 only, compute binds (x 5); beside
// DRAM only, DRAM binds (x 2.5).
TEST(TimePlace, ScalesTheLargerCoordinateToTheMeasuredTime) {
  TimePoint time{.seconds = 10, .compute_seconds = 2, .times_over_roof = 1.25};
  time.memory_seconds = {{Level::kL1, 1}, {Level::kL2, 8}, {Level::kDram, 4}};
  EXPECT_EQ(TimePlace(time, Level::kL1), std::pair(5.0, 10.0));
  EXPECT_EQ(TimePlace(time, Level::kL2), std::pair(10.0, 2.5));
  EXPECT_EQ(TimePlace(time, Level::kDram), std::pair(10.0, 5.0));
  EXPECT_EQ(TimePlace(time, Level::kL3), std::nullopt);
  time.not_validated_levels = {Level::kDram};
  EXPECT_EQ(TimePlace(time, Level::kDram), std::pair(10.0, 5.0))
      << "it is truly farther from its roof";
}

TEST(TimeMarks, OfALevelThatDoesNotBindReachTheMeasuredTimeToo) {
  // 1.25 ms; roof times: L2 0.25 ms, compute 0.51380224 ms, DRAM 1 ms.
  const auto marks = TimeMarks(fakes::SmallRun(), TwoThreads(), Level::kL2);
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_NEAR(marks[0].point->second, 1.25e-3, 1e-15);
  EXPECT_NEAR(marks[0].point->first, 1.25e-3 * 0.25 / 0.51380224, 1e-15);
}

TEST(TimeMarks, UnderARoofThatIsNotValidatedAreAtLeastSoFarFromIt) {
  const auto marks = TimeMarks(fakes::SmallRun(), TwoThreads(), Level::kDram);
  EXPECT_EQ(marks[5].series, "Conv2D fwd int8");
  EXPECT_TRUE(marks[5].at_least);
  EXPECT_TRUE(marks[5].point.has_value());
  EXPECT_FALSE(marks[0].at_least);
}

}  // namespace
}  // namespace dlroof::roofline
