#include "reporters/figure/figure.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/outputs.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_run.h"
#include "tests/fakes/trajectory_points.h"

namespace dlroof::figure {
namespace {

using testing::HasSubstr, testing::Not, testing::StartsWith, testing::ElementsAre, testing::AllOf;

bool HaveGnuplot() { return std::system("gnuplot --version > /dev/null 2>&1") == 0; }

#define NEED_GNUPLOT() \
  if (!HaveGnuplot()) GTEST_SKIP() << "gnuplot is not installed"

// Each of these could become a command in a gnuplot script.
constexpr const char* kHostile[] = {"`touch owned`",
                                    "'; system('touch owned'); '",
                                    "\"\n!touch owned\n",
                                    "\nEOD\nset output 'owned'\n",
                                    "$(touch owned)",
                                    "@owned",
                                    "\\",
                                    "%s%n",
                                    "\xff\xfe"};

TEST(GnuplotText, RemovesCharactersThatEndALiteral) {
  for (const char* hostile : kHostile) {
    const auto text = GnuplotText(hostile);
    EXPECT_THAT(text, StartsWith("'"));
    const auto inside = text.substr(1, text.size() - 2);
    EXPECT_EQ(inside.find_first_of("'\"`\n\r\\$@"), std::string::npos) << text;
  }
  EXPECT_EQ(GnuplotText("Conv2D fwd_bwd f32, 2 µ"), "'Conv2D fwd_bwd f32, 2 µ'");
}

Figure WithFlats(std::vector<roofline::Roof> flats) {
  auto figure = MakeFigure(fakes::SmallRun());
  figure.flats = std::move(flats);
  return figure;
}

// The bf16 and fp16 roofs of an H200 differ by 5 %, its bf16 and fp16 vector roofs by nothing.
TEST(RidgeLabels, NeighboursShareOneLabel) {
  const auto figure = WithFlats({{.key = "a", .per_second = 9.59e12},
                                 {.key = "b", .per_second = 9.08e12},
                                 {.key = "c", .per_second = 1.31e11},
                                 {.key = "d", .per_second = 1.31e11}});
  const auto labels = RidgeLabels(figure, ClassicPanel(figure));
  EXPECT_EQ(fakes::CountOf("set label", labels), 2) << labels;
  fakes::ExpectHas(labels, {"'ridge 454, 480'", "'ridge 6.55'"});
}

// LSTMs whose calls launch 33 and 37 kernels.
TEST(FigureScript, NearOverheadsShareOneLabelAndHasRoofsRidgesAndMarks) {
  auto figure = MakeFigure(fakes::SmallRun());
  ASSERT_GE(figure.time.size(), 2U);
  for (auto& mark : figure.time) mark.overhead_seconds.reset();
  figure.time[0].overhead_seconds = 121e-6;
  figure.time[1].overhead_seconds = 136e-6;
  const auto near = FigureScript(figure, "svg");
  EXPECT_THAT(near, HasSubstr("'overhead 121 µs to 136 µs'"));
  EXPECT_EQ(fakes::CountOf("'overhead ", near), 1);
  figure.time[1].overhead_seconds = 121e-3;
  const auto far = FigureScript(figure, "svg");
  fakes::ExpectHas(far, {"'overhead 121 µs'", "'overhead 121 ms'"});
  const auto script = FigureScript(MakeFigure(fakes::SmallRun()), "svg");
  fakes::ExpectHas(script,
                   {"'fp32.vector  200 GFLOP/s'", "'int8.matrix  3.20 TFLOP/s (not validated)'"});
  EXPECT_EQ(RoofName({.key = "dram", .per_second = 2e10, .specified = true}, "B/s"),
            "DRAM  20.0 GB/s (specified, not measured)");
  fakes::ExpectHas(script, {"'ridge 10.0'", "'overhead 5.00 µs'", "\n57.468058 1.6e+11\n"});
  EXPECT_THAT(script, Not(HasSubstr("avx2"))) << "no benchmark uses that pipe";
}

// 160 of 200 GFLOP/s, which L1's 800 GB/s reach at 0.2 FLOP/byte; 16 of 20 GB/s, which reach
// int8.matrix, the highest roof in use, 3200 GFLOP/s, at 200 FLOP/byte.
TEST(FigureScript, ASustainedRateIsASecondLineWithALabelAndOnlyTheKneesOfDrawnLevelsAreDrawn) {
  auto run = fakes::SmallRun();
  fakes::TwoThreadsOf(run).flops.at("fp32.vector").sustained_per_second = 160e9;
  fakes::TwoThreadsOf(run).bytes.at(Level::kDram).sustained_per_second = 16e9;
  const auto script = FigureScript(MakeFigure(run), "svg");
  fakes::ExpectHas(script,
                   {"$sustained0 << EOD\n0.2 1.6e+11\n1e+09 1.6e+11\n", "$sustained0 with lines",
                    "$sustained1 << EOD\n1e-09 16\n200 3.2e+12\n", "'sustained  160 GFLOP/s'",
                    "'fp32.vector  200 GFLOP/s'", "'DRAM  20.0 GB/s, sustained 16.0 GB/s'"});
  EXPECT_THAT(FigureScript(MakeFigure(fakes::SmallRun()), "svg"), Not(HasSubstr("sustained")));
  run = fakes::SmallRun();
  fakes::TwoThreadsOf(run).ridges = {{Level::kDram, {{0.5, 10e9}, {8, 150e9}}},
                                     {Level::kL2, {{0.25, 90e9}, {1, 190e9}}}};
  FigureOptions options;
  const auto dram = FigureScript(MakeFigure(run, options), "svg");
  fakes::ExpectHas(dram, {"$knee_dram << EOD\n0.5 1e+10\n8 1.5e+11\n",
                          "$knee_dram with linespoints", "thin line with dots: measured knee"});
  fakes::ExpectLacks(dram, {"knee_l2"});
  options.all_levels = true;
  EXPECT_THAT(FigureScript(MakeFigure(run, options), "svg"),
              HasSubstr("$knee_l2 with linespoints"));
  EXPECT_THAT(FigureScript(MakeFigure(fakes::SmallRun()), "svg"), Not(HasSubstr("knee")));
}

TEST(MakeFigure, APlainRoofAboveAJudgingFinerRowIsDrawnToo) {
  auto run = fakes::SmallRun();
  for (auto& placed : run.places)
    if (auto& time = placed.placement.time) time->compute_roofs["fp32.vector"] = "fp32.vector.avx2";
  std::vector<std::string> keys;
  for (const auto& flat : MakeFigure(run).flats) keys.push_back(flat.key);
  EXPECT_THAT(keys, ElementsAre("int8.matrix", "bf16.matrix", "fp32.vector", "fp32.vector.avx2"));
}

TEST(FigureScript, TextOfTheFileNeverBecomesACommand) {
  for (const char* hostile : kHostile) {
    auto run = fakes::SmallRun();
    for (auto& record : run.file.records)
      record.name = record.op = record.direction = record.type = hostile;
    run.file.machines[0].name = hostile;
    run.file.context["date"] = hostile;
    fakes::TwoThreadsOf(run).flops[hostile] = fakes::Validated(1e12);
    run.file.records[0].work[Provenance::kModelled].flops[hostile] = 1;
    const auto figure = MakeFigure(run);
    for (const auto& script : {FigureScript(figure, "svg"), TerminalScript(figure, 80)}) {
      EXPECT_EQ(script.find_first_of("`\\@!"), script.find("\\\n"))
          << "only our own continuation lines";
      EXPECT_THAT(script, Not(HasSubstr("\nset output")));
    }
  }
}

// Three sizes of one problem in two types, counted on two levels.
roofline::PlacedRun SweptRun() {
  auto run = fakes::SmallRun();
  const record::Record like = run.file.records[0];
  const roofline::Placed place = run.places[0];
  run.file.records.clear();
  run.places.clear();
  for (const char* type : {"f32", "f16"})
    for (const int batch : {1, 2, 4}) {
      record::Record& record = run.file.records.emplace_back(like);
      record.type = type;
      record.problem = "n" + std::to_string(batch) + "c8h8w8k8r3s3";
      record.name = "Conv2D/cpu/onednn/fwd/" + record.type + "/" + record.problem;
      auto& points = run.places.emplace_back(place).placement.classic;
      points[0].flops_from = points[0].bytes_from = Provenance::kMeasured;
      points[0].intensity = 10.0 * batch;
      points.push_back(points[0]);
      points[1].level = Level::kL2;
      points[1].intensity = 2.0 * batch;
    }
  return run;
}

TEST(FigureScript, ASweepIsJoinedInItsOrderHollowAndFilledByTypeAndANoisyMarkIsPale) {
  FigureOptions options{.sweep = "batch"};
  const auto figure = MakeFigure(SweptRun(), options);
  EXPECT_EQ(figure.lines.size(), 2U);
  auto script = FigureScript(figure, "svg");
  fakes::ExpectHas(script, {"title 'batch 2'", "hollow: f32, filled: f16"});
  // Circle, square, triangle: hollow types are even, filled ones follow.
  fakes::ExpectHas(script, {"$classicline0 << EOD\n10 1.6e+11 6 0x0072b2\n20 1.6e+11 4 0x0072b2\n"
                            "40 1.6e+11 10 0x0072b2\nEOD",
                            "$classicline1 << EOD\n10 1.6e+11 7 0x0072b2\n20 1.6e+11 5 0x0072b2\n"
                            "40 1.6e+11 11 0x0072b2\nEOD"});
  options.sweep = "stride";
  EXPECT_THROW(MakeFigure(SweptRun(), options), BadInput) << "nothing differs in its stride";
  // A third of #009e73 on white: 170 + 0, 170 + 158 / 3, 170 + 115 / 3.
  script = FigureScript(MakeFigure(fakes::SmallRun(), {}), "svg");
  fakes::ExpectHas(script,
                   {"pale: noisy (estimate)", "lc rgb '#b5468f' title 'LSTM fwd_inference f32'",
                    "lc rgb '#aaded0' title 'LSTM bwd f32'"});
  auto quiet = fakes::SmallRun();
  quiet.places[10] = {};
  EXPECT_THAT(FigureScript(MakeFigure(quiet, {}), "svg"), Not(HasSubstr("pale")));
}

TEST(FigureScript, EveryLevelIsAPointAndArrowsLeadFromTheOlderFile) {
  FigureOptions options{.all_levels = true};
  const auto figure = MakeFigure(SweptRun(), options);
  EXPECT_EQ(figure.classic.size(), 12U);
  const auto script = FigureScript(figure, "svg");
  fakes::ExpectHas(script,
                   {"title 'L2'", "title 'DRAM'", "$joints << EOD\n2 1.6e+11\n10 1.6e+11\n\n"});
  options.all_levels = false;
  options.level = Level::kL3;
  EXPECT_THROW(MakeFigure(SweptRun(), options), BadInput) << "no point of that level";
  auto before = SweptRun();
  for (auto& placed : before.places) placed.placement.classic[0].flops_per_second = 4e10;
  before.file.records.pop_back();
  before.places.pop_back();
  const auto moved = MakeFigure(SweptRun(), {.before = &before});
  EXPECT_EQ(moved.classic_moves.size(), 5U);
  EXPECT_THAT(FigureScript(moved, "svg"), HasSubstr("\n10 4e+10 0 1.2e+11\n"));
  EXPECT_THAT(moved.caption, HasSubstr("arrows: from the older run"));
  EXPECT_THAT(moved.caption, Not(HasSubstr("without")));
  before.file.records.front().threads = 7;
  EXPECT_THAT(MakeFigure(before).caption, HasSubstr(", without 1 of other devices or threads"));
  const auto one = FigureScript(MakeFigure(SweptRun()), "svg");
  fakes::ExpectHas(one, {"set x2label 'DRAM bytes'", "set y2label 'FLOPs at the fp32.vector roof'",
                         "'10.0 FLOP/byte'"});
  // Several compute roofs: seconds are FLOPs of none of them.
  EXPECT_THAT(FigureScript(MakeFigure(fakes::SmallRun()), "svg"), Not(HasSubstr("y2label")));
}

const Outputs<roofline::PlacedRun, FigureOptions> kDrawings({}, [](const auto& run,
                                                                   const auto& options,
                                                                   const std::string& extension) {
  return FigureScript(MakeFigure(run, options), extension);
});

TEST(Outputs, DrawSweepsLevelsArrowsAndThinRoofs) {
  NEED_GNUPLOT();
  const auto run = SweptRun();
  const TemporaryFolder folder;
  const auto path = folder / "figure.svg";
  auto thin = run;
  auto& set = fakes::TwoThreadsOf(thin);
  set.flops.at("fp32.vector").sustained_per_second = 160e9;
  set.ridges = {{Level::kDram, {{0.5, 10e9}, {8, 150e9}}}};
  for (const auto& options :
       {FigureOptions{.sweep = "batch"}, {.all_levels = true}, {.before = &run}}) {
    kDrawings.Write({path}, thin, options);
    EXPECT_GT(std::filesystem::file_size(path), 5000U);
  }
}

TEST(Outputs, DrawEveryFormatAndRunNothingAndRefuseWhatCannotBeDrawn) {
  NEED_GNUPLOT();
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder / ".");
  for (const auto& [name, start] :
       {std::pair("x.svg", "<?xml"), std::pair("x.pdf", "%PDF"), std::pair("x.png", "\x89PNG")}) {
    kDrawings.Write({name}, fakes::SmallRun(), {});
    const auto text = ReadFile(name, "a picture");
    EXPECT_THAT(text, StartsWith(start));
    EXPECT_GT(text.size(), 5000U) << name;
  }
  EXPECT_FALSE(std::filesystem::exists("owned"));
  EXPECT_FALSE(std::filesystem::exists("pwned"));
  std::filesystem::current_path(before);
  EXPECT_THROW(kDrawings.Check({"x.svg", "x.jpeg"}), BadInput);
  EXPECT_THROW(kDrawings.Check({"folder.svg/x"}), BadInput);
  EXPECT_THROW(kDrawings.Write({"x.svg"}, roofline::PlacedRun(), {}), BadInput);
  auto run = fakes::SmallRun();
  run.file.records.clear();
  run.places.clear();
  EXPECT_THROW(kDrawings.Write({"x.svg"}, run, {}), BadInput);
  EXPECT_THROW(kDrawings.Write({"/nowhere/x.svg"}, fakes::SmallRun(), {}), BadInput);
}

TEST(Outputs, ATextIsThatOfTheExtensionAndAnUnknownOneIsRefusedWithTheKnownOnes) {
  const Outputs<int> outputs(
      {{"txt",
        [](int of, const std::string& extension) { return extension + std::to_string(of); }}},
      nullptr);
  const TemporaryFolder folder;
  outputs.Write({folder / "x.txt"}, 3);
  EXPECT_EQ(ReadFile(folder / "x.txt", "a text"), "txt3");
  EXPECT_EQ(fakes::RefusalOf([&] { outputs.Check({"x.doc"}); }),
            "-o x.doc: unknown extension, expected .txt, .svg, .pdf or .png");
}

TEST(RunGnuplot, AnErrorIsOneSentence) {
  NEED_GNUPLOT();
  EXPECT_THAT(fakes::RefusalOf([] { RunGnuplot("plot nonsense with nothing\n"); }),
              AllOf(StartsWith("gnuplot failed: "), Not(HasSubstr("\n"))));
}

TEST(TerminalPicture, HasALetterPerSeriesAndItsLegend) {
  NEED_GNUPLOT();
  const auto picture = TerminalPicture(fakes::SmallRun(), 100);
  fakes::ExpectHas(picture, {"fp32.vector  200 GFLOP/s", "\n  Conv2D  A bwd_weights bf16 (1)  B ",
                             "  E fwd_inference f32 (2)", "...."});
}

// The figures of clusters (nodes, two clusters on one roofline), time breakdowns and trajectories.

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
  fakes::ExpectHas(script,
                   {"$bars0 << EOD\n0 40 1\nEOD\n$bars1 << EOD\n40 100 2\nEOD\n",
                    "$bars0 using 1:3:1:2:($3-0.4):($3+0.4) with boxxyerror lc rgb "
                    "'#2c7a4b'",
                    "6.00 s 60.0 %  fork and join of parallel regions (measured)", "~10.0 s"});
}

