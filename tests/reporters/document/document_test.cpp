#include "reporters/document/document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <sstream>

namespace dlroof::document {
namespace {

std::string Written(const Document& document) {
  std::ostringstream out;
  Write(document, 0, out);
  return out.str();
}

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

TEST(Write, ATableHasItsFirstRowsThenASummaryOfTheOthersThenTheLastRows) {
  Document document;
  Table table{.columns = {"kernel", "time"},
              .rows = {{{"a…z", "abcz"}, {"2 s"}}, {{"b\x1b"}, {"1 s"}}, {{"c"}, {"3 s"}}},
              .first = 2,
              .rest = {{"1 other"}, {"3 s"}},
              .last = {{{"idle"}, {"4 s"}}},
              .notes = {"times are sums"}};
  document.Add(table);
  EXPECT_EQ(Written(document),
            "\nkernel   time\na…z       2 s\nb?        1 s\n1 other   3 s\nidle      4 s\n"
            "  times are sums\n");
  table.first = 0;
  EXPECT_EQ(Written({{table}}),
            "\nkernel  time\na…z      2 s\nb?       1 s\nc        3 s\nidle     4 s\n"
            "  times are sums\n");
}

TEST(Write, ABarsPartsFollowEachOtherAndItsSharesAddUp) {
  Document document;
  document.Say("app");
  document.Add(Bar{"a step: 4 s", {{PartKind::kRoof, "roofs", 1}, {PartKind::kIdle, "idle", 3}}});
  document.Say("end");
  EXPECT_EQ(Written(document),
            "app\n\na step: 4 s\n"
            "  |##########                              |    1.00 s  25.0 %  roofs\n"
            "  |          ##############################|    3.00 s  75.0 %  idle\n"
            "\nend\n");
}

TEST(Write, AStripShowsWhatEachColumnIsBusyWith) {
  Document document;
  const auto copies = PartKind::kZeroFlop;
  document.Add(Strip{"streams",
                     60,
                     {{"7", {{0, 2}, {3.5, 4}, {4, 6, copies}, {6, 8, PartKind::kRoof, "k", 0.2}}},
                      {"long", {{59, 60}}}}});
  EXPECT_EQ(Written(document),
            "\nstreams (# busy, + a quarter of the time or more, - less, c copies, . idle)\n"
            "  7    |##.+cc--" +
                std::string(52, '.') + "|\n  long |" + std::string(59, '.') + "#|\n");
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

}  // namespace
}  // namespace dlroof::document
