#include "reporters/figure/breakdown_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "tests/fakes/refusal.h"
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
  placed.breakdown = breakdown::Breakdown{
      {{breakdown::ComponentKind::kRoof, 4, Provenance::kModelled, "arithmetic"},
       {breakdown::ComponentKind::kForkJoin, 6, Provenance::kMeasured, ""}},
      10,
      3,
      std::nullopt};
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

TEST(BreakdownFigure, TextOfTheFileIsNeverACommand) {
  const auto script = BreakdownScript(OneRecord(), "svg");
  EXPECT_THAT(script, HasSubstr("'LSTM/cpu/onednn/fwd__/f32/t1"));
  EXPECT_EQ(script.find('`'), std::string::npos);
}

TEST(BreakdownFigure, RefusesARunWithoutABreakdown) {
  auto run = OneRecord();
  run.places[0].breakdown.reset();
  EXPECT_THROW(BreakdownScript(run, "svg"), BadInput);
}

std::string Script(const roofline::PlacedRun& run) {
  return TrajectoryScript(MakeTrajectoryFigure(run, trajectory::Trajectories(run)), "svg");
}

// 200 byte and 100 flop: 0.5 flop/byte; 100 / 22 s, then 100 / 21 s.
TEST(TrajectoryScript, HasArrowsAndTheRoofsOfEachNumberOfThreads) {
  const auto script = Script(fakes::RunOf({fakes::kMemoryOne, fakes::MemoryTwo(20, 200, 10)}));
  EXPECT_THAT(script, HasSubstr("$points0 << EOD\n0.5 4.54545455 0x0072b2\n0.5 5 0x0072b2\nEOD"));
  EXPECT_THAT(script, HasSubstr("$arrows0 << EOD\n0.5 4.54545455 0 0.454545455\nEOD"));
  EXPECT_THAT(script, HasSubstr("with vectors head"));
  EXPECT_THAT(script, HasSubstr("set label '1' at 0.5,4.54"));
  EXPECT_THAT(script, HasSubstr("set label '2' at 0.5,5 "));
  for (const char* roof : {"$roof2_0", "$roof1_0", "$roof2_1", "$roof1_1"})
    EXPECT_THAT(script, HasSubstr(roof));
  EXPECT_THAT(script, HasSubstr("'fp32.vector, 2 threads  20.0 FLOP/s'"));
  EXPECT_THAT(script, HasSubstr("'fp32.vector, 1 thread  10.0 FLOP/s'"));
  EXPECT_THAT(script, HasSubstr("bytes of DRAM; numbers: threads"));
}

TEST(TrajectoryScript, NoisyPointsArePale) {
  const auto script =
      Script(fakes::RunOf({fakes::kOne, fakes::With(fakes::Two(9), &fakes::PointSpec::noisy)}));
  EXPECT_THAT(script, HasSubstr("0xaad0e5\n"));
  EXPECT_THAT(script, HasSubstr("pale: noisy"));
}

TEST(TrajectoryScript, TextOfTheFileNeverBecomesACommand) {
  auto run = fakes::RunOf({fakes::kOne, fakes::Two(9)});
  run.file.machines[0].name = "'; system('touch owned'); '";
  for (auto& record : run.file.records) record.name = "\nEOD\n`touch owned`/" + record.name;
  const auto script = Script(run);
  EXPECT_THAT(script, Not(HasSubstr("system('touch")));
  EXPECT_THAT(script, Not(HasSubstr("`touch")));
}

TEST(MakeTrajectoryFigure, WithoutBytesThereIsNothingToDraw) {
  EXPECT_THAT(fakes::RefusalOf([] {
                const auto run = fakes::RunOf(
                    {fakes::WithoutBytes(fakes::kOne), fakes::WithoutBytes(fakes::Two(6))});
                MakeTrajectoryFigure(run, trajectory::Trajectories(run));
              }),
              HasSubstr("no trajectory has two points"));
}

TEST(WriteDrawing, DrawsEachFormat) {
  if (std::system("gnuplot --version > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "gnuplot is not installed";
  const TemporaryFolder folder;
  const auto figure = [](const std::string& extension) {
    const auto run = fakes::RunOf({fakes::kOne, fakes::Two(9)});
    return TrajectoryScript(MakeTrajectoryFigure(run, trajectory::Trajectories(run)), extension);
  };
  for (const char* name : {"x.svg", "x.pdf", "x.png"}) {
    WriteDrawing(folder / name, figure);
    EXPECT_GT(std::filesystem::file_size(folder / name), 1000u) << name;
  }
  EXPECT_THAT(fakes::RefusalOf([&] { WriteDrawing(folder / "x.txt", figure); }),
              HasSubstr("expected a figure's extension, .svg"));
}

}  // namespace
}  // namespace dlroof::figure
