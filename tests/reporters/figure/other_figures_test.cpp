// The figures of clusters (nodes, two clusters on one roofline), time breakdowns and trajectories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/figure.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"
#include "tests/fakes/trajectory_points.h"

namespace dlroof::figure {
namespace {

using testing::HasSubstr;
using testing::Not;

roofline::PlacedRun OneRecord() {
  roofline::PlacedRun run;
  run.file.records.push_back({.name = "LSTM/cpu/onednn/fwd'`/f32/t1"});
  roofline::Placed placed;
  placed.timing = record::Timing{.median = 10, .noisy = true};
  placed.breakdown =
      roofline::Breakdown{{{roofline::ComponentKind::kRoof, 4, Provenance::kModelled, "arithmetic"},
                           {roofline::ComponentKind::kForkJoin, 6, Provenance::kMeasured, ""}},
                          10,
                          3};
  run.places.push_back(placed);
  return run;
}

TEST(BreakdownFigure, EachBarBeginsAtTheEndOfTheOneBefore) {
  const auto script = BreakdownScript(OneRecord(), "svg");
  EXPECT_THAT(script, HasSubstr("$bars0 << END\n0 40 1\nEND\n$bars1 << END\n40 100 2\nEND\n"));
  EXPECT_THAT(script, HasSubstr("$bars0 using 1:3:1:2:($3-0.4):($3+0.4) with boxxyerror lc rgb "
                                "'#2c7a4b'"));
  EXPECT_THAT(script, HasSubstr("6.00 s 60.0 %  fork and join of parallel regions (measured)"));
  EXPECT_THAT(script, HasSubstr("~10.0 s"));
}

std::string Script(const roofline::PlacedRun& run) {
  return TrajectoryScript(MakeTrajectoryFigure(run, roofline::Trajectories(run)), "svg");
}

// 200 byte and 100 flop: 0.5 flop/byte; 100 / 22 s, then 100 / 21 s.
TEST(TrajectoryScript, HasArrowsAndTheRoofsOfEachNumberOfThreads) {
  const auto script = Script(fakes::RunOf({fakes::kMemoryOne, fakes::MemoryTwo(20, 200, 10)}));
  EXPECT_THAT(script, HasSubstr("$points0 << EOD\n0.5 4.54545455 0x0072b2\n0.5 5 0x0072b2\nEOD"));
  EXPECT_THAT(script, HasSubstr("$arrows0 << EOD\n0.5 4.54545455 0 0.454545455\nEOD"));
  EXPECT_THAT(script, HasSubstr("with vectors head"));
  EXPECT_THAT(script, HasSubstr("set label '1 thread' at 0.5,4.54"));
  EXPECT_THAT(script, HasSubstr("set label '2 threads' at 0.5,5 "));
  for (const char* roof : {"$roof2_0", "$roof1_0", "$roof2_1", "$roof1_1"})
    EXPECT_THAT(script, HasSubstr(roof));
  EXPECT_THAT(script, HasSubstr("'fp32.vector, 2 threads  20.0 FLOP/s'"));
  EXPECT_THAT(script, HasSubstr("'fp32.vector, 1 thread  10.0 FLOP/s'"));
  EXPECT_THAT(script, HasSubstr("bytes of DRAM; arrows: to more threads"));
}

TEST(TrajectoryScript, NoisyPointsArePale) {
  const auto script =
      Script(fakes::RunOf({fakes::kOne, fakes::With(fakes::Two(9), &fakes::PointSpec::noisy)}));
  EXPECT_THAT(script, HasSubstr("0xaad0e5\n"));
  EXPECT_THAT(script, HasSubstr("pale: noisy"));
}

TEST(WriteDrawing, DrawsEachFormat) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "gnuplot is not installed";
  const TemporaryFolder folder;
  const auto figure = [](const std::string& extension) {
    const auto run = fakes::RunOf({fakes::kOne, fakes::Two(9)});
    return TrajectoryScript(MakeTrajectoryFigure(run, roofline::Trajectories(run)), extension);
  };
  for (const char* name : {"x.svg", "x.pdf", "x.png"}) {
    WriteDrawing(folder / name, figure);
    EXPECT_GT(std::filesystem::file_size(folder / name), 1000u) << name;
  }
  EXPECT_THAT(fakes::RefusalOf([&] { WriteDrawing(folder / "x.txt", figure); }),
              HasSubstr("expected a figure's extension, .svg"));
}

roofline::PlacedRun OnMachine(double seconds, const std::string& machine, double speed) {
  auto run = fakes::RunOf("x", {fakes::Measured("n1", seconds)});
  run.file.machines = {fakes::SmallMachine("2020-01-01T00:00:00Z", speed)};
  run.file.machines[0].name = machine;
  return roofline::PlaceRun(std::move(run.file));
}

// 100 flop of 1 byte: 100 flop/byte; 100 / 4 s on A, 100 / 2 s on B.
TEST(VersusScript, HasTheRoofsOfBothAndAnArrowFromAToB) {
  const auto a = OnMachine(4, "slow", 1), b = OnMachine(2, "fast", 10);
  const auto script = VersusScript(MakeVersusFigure(a, b, {{0, 0}}), "svg");
  EXPECT_THAT(script, HasSubstr("$arrows0 << EOD\n100 25 0 25\nEOD"));
  EXPECT_THAT(script, HasSubstr("$from0 << EOD\n100 25 "));
  EXPECT_THAT(script, HasSubstr("$to0 << EOD\n100 50 "));
  for (const char* roof : {"$roof_a0", "$roof_a1", "$roof_b0", "$roof_b1"})
    EXPECT_THAT(script, HasSubstr(roof));
  EXPECT_THAT(script, HasSubstr("'A: fp32.vector  100 FLOP/s'"));
  EXPECT_THAT(script, HasSubstr("'B: fp32.vector  1.00 kFLOP/s'"));
  EXPECT_THAT(script, HasSubstr("Conv2D f32"));
  EXPECT_THAT(script, HasSubstr("slow"));
  EXPECT_THAT(script, HasSubstr("known on both sides of 1 of 1 operators"));
}

NodeMap Small() {
  return {.nodes = {"n1", "n2"},
          .benchmarks = {"a", "b"},
          .slower = {{1.5, -1.5}, {std::nullopt, 7}},
          .roofs = {{"cpu.dram", {-2, 2}}},
          .caption = "two"};
}

// A row per benchmark, a column per node.
TEST(NodeMapScript, HasTheCellsAndTheRoofs) {
  const auto script = NodeMapScript(Small(), "svg");
  EXPECT_THAT(script, HasSubstr("$cells << EOD\n1.5 -1.5 \nNaN 7 \nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$roofs << EOD\n-0.3 -2\n0.3 2\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("set xtics ('n1' 0, 'n2' 1)"));
  EXPECT_THAT(script, HasSubstr("set ytics ('a' 0, 'b' 1)"));
  EXPECT_THAT(script, HasSubstr("set cbrange [-5:5]"));
  EXPECT_THAT(script, HasSubstr("'\u2265 5 %%' 5)")) << "7 % lies beyond the colours";
  auto within = Small();
  within.slower[1][1] = 4;
  EXPECT_THAT(NodeMapScript(within, "svg"), HasSubstr("'0 %%' 0, '2.5 %%' 2.5, '5 %%' 5)"));
}

TEST(NodeMapScript, ShortensNamesOfBenchmarksSoThatTheyDiffer) {
  auto map = Small();
  const std::string shared(70, 'x');
  map.benchmarks = {"Op/" + shared + "/n1", "Op/" + shared + "/n2"};
  EXPECT_THAT(NodeMapScript(map, "svg"), HasSubstr("set ytics ('Op/\u2026n1' 0, 'Op/\u2026n2' 1)"));
}

TEST(NodeMapScript, LongNamesOfNodesLoseTheirDomainAndTheirBegin) {
  auto map = Small();
  map.nodes = {"n1.cluster.example.org", "compute-rack00-cell1-0002.cluster.example.org"};
  EXPECT_THAT(NodeMapScript(map, "svg"),
              HasSubstr("set xtics ('n1' 0, '\u2026rack00-cell1-0002' 1)"));
  map.nodes = {"n1.a.org", "n2.b.org"};
  EXPECT_THAT(NodeMapScript(map, "svg"), HasSubstr("set xtics ('n1.a.org' 0, 'n2.b.org' 1)"));
}

TEST(Scripts, TextOfAFileIsNeverACommand) {
  const std::string quoted = "'; system('touch owned'); '", lines = "\nEOD\n`touch owned`/";
  auto broken_down = OneRecord();
  broken_down.file.records[0].name = quoted + lines;
  auto a = OnMachine(4, quoted, 1);
  a.file.records[0].library = quoted;
  auto moved = fakes::RunOf({fakes::kOne, fakes::Two(9)});
  moved.file.machines[0].name = quoted;
  for (auto& record : moved.file.records) record.name = lines + record.name;
  auto map = Small();
  map.nodes[0] = map.benchmarks[0] = map.caption = map.roofs[0].first = quoted + lines;
  for (const auto& script :
       {BreakdownScript(broken_down, "svg"), Script(moved), NodeMapScript(map, "svg"),
        VersusScript(MakeVersusFigure(a, OnMachine(2, lines, 1), {{0, 0}}), "svg")}) {
    EXPECT_THAT(script, Not(HasSubstr("system('touch")));
    EXPECT_THAT(script, Not(HasSubstr("`")));
  }
}

TEST(Scripts, WithoutPointsThereIsNothingToDraw) {
  auto run = OneRecord();
  run.places[0].breakdown.reset();
  EXPECT_THROW(BreakdownScript(run, "svg"), BadInput);
  EXPECT_THROW(NodeMapScript({}, "svg"), BadInput);
  const auto moved =
      fakes::RunOf({fakes::WithoutBytes(fakes::kOne), fakes::WithoutBytes(fakes::Two(6))});
  EXPECT_THAT(fakes::RefusalOf([&] { Script(moved); }), HasSubstr("no trajectory has two points"));
  auto a = OnMachine(2, "a", 1);
  a.file.records[0].work[Provenance::kModelled].bytes.clear();
  a = roofline::PlaceRun(std::move(a.file));
  EXPECT_THAT(fakes::RefusalOf([&] {
                MakeVersusFigure(a, a, {{0, 0}});
              }),
              HasSubstr("no operator has FLOPs, bytes and ceilings on both sides"));
}

}  // namespace
}  // namespace dlroof::figure
