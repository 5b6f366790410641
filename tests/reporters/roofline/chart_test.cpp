#include "reporters/roofline/chart.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "reporters/roofline/trajectory.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/trajectory_points.h"

namespace dlroof::roofline {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::SizeIs;

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

TEST(SweepLines, JoinBenchmarksThatDifferInOneParameterAndItsFollowingKeys) {
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
  const auto following = RunOf({"Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r3s3_s2p0:1x0:1",
                                "Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r7s7_s2p2:3x2:3",
                                "Conv2D/cpu/tf/fwd/f32/n1c8h12w12k16r3s3_p1"});
  EXPECT_THAT(SweepLines(following, "kernel").at(0).values, ElementsAre(3, 7));
  const auto stride = SweepLines(following, "stride");
  ASSERT_THAT(stride, SizeIs(1));
  EXPECT_THAT(stride[0].values, ElementsAre(1, 2)) << "a stride of 1 is omitted";
  EXPECT_THAT(stride[0].records, ElementsAre(2, 0));
  const auto equal = RunOf(
      {"Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r3s3", "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r3s3_p1",
       "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r5s5", "Conv2D/cpu/a/fwd/f32/n1c8h12w12k16r5s5_p1"});
  const auto lines = SweepLines(equal, "kernel");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0].records, ElementsAre(0, 2));
  EXPECT_THAT(lines[1].records, ElementsAre(1, 3));
  const auto lstm = RunOf({"LSTM/cpu/a/fwd/f32/t16n1i8h8", "LSTM/cpu/a/fwd/f32/t16n1i8h16",
                           "LSTM/cpu/a/fwd/f32/t32n1i8h8", "LSTM/cpu/a/fwd/f32/t16n1i8h8bi"});
  EXPECT_THAT(SweepLines(lstm, "hidden"), SizeIs(1));
  EXPECT_THAT(SweepLines(lstm, "steps").at(0).values, ElementsAre(16, 32));
  EXPECT_THAT(SweepLines(lstm, "image"), IsEmpty()) << "h of an LSTM is not an image";
}