std::string Script(const roofline::PlacedRun& run) {
  return TrajectoryScript(MakeTrajectoryFigure(run, roofline::Trajectories(run)), "svg");
}

// 200 byte and 100 flop: 0.5 flop/byte; 100 / 22 s, then 100 / 21 s.
TEST(TrajectoryScript, HasArrowsTheRoofsOfEachNumberOfThreadsAndPaleNoisyPoints) {
  const auto script = Script(fakes::RunOf({fakes::kMemoryOne, fakes::MemoryTwo(20, 200, 10)}));
  fakes::ExpectHas(
      script, {"$points0 << EOD\n0.5 4.54545455 0x0072b2\n0.5 5 0x0072b2\nEOD",
               "$arrows0 << EOD\n0.5 4.54545455 0 0.454545455\nEOD", "with vectors head",
               "set label '1 thread' at 0.5,4.54", "set label '2 threads' at 0.5,5 ", "$roof2_0",
               "$roof1_0", "$roof2_1", "$roof1_1", "'fp32.vector, 2 threads  20.0 FLOP/s'",
               "'fp32.vector, 1 thread  10.0 FLOP/s'", "bytes of DRAM; arrows: to more threads"});
  const auto pale =
      Script(fakes::RunOf({fakes::kOne, fakes::With(fakes::Two(9), &fakes::PointSpec::noisy)}));
  fakes::ExpectHas(pale, {"0xaad0e5\n", "pale: noisy"});
}

