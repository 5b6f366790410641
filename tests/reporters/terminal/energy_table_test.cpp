#include "reporters/terminal/energy_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace dlroof {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Record WithEnergy() {
  Record record{.name = "LSTM/cpu/onednn/bwd/bf16/t1n2i3h4"};
  record.work[Provenance::kModelled].flops = {{"fp32.vector", 3e9}, {"bf16.matrix", 1e9}};
  record.energy = Energy{.joules = 0.5,
                         .ci95 = {{0.45, 0.55}},
                         .domains = {{"package-0", 0.5}},
                         .beside = {{"psys", 0.75}},
                         .seconds = 0.004,
                         .from = "powercap",
                         .covers = "packages; no DRAM"};
  return record;
}

std::string Written(const std::vector<Record>& records) {
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

TEST(WriteEnergy, MarksWhatOtherProgramsHadAPartIn) {
  Record record = WithEnergy();
  record.energy->others_cpus = 0.02;
  EXPECT_THAT(Written({record}), Not(HasSubstr("~")));
  record.energy->others_cpus = 0.5;
  EXPECT_THAT(Written({record}),
              AllOf(HasSubstr("~500 mJ"), HasSubstr("~8.00 GFLOP/J"), HasSubstr("other programs")));
}

TEST(WriteEnergy, AnUnknownRateIsEmptyAndAMissingEnergyHasItsReason) {
  Record without{.name = "cold one"};
  without.counting = {{"energy", {}, "not measured: it stood still"}};
  Record no_flops = WithEnergy();
  no_flops.work.clear();
  EXPECT_FALSE(FlopsPerJoule(no_flops));
  EXPECT_THAT(Written({no_flops, without}),
              AllOf(Not(HasSubstr("FLOP/J  8")), Not(HasSubstr("nan")),
                    HasSubstr("energy of cold one not measured: it stood still")));
}

// 4e9 FLOP / 2 J; 2 J / 10 ms; half of 0.2 J over 2 J.
TEST(WriteEnergy, MeteredEnergyHasATableOfItsOwn) {
  Record record = WithEnergy();
  record.metered = MeteredEnergy{.joules = 2,
                                 .ci95 = {{1.9, 2.1}},
                                 .seconds = 0.01,
                                 .nodes = 7,
                                 .from = "watts.csv",
                                 .covers = "all that a node draws"};
  EXPECT_THAT(
      Written({record}),
      AllOf(HasSubstr("\nmetered energy of a call"), HasSubstr("2.00 J"), HasSubstr("5.0 %"),
            HasSubstr("2.00 GFLOP/J"), HasSubstr("200 W"), HasSubstr("  7\n"),
            HasSubstr("by node meter watts.csv: all that a node draws"), HasSubstr("500 mJ")));
  record.energy.reset();
  EXPECT_THAT(Written({record}), Not(HasSubstr("\nenergy of a call")));
}

TEST(WriteEnergy, WindowsWithoutALogSayWhatTheyAreFor) {
  Record record{.name = "x"};
  record.metered_window = MeteredWindow{1.8e9, 1.8e9 + 60, 100};
  EXPECT_THAT(Written({record, record}), HasSubstr("windows for a node's meter: 2; a log"));
}

TEST(WriteEnergy, NobodyAskedMeansNoWord) {
  Record record{.name = "x"};
  record.counting = {{"perf", {}, "2 groups"}};
  EXPECT_EQ(Written({record}), "");
}

}  // namespace
}  // namespace dlroof
