#include "reporters/document/document.h"

#include <gmock/gmock.h>
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
            "kernel   time\na…z       2 s\nb\\x1B     1 s\n1 other   3 s\nidle      4 s\n"
            "  times are sums\n");
  table.first = 0;
  EXPECT_EQ(Written({{table}}),
            "kernel  time\na…z      2 s\nb\\x1B    1 s\nc        3 s\nidle     4 s\n"
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
            "streams (# busy, + a quarter of the time or more, - less, c copies, . idle)\n"
            "  7    |##.+cc--" +
                std::string(52, '.') + "|\n  long |" + std::string(59, '.') + "#|\n");
}

TEST(Write, AListHasItsDetailsOnLinesOfTheirOwnAndANumberedOneItsNumbers) {
  const Document document{{List{"remarks", {{"a", {"why", "where"}}, {"b"}}},
                           List{"differs", {{"c"}, {"d"}}, true},
                           Sentences{.texts = {"e", "f", "g"}, .first = 1}}};
  EXPECT_EQ(Written(document),
            "remarks\n  a\n    why\n    where\n  b\n\ndiffers\n  1  c\n  2  d\n\n"
            "e\nand 2 more (--verbose)\n");
}

TEST(Write, ANarrowTerminalDropsColumnsThenCutsTheSentence) {
  const Document document{
      {Table{.columns = {"", "rate", "clock", "spread", "reason"},
             .rows = {{"a", "1 GB/s", "2 GHz", "0.4 %", "too noisy to be used"}},
             .notes = {"a note of several words"},
             .droppable = {2, 3},
             .last_is_sentence = true}}};
  const auto written = [&](int width) {
    std::ostringstream out;
    Write(document, width, out);
    return out.str();
  };
  EXPECT_THAT(written(0), testing::EndsWith("\na  1 GB/s  2 GHz   0.4 %  too noisy to be used\n"
                                            "  a note of several words\n"));
  EXPECT_EQ(written(40),
            "     rate  spread  reason\na  1 GB/s   0.4 %  too noisy to be used\n"
            "  a note of several words\n");
  EXPECT_THAT(written(20), testing::EndsWith("\na  1 GB/s  too noisy to be used\n"
                                             "  a note of several\n    words\n"));
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
  WriteHtml(document, "A & B", {"<?xml?><svg></svg>", ""}, page);
  EXPECT_THAT(page.str(),
              testing::HasSubstr("<h1>A &#38; B</h1>\n<section>\n<svg></svg>\n</section>"
                                 "\n<section>\n<ul>\n<li>a note</li>\n</ul>"));
  EXPECT_THAT(page.str(), testing::HasSubstr("<ol>\n<li>x<br>detail</li>\n</ol>"));
  EXPECT_THAT(page.str(), testing::HasSubstr("<h2>nodes</h2>\n<table>\n<tr><th>node</th><th>time"
                                             "</th></tr>\n<tr><td>&#60;n&#62;</td><td>1 s</td>"));
}

TEST(MarkdownText, EscapesMarksButNotUnderscoresWithinWords) {
  EXPECT_EQ(MarkdownText("r3s3_p1 a|b"), "r3s3_p1 a&#124;b");
  EXPECT_EQ(MarkdownText("_x_ *y* a__b"), "&#95;x&#95; &#42;y&#42; a&#95;&#95;b");
}

TEST(MarkdownItem, BreaksLongLinesAtSpacesAndNeverBeginsALineWithAMark) {
  const std::string a(100, 'a'), b(20, 'b'), c(117, 'c'), d(60, 'd'), e(57, 'e');
  EXPECT_EQ(MarkdownItem("12.", a + " bbb " + b + " d"), "12. " + a + " bbb\n    " + b + " d\n");
  EXPECT_EQ(MarkdownItem("-", c + " - b"), "- " + c + " - b\n");
  EXPECT_EQ(MarkdownItem("-", d + ' ' + e + " 2 x"), "- " + d + "\n  " + e + " 2 x\n")
      << "a short word takes the one before it to the next line";
}

TEST(Badge, EscapesItsTexts) {
  EXPECT_THAT(BadgeSvg("<a>&", "\"", true), testing::HasSubstr("&#60;a&#62;&#38;: &#34;"));
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