TEST(TrajectoryScript, IsDrawn) {
  NEED_GNUPLOT();
  const auto run = fakes::RunOf({fakes::kOne, fakes::Two(9)});
  const auto figure = MakeTrajectoryFigure(run, roofline::Trajectories(run));
  for (const char* extension : {"svg", "pdf", "png"})
    EXPECT_GT(RunGnuplot(TrajectoryScript(figure, extension)).size(), 1000U) << extension;
}

roofline::PlacedRun OnMachine(double seconds, const std::string& machine, double speed) {
  auto run = fakes::RunOf("x", {fakes::Measured("n1", seconds)});
  run.file.machines = {fakes::SmallMachine("2020-01-01T00:00:00Z", speed)};
  run.file.machines[0].name = machine;
  return roofline::PlaceRun(std::move(run.file));
}

// 100 flop and 1 byte: 100 flop/byte; 100 / 4 s on A, 100 / 2 s on B.
TEST(VersusScript, HasTheRoofsOfBothAndAnArrowFromAToB) {
  const auto a = OnMachine(4, "slow", 1), b = OnMachine(2, "fast", 10);
  const auto script = VersusScript(MakeVersusFigure(a, b, {{0, 0}}), "svg");
  fakes::ExpectHas(script, {"$arrows0 << EOD\n100 25 0 25\nEOD", "$from0 << EOD\n100 25 ",
                            "$to0 << EOD\n100 50 ", "$roof_a0", "$roof_a1", "$roof_b0", "$roof_b1",
                            "'A: fp32.vector  100 FLOP/s'", "'B: fp32.vector  1.00 kFLOP/s'",
                            "Conv2D f32", "slow", "known on both sides of 1 of 1 operators"});
}

