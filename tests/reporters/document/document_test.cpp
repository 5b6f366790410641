#include "reporters/document/document.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

#include "ceilings/machine/machine.h"
#include "reporters/document/tables.h"
#include "reporters/record/record.h"
#include "reporters/text/text.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/run_files.h"
#include "tests/fakes/trajectory_points.h"
#include "tests/test_data.h"

namespace dlroof::document {
namespace {

using fakes::Written;
using testing::AllOf, testing::AnyOf, testing::EndsWith, testing::HasSubstr, testing::Not,
    testing::StartsWith;

TEST(Tenths, AddUpToOneHundredPercent) {
  EXPECT_EQ(Tenths({1, 1, 1}), (std::vector<int>{334, 333, 333}));
  EXPECT_EQ(Tenths({5}), std::vector<int>{1000});
  for (const double odd : {0.0, -1.0, HUGE_VAL, std::nan("")})
    EXPECT_EQ(Tenths({0, odd}), (std::vector<int>{0, 0})) << odd;
  EXPECT_EQ(TenthsText(1000), "100.0 %");
  EXPECT_EQ(TenthsText(7), "0.7 %");
  std::mt19937 random(1);
  std::lognormal_distribution<double> seconds(-8, 3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values(1 + random() % 40);
    for (auto& value : values) value = seconds(random);
    const auto tenths = Tenths(values);
    EXPECT_EQ(std::accumulate(tenths.begin(), tenths.end(), 0), 1000);
  }
}

TEST(Document, LeavesOutBlocksWithoutContent) {
  Document document;
  document.Add(Sentences{});
  document.Add(Table{.columns = {"a"}});
  document.Add(Bar{"a step", {{PartKind::kRoof, "roof", 0}}});
  document.Add(Strip{});
  EXPECT_TRUE(document.blocks.empty());
}

TEST(Write, ATableHasFirstRowsASummaryAndLastRowsAndABarsSharesAddUp) {
  Document document;
  Table table{.columns = {"kernel", "time"},
              .rows = {{{"a…z", "abcz"}, {"2 s"}}, {{"b\x1b"}, {"1 s"}}, {{"c"}, {"3 s"}}},
              .first = 2,
              .rest = {{"1 other"}, {"3 s"}},
              .last = {{{"idle"}, {"4 s"}}},
              .notes = {"times are sums"}};
  document.Add(table);
  EXPECT_EQ(Written(document),
            "kernel   time\na…z       2 s\nb\\x1B     1 s\n1 other   3 s\nidle      4 s\n"
            "  times are sums\n");
  table.first = 0;
  EXPECT_EQ(Written({{table}}),
            "kernel  time\na…z      2 s\nb\\x1B    1 s\nc        3 s\nidle     4 s\n"
            "  times are sums\n");
  Document bars;
  bars.Say("app");
  bars.Add(Bar{"a step: 4 s", {{PartKind::kRoof, "roofs", 1}, {PartKind::kIdle, "idle", 3}}});
  bars.Say("end");
  EXPECT_EQ(Written(bars),
            "app\n\na step: 4 s\n"
            "  |##########                              |    1.00 s  25.0 %  roofs\n"
            "  |          ##############################|    3.00 s  75.0 %  idle\n"
            "\nend\n");
}

TEST(Write, AStripShowsWhatEachColumnIsBusyWithAndAListItsDetails) {
  Document document;
  const auto copies = PartKind::kZeroFlop;
  document.Add(Strip{"streams",
                     60,
                     {{"7", {{0, 2}, {3.5, 4}, {4, 6, copies}, {6, 8, PartKind::kRoof, "k", 0.2}}},
                      {"long", {{59, 60}}}}});
  EXPECT_EQ(Written(document),
            "streams (# busy, + a quarter of the time or more, - less, c copies, . idle)\n"
            "  7    |##.+cc--" +
                std::string(52, '.') + "|\n  long |" + std::string(59, '.') + "#|\n");
  const Document lists{{List{"remarks", {{"a", {"why", "where"}}, {"b"}}},
                        List{"differs", {{"c"}, {"d"}}, true},
                        Sentences{.texts = {"e", "f", "g"}, .first = 1}}};
  EXPECT_EQ(Written(lists),
            "remarks\n  a\n    why\n    where\n  b\n\ndiffers\n  1  c\n  2  d\n\n"
            "e\nand 2 more (--verbose)\n");
}

TEST(Write, ANarrowTerminalDropsColumnsThenCutsTheSentenceAlsoOfWideCharacters) {
  const Document document{
      {Table{.columns = {"", "rate", "clock", "spread", "reason"},
             .rows = {{"a", "1 GB/s", "2 GHz", "0.4 %", "too noisy to be used"}},
             .notes = {"a note of several words"},
             .droppable = {2, 3},
             .last_is_sentence = true}}};
  EXPECT_THAT(Written(document), EndsWith("\na  1 GB/s  2 GHz   0.4 %  too noisy to be used\n"
                                          "  a note of several words\n"));
  EXPECT_EQ(Written(document, 40),
            "     rate  spread  reason\na  1 GB/s   0.4 %  too noisy to be used\n"
            "  a note of several words\n");
  EXPECT_THAT(Written(document, 20), EndsWith("\na  1 GB/s  too noisy to be used\n"
                                              "  a note of several\n    words\n"));
  const Document wide{{Table{.columns = {"", "reason"},
                             .rows = {{"a", "太太太太太太太太太太太太太"}},
                             .last_is_sentence = true}}};
  EXPECT_THAT(Written(wide, 27), EndsWith("\na  太太太太太太太太太太太…\n"));
}

TEST(Table, LeavesOutColumnsWithoutText) {
  Table table{.columns = {"", "x", "y", "z"},
              .rows = {{"", "", "1", ""}, {"", "", "", ""}},
              .droppable = {1, 2},
              .last_is_sentence = true};
  table.DropEmptyColumns();
  EXPECT_EQ(table.columns, (std::vector<std::string>{"", "y"}));
  EXPECT_EQ(table.rows[0][1].text, "1");
  EXPECT_EQ(table.droppable, std::vector<std::size_t>{1});
  EXPECT_FALSE(table.last_is_sentence);
}

TEST(WriteMarkup, MarkdownAndThePageHaveTheSameTexts) {
  const Document document{
      {Table{.title = "nodes", .columns = {"node", "time"}, .rows = {{"<n>", "1 s"}}},
       Sentences{.texts = {"a note"}}, List{"differs", {{"x", {"detail"}}}, true}}};
  std::ostringstream markdown, page;
  WriteMarkdown(document, markdown);
  EXPECT_EQ(markdown.str(),
            "nodes\n\n| node | time |\n| --- | ---: |\n| &#60;n&#62; | 1 s |\n\n- a note\n\n"
            "differs\n\n1. x\n  - detail\n");
  WriteHtml(document, "A & B", "<?xml?><svg></svg>", "", page);
  fakes::ExpectHas(page.str(), {"<h1>A &#38; B</h1>\n<section>\n<svg></svg>\n</section>"
                                "\n<section>\n<h2>nodes</h2>\n<table>",
                                "<ul>\n<li>a note</li>\n</ul>", "<ol>\n<li>x<br>detail</li>\n</ol>",
                                "<h2>nodes</h2>\n<table>\n<tr><th>node</th><th>time"
                                "</th></tr>\n<tr><td>&#60;n&#62;</td><td>1 s</td>"});
}

TEST(MarkdownText, AndABadgeEscapeMarks) {
  EXPECT_EQ(MarkdownText("r3s3_p1 a|b"), "r3s3_p1 a&#124;b");
  EXPECT_EQ(MarkdownText("_x_ *y* a__b"), "&#95;x&#95; &#42;y&#42; a&#95;&#95;b");
  EXPECT_THAT(BadgeSvg("<a>&", "\"", true), HasSubstr("&#60;a&#62;&#38;: &#34;"));
}

TEST(MarkdownItem, BreaksLongLinesAtSpacesAndNeverBeginsALineWithAMark) {
  const std::string a(100, 'a'), b(20, 'b'), c(117, 'c'), d(60, 'd'), e(57, 'e');
  EXPECT_EQ(MarkdownItem("12.", a + " bbb " + b + " d"), "12. " + a + " bbb\n    " + b + " d\n");
  EXPECT_EQ(MarkdownItem("-", c + " - b"), "- " + c + " - b\n");
  EXPECT_EQ(MarkdownItem("-", d + ' ' + e + " 2 x"), "- " + d + "\n  " + e + " 2 x\n")
      << "a short word takes the one before it to the next line";
}

TEST(ToJson, HasTheTextsThatTheTerminalWrites) {
  Document document;
  document.Advise("use graphs");
  document.Add(Table{.columns = {"kernel"},
                     .rows = {{{"a…z", "abcz"}}, {{"b"}}},
                     .first = 1,
                     .rest = {{"1 other"}},
                     .last = {{{"idle"}}}});
  document.Add(Bar{"a step", {{PartKind::kZeroFlop, "copies", 1}, {PartKind::kOther, "x", 2}}});
  document.Add(Strip{"s", 2, {{"7", {{0.5, 1, PartKind::kRoof, "k"}}}}});
  EXPECT_EQ(ToJson(document), nlohmann::json::parse(R"([
    {"advice": ["use graphs"]},
    {"table": {"columns": ["kernel"], "rows": [[{"text": "a…z", "whole": "abcz"}], ["b"]],
      "first": 1, "rest": ["1 other"], "last": [["idle"]]}},
    {"bar": {"title": "a step", "parts": [
      {"kind": "zero_flop", "label": "copies", "seconds": 1.0, "time": "1.00 s", "share": "33.3 %"},
      {"kind": "other", "label": "x", "seconds": 2.0, "time": "2.00 s", "share": "66.7 %"}]}},
    {"strip": {"title": "s", "seconds": 2.0, "rows": [
      {"name": "7", "intervals": [[0.5, 1.0, "roof", "k", 1.0]]}]}}])"));
}

std::string Tables(const roofline::PlacedRun& run, int width, const TableOptions& options = {}) {
  return Written(RunDocument(run, options), width);
}

TEST(RunDocument, IsTheGoldenTableAndNoRowIsWiderThanTheTerminal) {
  std::ifstream file(fakes::TestData("run_small_tables.txt"));
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(Tables(fakes::SmallRun(), 120), golden);
  for (const int width : {80, 100, 120, 200}) {
    std::istringstream lines(Tables(fakes::SmallRun(), width));
    for (std::string line; std::getline(lines, line) && !line.empty();)
      EXPECT_LE(text::TextWidth(line), width) << line;
  }
  EXPECT_THAT(Tables(fakes::SmallRun(), 80),
              HasSubstr("\nLSTM/cpu/onednn/fwd_inference/f32/t1n1i16h16\n"));
  EXPECT_EQ(Tables(roofline::PlacedRun(), 80), "");
}

TEST(RunDocument, OnlyVerboseShowsRemarksAndAColumnHasTheIntensityOfOneLevel) {
  auto run = fakes::SmallRun();
  run.places[0].placement.asides = {"an aside"};
  run.file.machines[0].by_threads.at(2).edges["l3"] = {"the sweep agrees", false};
  EXPECT_THAT(Tables(run, 0), Not(AnyOf(HasSubstr("an aside"), HasSubstr("the sweep agrees"))));
  fakes::ExpectHas(Tables(run, 0, {.verbose = true}), {"an aside", "the sweep agrees"});
  auto file = fakes::SmallRun().file;
  file.machines.clear();
  const auto tables = Tables(roofline::PlaceRun(file), 0);
  fakes::ExpectHas(tables, {"23.1 ms  0.175 %   160 GFLOP/s         57.5\n", "1.23 TFLOP/s"});
  fakes::ExpectLacks(tables, {"compute"});
  // The second benchmark's bytes are known at L2 only: its intensity is of no level of this column.
  record::RunFile levels;
  levels.records = {{.name = "x", .repetitions = {{.seconds = 0.5, .iterations = 1}}},
                    {.name = "y", .repetitions = {{.seconds = 0.5, .iterations = 1}}}};
  auto& work = levels.records[0].work[Provenance::kModelled];
  work = {.flops = {{"fp32.vector", 1e9}}, .bytes = {{Level::kL2, 1e8}, {Level::kDram, 5e7}}};
  levels.records[1].work = levels.records[0].work;
  levels.records[1].work[Provenance::kModelled].bytes.erase(Level::kDram);
  const auto text = Tables(roofline::PlaceRun(levels), 0);
  fakes::ExpectHas(text,
                   {"  FLOP/B DRAM\n", "\nx          500 ms  n=1  2.00 GFLOP/s         20.0\n",
                    "\ny          500 ms  n=1  2.00 GFLOP/s\n"});
  EXPECT_THAT(Tables(roofline::PlaceRun(levels, {.levels = {Level::kL2}}), 0),
              HasSubstr("FLOP/B L2\n"));
}

TEST(CaveatsDocument, IsALineForEachCeilingThatMakesPercentagesLimits) {
  auto run = fakes::SmallRun();
  for (const int i : {0, 1, 2}) run.places[i].placement.uncertain = {{"dram", "too noisy"}};
  const auto text = Written(CaveatsDocument(run));
  EXPECT_THAT(text, StartsWith("<= and >= are limits: a roof is not validated"));
  EXPECT_THAT(text, HasSubstr("\n  f32: 3 benchmarks, dram is not validated: too noisy\n"));
  for (auto& placed : run.places) placed.placement.uncertain.clear();
  EXPECT_TRUE(CaveatsDocument(run).blocks.empty());
}

TEST(RunDocument, NothingOfTheFileControlsTheTerminal) {
  auto run = fakes::SmallRun();
  run.file.records[0].name = "\x1b]0;owned\x07 \xc2\x9b 31m";
  run.file.records[6].reason = "\x1b[2J";
  run.file.machines[0].name = "\r\x7f";
  const auto tables = Tables(run, 120);
  fakes::ExpectLacks(tables, {"\x1b", "\x07", "\r", "\x7f", "\xc2\x9b"});
}

record::Record WithEnergy() {
  record::Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4"};
  record.work[Provenance::kModelled].flops = {{"fp32.vector", 3e9}, {"bf16.matrix", 1e9}};
  record.energy = energy::Energy{.joules = 0.5,
                                 .ci95 = {{0.45, 0.55}},
                                 .domains = {{"package-0", 0.5}},
                                 .beside = {{"psys", 0.75}},
                                 .seconds = 0.004,
                                 .from = "powercap",
                                 .covers = "packages; no DRAM"};
  return record;
}

TEST(EnergyTable, ShowsJoulesRateAndPowerOfACallOrTheReasonWhyThereAreNone) {
  // 4e9 FLOP / 0.5 J; 0.5 J / 4 ms; half of 0.1 J over 0.5 J.
  fakes::ExpectHas(Written({{EnergyTable({WithEnergy()})}}),
                   {"500 mJ", "10.0 %", "8.00 GFLOP/J", "125 W",
                    "package-0 500 mJ, psys 750 mJ (not added)", "by powercap: packages; no DRAM"});
  record::Record record = WithEnergy();
  record.energy->others_cpus = 0.02;
  EXPECT_THAT(Written({{EnergyTable({record})}}), Not(HasSubstr("~")));
  record.energy->others_cpus = 0.5;
  fakes::ExpectHas(Written({{EnergyTable({record})}}),
                   {"~500 mJ", "~8.00 GFLOP/J", "other programs"});
  record::Record silent{.name = "cold one"};
  silent.counting = {{"energy", {}, "not measured: it stood still"}};
  record::Record no_flops = WithEnergy();
  no_flops.work.clear();
  EXPECT_THAT(Written({{EnergyTable({no_flops, silent})}}),
              AllOf(Not(HasSubstr("FLOP/J  8")), Not(HasSubstr("nan")),
                    HasSubstr("energy of cold one not measured: it stood still")));
  record::Record unknown{.name = "x"};
  unknown.counting = {{"perf", {}, "2 groups"}};
  Document document;
  document.Add(EnergyTable({unknown}));
  EXPECT_TRUE(document.blocks.empty());
}

std::string Table(const roofline::PlacedRun& run, std::string_view along) {
  return Written(TrajectoriesDocument(roofline::Trajectories(run, along)));
}

TEST(TrajectoriesDocument, ARowPerPointThenTheSentenceAndAlongASizeThereIsNoEfficiency) {
  auto text =
      Table(fakes::RunOf({fakes::kOne, fakes::With(fakes::Watched(fakes::Two(9), {.fork_join = 3}),
                                                   &fakes::PointSpec::noisy)}),
            "threads");
  fakes::ExpectHas(text, {"Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1\n"
                          "threads",
                          "FLOP/byte DRAM", "\n1         12.0 s  8.33 FLOP/s", "\n2        ~9.00 s",
                          "  ~1.33x          ~41.5 %            overhead +33\n",
                          "\n  ~2 threads are 1.33x as fast as 1 thread, 67 % of ideal: 33 "
                          "points are lost, 33 by ",
                          record::kEstimateMeaning});
  text = Table(fakes::RunOf({fakes::Batch(1, 10, 100, 20), fakes::Batch(4, 40, 400, 80)}), "batch");
  fakes::ExpectHas(text, {"\nbatch  threads", "FLOP/s ratio"});
  fakes::ExpectLacks(text, {"log2", "~"});
}

TEST(TrajectoriesDocument, ANoisyShareOfARoofThatIsNotValidatedIsNoLimit) {
  const auto text = [](bool noisy) {
    roofline::TrajectoryPoint point{.value = 1, .seconds = 1, .noisy = noisy};
    point.share = {0.5, true};
    return Written(TrajectoriesDocument({{.along = "threads", .points = {point}}}));
  };
  EXPECT_THAT(text(false), HasSubstr(" <= 50.0 %"));
  EXPECT_THAT(text(true), AllOf(HasSubstr(" ~50.0 %"), Not(HasSubstr("<="))));
}

record::Record Kernel(const std::string& name, double seconds, double launches, double flops) {
  record::Record record{.name = name, .timed = "kernels"};
  record.repetitions = {{.seconds = seconds, .iterations = 1}};
  Work& work = record.work[Provenance::kMeasured];
  work.launches = launches;
  work.flops["fp32.vector"] = flops;
  work.bytes[Level::kDram] = 1e6;
  return record;
}

// 240 launches in 503 us are 2.09 us each.
TEST(KernelTables, HaveSumsOverLaunchesSortedByTimeAndNamesOfAtMost60Columns) {
  const auto run = fakes::ReadPlaced("h200_profile_resnet50.json");
  const std::string whole = "float16_copy_kernel_cuda(TensorIteratorBase &)";
  EXPECT_THAT(Tables(run, 0),
              AllOf(HasSubstr("GPU kernels of python3: 503 µs of device time in 240 launches"),
                    HasSubstr("503 µs     100 %       240     2.09 µs"), Not(HasSubstr("overhead")),
                    Not(HasSubstr("879")), Not(HasSubstr(whole)),
                    HasSubstr("\nvectorized_elementwise_kernel<8, float16_cop")));
  EXPECT_THAT(Tables(run, 0, {.full_names = true}), HasSubstr(whole));
  // 3 of 4 ms, 1 of 4 ms: the longest first, with rates although there are no roofs.
  record::RunFile sorted;
  sorted.records = {Kernel("app/void b(int)", 1e-3, 2, 0),
                    Kernel("app/void a(int)", 3e-3, 10, 6e9)};
  const auto sorted_tables = Tables(roofline::PlaceRun(sorted), 0);
  fakes::ExpectHas(
      sorted_tables,
      {"GPU kernels of app: 4.00 ms of device time in 12 launches",
       "\na       3.00 ms    75.0 %        10      300 µs                         2.00 "
       "TFLOP/s         6000\n"
       "b       1.00 ms    25.0 %         2      500 µs\n"});
  record::RunFile hostile;
  hostile.records = {Kernel("\x1b[2J/void \x1b[2Ja(int)", 3e-3, 10, 6e9)};
  EXPECT_THAT(Tables(roofline::PlaceRun(hostile), 0) +
                  Tables(roofline::PlaceRun(hostile), 0, {.full_names = true}),
              Not(HasSubstr("\x1b")));
}

// tests/data/run_ceilings.json has some ceilings of
// baselines/stored/cascade-lake-2c/2026-11-21-conv2d.json; its rates, validations, mixes, curves
// and overheads are written by hand.

std::string Table(const roofline::PlacedRun& run, int width) {
  return Written(CeilingsDocument(run.file.machines), width);
}

// Returns the first line that begins with `start`, or an empty text.
std::string LineOf(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(start)) return line;
  return "";
}

std::size_t At(const std::string& text, const std::string& part) { return text.find(part); }

TEST(CeilingsDocument, ShowsEveryColumnHighestPipesFirstAndNamesFinerRowsInFull) {
  EXPECT_EQ(
      LineOf(Table(fakes::CeilingsRun(), 120), "  fp32.vector"),
      "  fp32.vector          305 GFLOP/s  280 GFLOP/s  2.40 GHz  63.8 of 64  0.400 %     1.00");
  const auto table = Table(fakes::CeilingsRun(), 0);
  EXPECT_THAT(LineOf(table, "    avx2"), EndsWith("0.95"));
  EXPECT_THAT(LineOf(table, "  int8.vector"),
              EndsWith("  twice the work took 2.31 times the time, allowed is 2 within 2.0 %"));
  EXPECT_LT(At(table, "\n  int8.vector "), At(table, "\n    avx512_vnni "));
  EXPECT_LT(At(table, "\n    avx512_vnni "), At(table, "\n  fp32.vector "));
  EXPECT_LT(At(table, "\n  fp32.vector "), At(table, "\n    avx512 "));
  EXPECT_LT(At(table, "\n    avx512 "), At(table, "\n    avx2 "));
  auto run = fakes::CeilingsRun();
  fakes::TwoThreadsOf(run).flops.erase("fp32.vector");
  EXPECT_THAT(Table(run, 0), HasSubstr("\n  fp32.vector.avx2 "));
  fakes::ExpectHas(table, {"\n  DRAM update.avx512  ", "\n  L1   load.avx512  "});
}

TEST(CeilingsDocument, NoLineIsWiderThanTheTerminalAndASpecifiedRateIsNeitherValidatedNorMeasured) {
  auto run = fakes::CeilingsRun();
  auto& reasons = fakes::TwoThreadsOf(run).flops.at("int8.vector").reasons;
  reasons.at(0) = "µ" + reasons.at(0) + std::string(300, 'x');
  for (const int width : {80, 100, 120, 200}) {
    std::istringstream lines(Table(run, width));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(text::TextWidth(line), width) << line;
  }
  run = fakes::CeilingsRun();
  fakes::TwoThreadsOf(run).flops.at("fp32.vector") = {
      .per_second = 1e12, .how = "data sheet", .status = machine::CeilingStatus::kSpecified};
  EXPECT_THAT(LineOf(Table(run, 0), "  fp32.vector"),
              EndsWith("specified, not measured here: data sheet"));
}

TEST(CeilingsDocument, IsOneTableThenOverheadsAndFindingsOfTheSweep) {
  const auto short_form = Written(CeilingsDocument(fakes::CeilingsRun().file.machines, false));
  fakes::ExpectHas(short_form, {"with 2 threads\n"});
  fakes::ExpectLacks(short_form, {"with 1 thread", "avx2", "the curve falls"});
  auto table = Table(fakes::CeilingsRun(), 0);
  EXPECT_THAT(LineOf(table, "  fork-join"), EndsWith(" 1.10 µs"));
  EXPECT_THAT(LineOf(table, "  timer"), EndsWith(" 26.0 ns"));
  const auto one = table.substr(At(table, "with 1 thread\n"));
  EXPECT_THAT(table, HasSubstr("\n  L3: the curve falls at 16.5 MiB, from 48 to 24 GB/s;"));
  fakes::ExpectHas(one, {"\n  L1: the curve falls at 33.4 KiB, from 340 to 116 GB/s;",
                         "\n  launch: not measured: in each repetition a thread waited"});
  fakes::ExpectLacks(one, {"from 680"});
  auto run = fakes::CeilingsRun();
  auto& set = fakes::TwoThreadsOf(run);
  set = {};
  set.flops["fp32.vector"] = fakes::Validated(1e9);
  set.bytes[Level::kL1] = fakes::Validated(1e9);
  set.edges = {{"", {.text = "x"}}};
  set.absent = {{"", "x"}};
  table = Table(run, 0);
  fakes::ExpectHas(table, {"                       rate\n  fp32.vector  1.00 GFLOP/s\n  L1",
                           "  L1              1.00 GB/s\n\nceilings of"});
}

}  // namespace
}  // namespace dlroof::document
