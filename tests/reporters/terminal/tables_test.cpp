#include "reporters/terminal/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "reporters/text/text.h"
#include "tests/fakes/placed_files.h"
#include "tests/test_data.h"

namespace dlroof {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string Tables(const PlacedRun& run, int width) {
  std::ostringstream out;
  WriteTables(run, width, out);
  return out.str();
}

TEST(WriteTables, GoldenTable) {
  std::ifstream file(TestData("run_small_tables.txt"));
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(Tables(SmallRun(), 120), golden);
}

TEST(WriteTables, NoRowOfBenchmarksIsWiderThanTheTerminal) {
  for (const int width : {100, 120, 200}) {
    std::istringstream lines(Tables(SmallRun(), width));
    for (std::string line; std::getline(lines, line) && !line.empty();)
      EXPECT_LE(TextWidth(line), width) << line;
  }
}

TEST(WriteTables, ANarrowTerminalGetsNamesOnLinesOfTheirOwn) {
  EXPECT_THAT(Tables(SmallRun(), 80),
              HasSubstr("\nLSTM/cpu/onednn/fwd_inference/f32/t1n1i16h16\n"));
}

TEST(WriteTables, AFileGetsWholeNames) {
  EXPECT_THAT(Tables(SmallRun(), 0),
              HasSubstr("\nConv2D/cpu/onednn/bwd_weights/bf16/n16c64h112w112k64r3s3_s2p1  "));
}

TEST(WriteTables, OnlyVerboseHasRemarksThatTakeNoNumberAway) {
  auto run = SmallRun();
  run.places[0].placement.asides = {"an aside"};
  run.file.machines[0].by_threads.at(2).edges["l3"] = {"the sweep agrees", false};
  EXPECT_THAT(Tables(run, 0), Not(AnyOf(HasSubstr("an aside"), HasSubstr("the sweep agrees"))));
  std::ostringstream out;
  WriteTables(run, 0, out, true);
  EXPECT_THAT(out.str(), AllOf(HasSubstr("an aside"), HasSubstr("the sweep agrees")));
}

TEST(WriteDoubts, IsALineForEachCeilingThatTakesAPercentageAway) {
  auto run = SmallRun();
  for (const int i : {0, 1, 2}) run.places[i].placement.in_doubt = {{"dram", "too noisy"}};
  std::ostringstream out, none;
  WriteDoubts(run, out);
  EXPECT_THAT(out.str(), HasSubstr("\n  f32: 3 benchmarks, dram is not proved: too noisy\n"));
  for (auto& placed : run.places) placed.placement.in_doubt.clear();
  WriteDoubts(run, none);
  EXPECT_EQ(none.str(), "");
}

TEST(WriteTables, NothingOfTheFileControlsTheTerminal) {
  auto run = SmallRun();
  run.file.records[0].name = "\x1b]0;owned\x07 \xc2\x9b 31m";
  run.file.records[6].reason = "\x1b[2J";
  run.file.machines[0].name = "\r\x7f";
  const auto tables = Tables(run, 120);
  for (const char* bad : {"\x1b", "\x07", "\r", "\x7f", "\xc2\x9b"})
    EXPECT_THAT(tables, Not(HasSubstr(bad)));
}

TEST(WriteTables, AnEmptyFileHasNoTable) { EXPECT_EQ(Tables(PlacedRun(), 80), ""); }

TEST(ShortenMiddle, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(ShortenMiddle("abcdef", 6), "abcdef");
  EXPECT_EQ(ShortenMiddle("abcdefg", 6), "ab…efg");
  EXPECT_EQ(ShortenMiddle("ääääää", 3), "ä…ä");
  EXPECT_EQ(ShortenMiddle("ääääää", 1), "…");
  EXPECT_EQ(TextWidth("漢字e\u0301"), 5) << "two wide characters, a letter and its accent";
  EXPECT_EQ(ShortenMiddle("漢字漢字", 8), "漢字漢字");
  EXPECT_EQ(ShortenMiddle("漢字漢字", 7), "漢…字") << "half a wide character is none";
}

TEST(Printable, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(Printable("µs …"), "µs …");
  EXPECT_EQ(Printable("a\xff"), "a?");
  EXPECT_EQ(Printable("\xc0\x80"), "??") << "an overlong form";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(Printable("\xe2\x80"), "??") << "cut short";
  EXPECT_EQ(Printable("a\u0085\x7f\n"), "a???") << "C1, DEL and C0";
}

}  // namespace
}  // namespace dlroof