NodeMap Small() {
  return {.nodes = {"n1", "n2"},
          .benchmarks = {"a", "b"},
          .slower = {{1.5, -1.5}, {std::nullopt, 7}},
          .roofs = {{"cpu.dram", {-2, 2}}},
          .caption = "two"};
}

// A row per benchmark, a column per node.
TEST(NodeMapScript, HasTheCellsAndTheRoofsAndShortensNamesSoThatTheyDiffer) {
  const auto script = NodeMapScript(Small(), "svg");
  fakes::ExpectHas(
      script, {"$cells << EOD\n1.5 -1.5 \nNaN 7 \nEOD\n", "$roofs << EOD\n-0.3 -2\n0.3 2\nEOD\n",
               "set xtics ('n1' 0, 'n2' 1)", "set ytics ('a' 0, 'b' 1)", "set cbrange [-5:5]"});
  EXPECT_THAT(script, HasSubstr("'\u2265 5 %%' 5)")) << "7 % lies beyond the colours";
  auto within = Small();
  within.slower[1][1] = 4;
  EXPECT_THAT(NodeMapScript(within, "svg"), HasSubstr("'0 %%' 0, '2.5 %%' 2.5, '5 %%' 5)"));
  auto map = Small();
  const std::string shared(70, 'x');
  map.benchmarks = {"Op/" + shared + "/n1", "Op/" + shared + "/n2"};
  EXPECT_THAT(NodeMapScript(map, "svg"), HasSubstr("set ytics ('Op/\u2026n1' 0, 'Op/\u2026n2' 1)"));
  auto long_map = Small();
  long_map.nodes = {"n1.cluster.example.org", "compute-rack00-cell1-0002.cluster.example.org"};
  EXPECT_THAT(NodeMapScript(long_map, "svg"),
              HasSubstr("set xtics ('n1' 0, '\u2026rack00-cell1-0002' 1)"));
  long_map.nodes = {"n1.a.org", "n2.b.org"};
  EXPECT_THAT(NodeMapScript(long_map, "svg"), HasSubstr("set xtics ('n1.a.org' 0, 'n2.b.org' 1)"));
}

TEST(Scripts, TextOfAFileIsNeverACommandAndWithoutPointsThereIsNothingToDraw) {
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
    fakes::ExpectLacks(script, {"system('touch", "`"});
  }
  auto run = OneRecord();
  run.places[0].breakdown.reset();
  EXPECT_THROW(BreakdownScript(run, "svg"), BadInput);
  EXPECT_THROW(NodeMapScript({}, "svg"), BadInput);
  auto same = OnMachine(2, "a", 1);
  same.file.records[0].work[Provenance::kModelled].bytes.clear();
  same = roofline::PlaceRun(std::move(same.file));
  EXPECT_THAT(fakes::RefusalOf([&] {
                MakeVersusFigure(same, same, {{0, 0}});
              }),
              HasSubstr("no operator has FLOPs, bytes and ceilings on both sides"));
}

}  // namespace
}  // namespace dlroof::figure