TEST(SweepLines, RefuseAnUnknownParameterAndAcceptAnyName) {
  EXPECT_THAT(fakes::RefusalOf([] { SweepLines(RunOf({}), "colour"); }),
              HasSubstr("--sweep colour: no such parameter; there are batch, "));
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

TEST(RoofSets, AreSortedByThreadsAndRateWithRidgesThatDoNotFall) {
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
  auto run = fakes::SmallRun();
  fakes::TwoThreadsOf(run).ridges[Level::kDram] = {{0.5, 10e9}, {8, 160e9}};
  const auto ridges = RoofSets(run.file.machines);
  EXPECT_THAT(ridges.at(0).ridges.at(Level::kDram),
              ElementsAre(machine::RidgePoint{0.5, 10e9}, machine::RidgePoint{8, 160e9}));
  EXPECT_TRUE(ridges.at(1).ridges.empty());
  EXPECT_TRUE(RoofSets({}).empty());
  machine::Machine machine{.device = "cpu"};
  auto& falling = machine.by_threads[1].ridges;
  falling[Level::kL2] = {{1, 10}, {2, 19}, {4, 18.5}};  // within the noise
  falling[Level::kDram] = {{1, 10}, {2, 20}, {4, 15}};  // another program
  const auto drawn = RoofSets({machine}).at(0).ridges;
  EXPECT_TRUE(drawn.contains(Level::kL2));
  EXPECT_FALSE(drawn.contains(Level::kDram));
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

TEST(TimeMarks, HaveComplexityAndTimePointOnOneDiagonalAndLimitsByUnprovedRoofs) {
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
  EXPECT_EQ(marks[5].series, "Conv2D fwd int8");
  EXPECT_TRUE(marks[5].at_least);
  EXPECT_TRUE(marks[5].point.has_value());
  EXPECT_FALSE(marks[0].at_least);
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

fakes::PointSpec Point(int threads, double batch, double seconds) {
  return {.threads = threads,
          .seconds = seconds,
          .flops = 100 * batch,
          .flops_rate = 10.0 * threads,
          .bytes_rate = 10.0 * threads,
          .batch = batch};
}

// Batch 1 and 4, each on 1 and 2 threads, unsorted.
PlacedRun Cross() {
  return fakes::RunOf({Point(2, 1, 8), Point(2, 4, 24), Point(1, 4, 48), Point(1, 1, 12)});
}

TEST(Trajectories, AlongTheThreadsAreOnePerProblemAndAlongASizeOnePerNumberOfThreads) {
  const auto found = Trajectories(Cross());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].along, "threads");
  EXPECT_EQ(found[0].name, "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1");
  EXPECT_EQ(found[1].label, "n4c8h8w8k8r1s1");
  EXPECT_EQ(SharedName(found), "Conv2D/cpu/onednn/fwd/f32");
  EXPECT_EQ(found[0].points[0].record, 3u);
  EXPECT_EQ(found[0].points[1].record, 0u);
  // log2(12 / 8) / log2(2).
  const auto step = Trajectories(Cross())[0].steps.at(0);
  EXPECT_DOUBLE_EQ(step.rate_ratio, 1.5);
  EXPECT_NEAR(*step.efficiency, 0.58496, 1e-5);
  const auto points = Trajectories(Cross())[0].points;
  EXPECT_NEAR(points[0].share->value, 10.0 / 12, 1e-6) << "100 flop at 10 flop/s";
  EXPECT_NEAR(points[1].share->value, 5.0 / 8, 1e-6) << "at 20 flop/s";
  EXPECT_DOUBLE_EQ(*points[0].intensity, 5);
  const auto sizes = Trajectories(Cross(), "batch");
  ASSERT_THAT(sizes, SizeIs(2));
  EXPECT_EQ(sizes[0].name, "Conv2D/cpu/onednn/fwd/f32/n*c8h8w8k8r1s1/threads2");
  EXPECT_EQ(sizes[0].points[1].value, 4);
  EXPECT_EQ(ValueText(sizes[0], 4), "batch 4");
  // 400 flop in 24 s over 100 in 8.
  EXPECT_DOUBLE_EQ(sizes[0].steps[0].rate_ratio, 400 / 24.0 / (100 / 8.0));
  EXPECT_FALSE(sizes[0].steps[0].efficiency) << "defined along threads only";
}

// Batch 1 and 2 on 1 and 2 threads, batch 4 and 8 likewise, and one that fits neither.
TEST(Trajectories, WithABatchProportionalToThreadsAreWeakScaling) {
  const auto found = Trajectories(fakes::RunOf({Point(2, 2, 16), Point(1, 4, 40), Point(2, 8, 80),
                                                Point(1, 1, 10), Point(2, 3, 30)}),
                                  "weak");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].along, "threads");
  EXPECT_EQ(found[0].per_thread, 1.0);
  EXPECT_EQ(found[1].per_thread, 4.0);
  EXPECT_EQ(found[0].name, "Conv2D/cpu/onednn/fwd/f32/n*c8h8w8k8r1s1, batch 1 a thread");
  EXPECT_EQ(found[0].points[0].record, 3u);
  EXPECT_EQ(found[0].points[1].record, 0u);
  // 200 flop in 16 s over 100 in 10, on twice the threads.
  EXPECT_DOUBLE_EQ(found[0].steps.at(0).rate_ratio, 200 / 16.0 / (100 / 10.0));
  EXPECT_NEAR(*found[0].steps[0].efficiency, std::log2(1.25), 1e-12);
  EXPECT_DOUBLE_EQ(found[1].steps.at(0).rate_ratio, 1);  // the second thread gives nothing
  EXPECT_FALSE(Trajectories(Cross())[0].per_thread);
}

