#include "reporters/figure/cluster_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::figure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
