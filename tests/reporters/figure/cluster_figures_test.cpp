#include "reporters/figure/cluster_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::figure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

BreakEvenFigure Crossing() {
  BreakEvenFigure figure{.rows = {}, .caption = "1 GbE"};
  figure.rows.push_back({.ours = "onednn",
                         .theirs = "cudnn",
                         .goal = "1 node of the other cluster",
                         .rate = {.title = "resnet50 f32",
                                  .ours = {{1, 9, 10, 11}, {64, 500, 600, 640}},
                                  .theirs = {{1, 90, 100, 110}},
                                  .goal = 100,
                                  .nodes = 12,
                                  .reason = std::nullopt},
                         .time = {.title = "resnet50 f32",
                                  .ours = {{1, 1, 1, 1}},
                                  .theirs = {},
                                  .goal = 0.1,
                                  .reason = Reason{"never: the network's floor is 1.73 s"},
                                  .floor = 1.73}});
  return figure;
}

TEST(BreakEvenScript, MarksTheCrossingOrShowsTheReason) {
  const auto script = BreakEvenScript(Crossing(), "svg");
  EXPECT_THAT(script, AllOf(HasSubstr("$rate0cross << EOD\n12 100\nEOD"),
                            HasSubstr("break-even: 12 nodes'"), HasSubstr("set xrange [0.9:70.4]"),
                            HasSubstr("never: the network’s floor is 1.73 s'"),
                            HasSubstr("$time0floor << EOD\n1 1.73"), Not(HasSubstr("$time0cross")),
                            Not(HasSubstr("$rate0floor"))));
}

TEST(BreakEvenScript, DrawsThreeRowsAndCountsTheRest) {
  auto figure = Crossing();
  for (int i = 0; i < 4; ++i) figure.rows.push_back(figure.rows[0]);
  const auto script = BreakEvenScript(figure, "svg");
  EXPECT_THAT(script, AllOf(HasSubstr("$rate2ours"), Not(HasSubstr("$rate3ours")),
                            HasSubstr("1 GbE; 2 more in the tables")));
  EXPECT_THAT(fakes::RefusalOf([] { BreakEvenScript({.rows = {}, .caption = ""}, "svg"); }),
              HasSubstr("no model has a training step on both clusters"));
}

TEST(BreakEvenScript, TextNeverBecomesACommand) {
  auto figure = Crossing();
  figure.rows[0].rate.title = "'; system 'touch owned'";
  figure.rows[0].time.reason = Reason{"`touch owned`"};
  const auto script = BreakEvenScript(figure, "svg");
  EXPECT_THAT(script, AllOf(Not(HasSubstr("system '")), Not(HasSubstr("`"))));
}

TEST(CostFigureScript, FillsTheBestAndNamesSomeNodes) {
  CostFigure figure{
      .lines = {}, .work = "a million samples", .currency = "USD", .caption = "3.6 USD"};
  figure.lines.push_back({"onednn", {{1, 100, 10, false}, {2, 50, 10, true}}});
  const auto script = CostFigureScript(figure, "svg");
  EXPECT_THAT(script, AllOf(HasSubstr("100 10 6 1\n50 10 7 2\n"), HasSubstr("'onednn'"),
                            HasSubstr("'cost (USD) of a million samples'"),
                            HasSubstr("'time (s) for a million samples'")));
  // Every second of 24 numbers of nodes has its name.
  auto& points = figure.lines[0].points;
  points.clear();
  for (int i = 1; i <= 24; ++i) points.push_back({i, 1.0 / i, 1, true});
  EXPECT_THAT(CostFigureScript(figure, "svg"),
              AllOf(HasSubstr("\n1 1 7 1\n0.5 1 7 \"\"\n0.333333333 1 7 3\n")));
  figure.lines[0].points.clear();
  EXPECT_THAT(fakes::RefusalOf([&] { CostFigureScript(figure, "svg"); }),
              HasSubstr("no cluster has a price"));
}

NodeMap Small() {
  return {.nodes = {"n1", "n2"},
          .benchmarks = {"a", "b"},
          .slower = {{1.5, -1.5}, {std::nullopt, 7}},
          .roofs = {{"cpu.dram", {-2, 2}}},
          .caption = "two"};
}

// A row per node, a column per benchmark.
TEST(NodeMapScript, HasTheCellsAndTheRoofs) {
  const auto script = NodeMapScript(Small(), "svg");
  EXPECT_THAT(script, HasSubstr("$cells << EOD\n1.5 NaN \n-1.5 7 \nEOD\n"));
  EXPECT_THAT(script, HasSubstr("$roofs << EOD\n-0.3 -2\n0.3 2\nEOD\n"));
  EXPECT_THAT(script, HasSubstr("set ytics ('n1' 0, 'n2' 1)"));
  EXPECT_THAT(script, HasSubstr("set cbrange [-5:5]"));  // 7 % lies beyond the colours
}

TEST(NodeMapScript, NumbersBenchmarksWhoseNamesDoNotFit) {
  auto map = Small();
  EXPECT_THAT(NodeMapScript(map, "svg"), HasSubstr("set xtics ('a' 0, 'b' 1)"));
  map.benchmarks[1] = std::string(31, 'b');
  const auto script = NodeMapScript(map, "svg");
  EXPECT_THAT(script, HasSubstr("set xtics ('1' 0, '2' 1)"));
  EXPECT_THAT(script, HasSubstr("by its number in the table"));
}

TEST(NodeMapScript, LongNamesOfNodesLoseTheirDomainAndTheirBegin) {
  auto map = Small();
  map.nodes = {"n1.cluster.example.org", "compute-rack00-cell1-0002.cluster.example.org"};
  EXPECT_THAT(NodeMapScript(map, "svg"),
              HasSubstr("set ytics ('n1' 0, '\u2026rack00-cell1-0002' 1)"));
  map.nodes = {"n1.a.org", "n2.b.org"};
  EXPECT_THAT(NodeMapScript(map, "svg"), HasSubstr("set ytics ('n1.a.org' 0, 'n2.b.org' 1)"));
}

TEST(NodeMapScript, TextNeverBecomesACommand) {
  auto map = Small();
  map.nodes[0] = map.benchmarks[0] = map.caption = map.roofs[0].first =
      "'; system('touch owned'); '";
  EXPECT_THAT(NodeMapScript(map, "svg"), Not(HasSubstr("system('touch")));
}

TEST(NodeMapScript, WithoutNodesThereIsNothingToDraw) {
  EXPECT_THAT(fakes::RefusalOf([] { NodeMapScript({}, "svg"); }),
              HasSubstr("no node has a benchmark"));
}

}  // namespace
}  // namespace dlroof::figure
