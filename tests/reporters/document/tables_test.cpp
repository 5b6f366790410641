#include "reporters/document/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "reporters/text/text.h"
#include "tests/fakes/placed_files.h"
#include "tests/fakes/trajectory_points.h"
#include "tests/test_data.h"

namespace dlroof::document {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string Tables(const roofline::PlacedRun& run, int width) {
  std::ostringstream out;
  WriteTables(run, width, out);
  return out.str();
}

TEST(WriteTables, GoldenTable) {
  std::ifstream file(fakes::TestData("run_small_tables.txt"));
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(Tables(fakes::SmallRun(), 120), golden);
}

TEST(WriteTables, NoRowOfBenchmarksIsWiderThanTheTerminal) {
  for (const int width : {100, 120, 200}) {
    std::istringstream lines(Tables(fakes::SmallRun(), width));
    for (std::string line; std::getline(lines, line) && !line.empty();)
      EXPECT_LE(text::TextWidth(line), width) << line;
  }
}

TEST(WriteTables, ANarrowTerminalGetsNamesOnLinesOfTheirOwn) {
  EXPECT_THAT(Tables(fakes::SmallRun(), 80),
              HasSubstr("\nLSTM/cpu/onednn/fwd_inference/f32/t1n1i16h16\n"));
}

TEST(WriteTables, AFileGetsFullNames) {
  EXPECT_THAT(Tables(fakes::SmallRun(), 0),
              HasSubstr("\nConv2D/cpu/onednn/bwd_weights/bf16/n16c64h112w112k64r3s3_s2p1  "));
}

TEST(WriteTables, OnlyVerboseShowsRemarksThatTakeNoNumberAway) {
  auto run = fakes::SmallRun();
  run.places[0].placement.asides = {"an aside"};
  run.file.machines[0].by_threads.at(2).edges["l3"] = {"the sweep agrees", false};
  EXPECT_THAT(Tables(run, 0), Not(AnyOf(HasSubstr("an aside"), HasSubstr("the sweep agrees"))));
  std::ostringstream out;
  WriteTables(run, 0, out, {.verbose = true});
  EXPECT_THAT(out.str(), AllOf(HasSubstr("an aside"), HasSubstr("the sweep agrees")));
}

TEST(WriteTables, WithoutCeilingsRatesComeFromWorkAndTime) {
  auto file = fakes::SmallRun().file;
  file.machines.clear();
  const auto tables = Tables(roofline::PlaceRun(file), 0);
  EXPECT_THAT(tables, HasSubstr("23.1 ms  0.175 %   160 GFLOP/s   57.5 DRAM\n"));
  EXPECT_THAT(tables, HasSubstr("1.23 TFLOP/s"));
  EXPECT_THAT(tables, Not(HasSubstr("compute")));
}

// 1e9 flop in 0.5 s without any bytes.
TEST(WriteTables, WithoutBytesTheRateStaysAndTheIntensityIsEmpty) {
  record::RunFile file;
  file.records = {{.name = "x", .repetitions = {{.seconds = 0.5, .iterations = 1}}}};
  file.records[0].work[Provenance::kModelled].flops["fp32.vector"] = 1e9;
  EXPECT_THAT(Tables(roofline::PlaceRun(file), 0),
              HasSubstr("\nx          500 ms  n=1  2.00 GFLOP/s\n"));
}

// The first benchmark reaches 160 of 200 GFLOP/s. Without a level only that roof remains.
TEST(WriteTables, WithoutALevelThePercentageIsOfTheArithmeticRoof) {
  auto file = fakes::SmallRun().file;
  file.records.resize(1);
  file.records[0].work.begin()->second.bytes.clear();
  const auto run = roofline::PlaceRun(file);
  EXPECT_TRUE(run.places[0].placement.classic.empty());
  const auto share = roofline::RoofShareOf(run.places[0].placement);
  EXPECT_EQ(roofline::RoofShareText(share, false), "80.0 %");
  EXPECT_EQ(roofline::RoofShareText(share, true), "~80.0 %");
}

TEST(WriteCaveats, IsALineForEachCeilingThatMakesPercentagesLimits) {
  auto run = fakes::SmallRun();
  for (const int i : {0, 1, 2}) run.places[i].placement.uncertain = {{"dram", "too noisy"}};
  std::ostringstream out, none;
  WriteCaveats(run, out);
  EXPECT_THAT(out.str(), HasSubstr("\n  f32: 3 benchmarks, dram is not validated: too noisy\n"));
  EXPECT_THAT(out.str(), HasSubstr("\n<= and >= are limits: a roof is not validated"));
  for (auto& placed : run.places) placed.placement.uncertain.clear();
  WriteCaveats(run, none);
  EXPECT_EQ(none.str(), "");
}

TEST(WriteTables, NothingOfTheFileControlsTheTerminal) {
  auto run = fakes::SmallRun();
  run.file.records[0].name = "\x1b]0;owned\x07 \xc2\x9b 31m";
  run.file.records[6].reason = "\x1b[2J";
  run.file.machines[0].name = "\r\x7f";
  const auto tables = Tables(run, 120);
  for (const char* bad : {"\x1b", "\x07", "\r", "\x7f", "\xc2\x9b"})
    EXPECT_THAT(tables, Not(HasSubstr(bad)));
}

TEST(WriteTables, AnEmptyFileHasNoTable) { EXPECT_EQ(Tables(roofline::PlacedRun(), 80), ""); }

TEST(ShortenMiddle, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(text::ShortenMiddle("abcdef", 6), "abcdef");
  EXPECT_EQ(text::ShortenMiddle("abcdefg", 6), "ab…efg");
  EXPECT_EQ(text::ShortenMiddle("ääääää", 3), "ä…ä");
  EXPECT_EQ(text::ShortenMiddle("ääääää", 1), "…");
  EXPECT_EQ(text::TextWidth("漢字e\u0301"), 5) << "two wide characters, a letter and its accent";
  EXPECT_EQ(text::ShortenMiddle("漢字漢字", 8), "漢字漢字");
  EXPECT_EQ(text::ShortenMiddle("漢字漢字", 7), "漢…字") << "half a wide character is none";
}

TEST(Printable, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(text::Printable("µs …"), "µs …");
  EXPECT_EQ(text::Printable("a\xff"), "a?");
  EXPECT_EQ(text::Printable("\xc0\x80"), "??") << "an overlong form";
  EXPECT_EQ(text::Printable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(text::Printable("\xe2\x80"), "??") << "cut short";
  EXPECT_EQ(text::Printable("a\u0085\x7f\n"), "a???") << "C1, DEL and C0";
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

std::string Written(const std::vector<record::Record>& records) {
  std::ostringstream out;
  WriteEnergy(records, 0, out);
  return out.str();
}

TEST(WriteEnergy, ShowsJoulesRateAndPowerOfACall) {
  // 4e9 FLOP / 0.5 J; 0.5 J / 4 ms; half of 0.1 J over 0.5 J.
  EXPECT_THAT(Written({WithEnergy()}),
              AllOf(HasSubstr("500 mJ"), HasSubstr("10.0 %"), HasSubstr("8.00 GFLOP/J"),
                    HasSubstr("125 W"), HasSubstr("package-0 500 mJ, psys 750 mJ (not added)"),
                    HasSubstr("by powercap: packages; no DRAM")));
}

TEST(WriteEnergy, MarksEnergyThatIncludesOtherPrograms) {
  record::Record record = WithEnergy();
  record.energy->others_cpus = 0.02;
  EXPECT_THAT(Written({record}), Not(HasSubstr("~")));
  record.energy->others_cpus = 0.5;
  EXPECT_THAT(Written({record}),
              AllOf(HasSubstr("~500 mJ"), HasSubstr("~8.00 GFLOP/J"), HasSubstr("other programs")));
}

TEST(WriteEnergy, AnUnknownRateIsEmptyAndAMissingEnergyHasItsReason) {
  record::Record without{.name = "cold one"};
  without.counting = {{"energy", {}, "not measured: it stood still"}};
  record::Record no_flops = WithEnergy();
  no_flops.work.clear();
  EXPECT_FALSE(FlopsPerJoule(no_flops));
  EXPECT_THAT(Written({no_flops, without}),
              AllOf(Not(HasSubstr("FLOP/J  8")), Not(HasSubstr("nan")),
                    HasSubstr("energy of cold one not measured: it stood still")));
}

TEST(WriteEnergy, IsSilentIfNoRecordAskedForEnergy) {
  record::Record record{.name = "x"};
  record.counting = {{"perf", {}, "2 groups"}};
  EXPECT_EQ(Written({record}), "");
}

std::string Table(const roofline::PlacedRun& run, std::string_view along) {
  std::ostringstream out;
  WriteTrajectories(roofline::Trajectories(run, along), out);
  return out.str();
}

TEST(WriteTrajectories, ARowPerPointThenTheSentence) {
  const auto text =
      Table(fakes::RunOf({fakes::kOne, fakes::With(fakes::Watched(fakes::Two(9), {.fork_join = 3}),
                                                   &fakes::PointSpec::noisy)}),
            "threads");
  EXPECT_THAT(text, HasSubstr("Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1\n"
                              "threads"));
  EXPECT_THAT(text, HasSubstr("FLOP/byte DRAM"));
  EXPECT_THAT(text, HasSubstr("\n1         12.0 s  8.33 FLOP/s"));
  EXPECT_THAT(text, HasSubstr("\n2        ~9.00 s"));
  EXPECT_THAT(text, HasSubstr("  ~1.33x          ~41.5 %      overhead grown +33\n"));
  EXPECT_THAT(text, HasSubstr("\n  ~2 threads are 1.33x as fast as 1 thread, 67 % of ideal: 33 "
                              "points are lost, 33 by "));
  EXPECT_THAT(text, HasSubstr(roofline::kNoisyMeaning));
}

TEST(WriteTrajectories, AlongASizeThereIsNoEfficiency) {
  const auto text =
      Table(fakes::RunOf({fakes::Batch(1, 10, 100, 20), fakes::Batch(4, 40, 400, 80)}), "batch");
  EXPECT_THAT(text, HasSubstr("\nbatch  threads"));
  EXPECT_THAT(text, HasSubstr("FLOP/s ratio"));
  EXPECT_THAT(text, Not(HasSubstr("log2")));
  EXPECT_THAT(text, Not(HasSubstr("~")));
}

}  // namespace
}  // namespace dlroof::document