TEST(Trajectories, OnOneNumberOfThreadsUseTheFirstParameterThatChanges) {
  EXPECT_EQ(Trajectories(fakes::RunOf({Point(2, 1, 8), Point(2, 4, 24)})).at(0).along, "batch");
  EXPECT_THAT(Trajectories(fakes::RunOf({Point(2, 1, 8)})), IsEmpty());
  fakes::ExpectRefused([] { Trajectories(Cross(), "colour"); }, {"no such parameter"});
  auto bare = Point(1, 1, 12);
  bare.no_roofs = true;
  const auto found = Trajectories(fakes::RunOf({bare, Point(2, 1, 8)}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found[0].level);
  EXPECT_FALSE(found[0].points[0].share);
  EXPECT_DOUBLE_EQ(found[0].steps[0].rate_ratio, 1.5);
}

CostFacts RandomFacts(std::mt19937& random) {
  std::uniform_real_distribution<double> some(0.1, 10);
  std::uniform_int_distribution<int> threads(1, 64);
  CostFacts facts{.seconds = some(random), .threads = threads(random), .work = some(random)};
  facts.team = std::uniform_int_distribution<int>(1, facts.threads)(random);
  facts.roof = RoofTime{.arithmetic_seconds = some(random)};
  for (const auto level : {Level::kL2, Level::kDram}) {
    facts.roof->memory_seconds[level] = some(random);
    facts.roof->bytes[level] = some(random);
  }
  facts.breakdown = Breakdown{.seconds = facts.seconds};
  for (const auto kind :
       {ComponentKind::kForkJoin, ComponentKind::kSerial, ComponentKind::kImbalance,
        ComponentKind::kStolen, ComponentKind::kFunctions})
    facts.breakdown->components.push_back({kind, some(random)});
  return facts;
}

TEST(LossOf, IsTheSumOfItsCausesAndAntisymmetric) {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto one = RandomFacts(random), other = RandomFacts(random);
    const auto there = LossOf(one, other), back = LossOf(other, one);
    double sum = 0;
    for (const auto& [cause, change] : there.by) {
      sum += change;
      EXPECT_NEAR(change, -back.by.at(cause), 1e-9 * (there.before + there.after)) << Key(cause);
    }
    EXPECT_NEAR(sum, there.Total(), 1e-9 * (there.before + there.after));
  }
}

TEST(LossOf, AnUnchangedFactorIsNoCauseAndDividesTheRoofByShapleyValues) {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    const auto before = RandomFacts(random);
    auto after = before;
    for (const auto level : {Level::kL2, Level::kDram}) {
      after.roof->bytes[level] *= 3;  // at the same rate
      after.roof->memory_seconds[level] *= 3;
    }
    const auto loss = LossOf(before, after);
    EXPECT_EQ(loss.by.at(Cause::kArithmetic), 0);
    EXPECT_NEAR(loss.by.at(Cause::kBandwidth), 0, 1e-12 * loss.before);
    EXPECT_GE(loss.by.at(Cause::kIntensity), 0);
    EXPECT_EQ(loss.by.at(Cause::kOverhead), 0);
  }
  // max(arithmetic 4, 2 byte x 1 s) becomes max(6, 4 x 3) = 12. The cost after each factor's
  // change, from 4 on, in all orders of A arithmetic, B bytes and R rate: ABR 6 6 12, ARB 6 6 12,
  // BAR 4 6 12, BRA 4 12 12, RAB 6 6 12, RBA 6 12 12.
  CostFacts before{.seconds = 20, .roof = RoofTime{.arithmetic_seconds = 4}};
  before.roof->memory_seconds[Level::kDram] = 2;
  before.roof->bytes[Level::kDram] = 2;
  CostFacts after{.seconds = 28, .roof = RoofTime{.arithmetic_seconds = 6}};
  after.roof->memory_seconds[Level::kDram] = 12;
  after.roof->bytes[Level::kDram] = 4;
  const auto loss = LossOf(before, after);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kArithmetic), (2 + 2 + 2 + 0 + 0 + 0) / 6.0);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kIntensity), (0 + 6 + 0 + 0 + 6 + 6) / 6.0);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kBandwidth), (6 + 0 + 6 + 8 + 2 + 2) / 6.0);
  EXPECT_NEAR(loss.by.at(Cause::kUnexplained), 0, 1e-12);
}

}  // namespace
}  // namespace dlroof::roofline
