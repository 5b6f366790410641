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

TEST(WriteEnergy, NobodyAskedMeansNoWord) {
  Record record{.name = "x"};
  record.counting = {{"perf", {}, "2 groups"}};
  EXPECT_EQ(Written({record}), "");
}

}  // namespace
}  // namespace dlroof
