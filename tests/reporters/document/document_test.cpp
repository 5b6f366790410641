#include "reporters/document/document.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <iterator>
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

TEST(Write, AListHasItsDetailsAndOfSentencesTheFirst) {
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
            "nodes\n\n| node | time |\n| --- | ---: |\n| \\<n\\> | 1 s |\n\n- a note\n\n"
            "differs\n\n1. x\n  - detail\n");
  WriteHtml(document, "A & B", "<?xml?><svg></svg>", "", page);
  fakes::ExpectHas(page.str(), {"<h1>A &#38; B</h1>\n<section>\n<svg></svg>\n</section>"
                                "\n<section>\n<h2>nodes</h2>\n<table>",
                                "<ul>\n<li>a note</li>\n</ul>", "<ol>\n<li>x<br>detail</li>\n</ol>",
                                "<h2>nodes</h2>\n<table>\n<tr><th>node</th><th>time"
                                "</th></tr>\n<tr><td>&#60;n&#62;</td><td>1 s</td>"});
}

TEST(MarkdownText, AndABadgeEscapeMarks) {
  EXPECT_EQ(MarkdownText("r3s3_p1 a|b"), "r3s3_p1 a\\|b");
  EXPECT_EQ(MarkdownText("_x_ *y* a__b"), "\\_x\\_ \\*y\\* a\\_\\_b");
  EXPECT_EQ(MarkdownText("'a' -> b > c\n"), "'a' -> b \\> c&#10;");
  EXPECT_THAT(BadgeSvg("<a>&", "\"", true), HasSubstr("&#60;a&#62;&#38;: &#34;"));
  EXPECT_THAT(BadgeSvg("a", "b", std::nullopt), HasSubstr("#59636e")) << "unknown is grey";
}

TEST(MarkdownItem, NeverBeginsALineWithAMark) {
  const std::string c(117, 'c'), d(60, 'd'), e(57, 'e');
  EXPECT_EQ(MarkdownItem("-", c + " - b"), "- " + c + " - b\n");
  EXPECT_EQ(MarkdownItem("-", d + ' ' + e + " 2 x"), "- " + d + "\n  " + e + " 2 x\n")
      << "a short word takes the one before it to the next line";
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

// tests/data/run_ceilings.json has some ceilings of
// baselines/stored/cascade-lake-2c/2026-11-21-conv2d.json; its rates, validations, mixes, curves
// and overheads are written by hand.

std::string Table(const roofline::PlacedRun& run, int width) {
  return Written(CeilingsDocument(run.file.machines), width);
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
  EXPECT_THAT(Table(run, 0), HasSubstr("specified, not measured here: data sheet\n"));
}

}  // namespace
}  // namespace dlroof::document
