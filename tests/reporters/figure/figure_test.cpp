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

TEST(MakeFigure, ASweepIsJoinedInItsOrderEveryLevelIsAPointAndArrowsLeadFromTheOlderFile) {
  FigureOptions options{.sweep = "batch"};
  const auto swept = MakeFigure(SweptRun(), options);
  EXPECT_EQ(swept.lines.size(), 2U);
  EXPECT_THAT(FigureScript(swept, "svg"),
              HasSubstr("$classicline0 << EOD\n10 1.6e+11 6 0x0072b2\n20 1.6e+11 4 0x0072b2\n"
                        "40 1.6e+11 10 0x0072b2\nEOD"));
  options.sweep = "stride";
  EXPECT_THROW(MakeFigure(SweptRun(), options), BadInput) << "nothing differs in its stride";
  EXPECT_EQ(MakeFigure(SweptRun(), {.all_levels = true}).classic.size(), 12U);
  options = {.level = Level::kL3};
  EXPECT_THROW(MakeFigure(SweptRun(), options), BadInput) << "no point of that level";
  auto before = SweptRun();
  for (auto& placed : before.places) placed.placement.classic[0].flops_per_second = 4e10;
  before.file.records.pop_back();
  before.places.pop_back();
  const auto moved = MakeFigure(SweptRun(), {.before = &before});
  EXPECT_EQ(moved.classic_moves.size(), 5U);
  EXPECT_THAT(FigureScript(moved, "svg"), HasSubstr("\n10 4e+10 0 1.2e+11\n"));
  before.file.records.front().threads = 7;
  EXPECT_THAT(MakeFigure(before).caption, HasSubstr(", without 1 of other devices or threads"));
}

const Outputs<roofline::PlacedRun, FigureOptions> kDrawings({}, [](const auto& run,
                                                                   const auto& options,
                                                                   const std::string& extension) {
  return FigureScript(MakeFigure(run, options), extension);
});

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

std::string Script(const roofline::PlacedRun& run) {
  return TrajectoryScript(MakeTrajectoryFigure(run, roofline::Trajectories(run)), "svg");
}

roofline::PlacedRun OnMachine(double seconds, const std::string& machine, double speed) {
  auto run = fakes::RunOf("x", {fakes::Measured("n1", seconds)});
  run.file.machines = {fakes::SmallMachine("2020-01-01T00:00:00Z", speed)};
  run.file.machines[0].name = machine;
  return roofline::PlaceRun(std::move(run.file));
}

NodeMap Small() {
  return {.nodes = {"n1", "n2"},
          .benchmarks = {"a", "b"},
          .slower = {{1.5, -1.5}, {std::nullopt, 7}},
          .roofs = {{"cpu.dram", {-2, 2}}},
          .caption = "two"};
}

TEST(NodeMapScript, ShortensNamesSoThatTheyDiffer) {
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
