#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/error.h"
#include "tests/counters/energy/made_up_tree.h"

namespace dlroof {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kAmd[] = "class/hwmon/hwmon2/";

void Sensor(const MadeUpTree& tree, int number, const std::string& label, long microjoules) {
  const auto sensor = kAmd + ("energy" + std::to_string(number));
  tree.Write(sensor + "_label", label);
  tree.Write(sensor + "_input", std::to_string(microjoules));
}

// Driver amd_energy of two packages of two CPUs. Cores come first.
void AmdEnergy(const MadeUpTree& tree) {
  tree.Cpus(0, 0, 1);
  tree.Cpus(1, 2, 3);
  tree.Write(std::string(kAmd) + "name", "amd_energy");
  for (int core = 0; core < 4; ++core) Sensor(tree, 1 + core, "Ecore00" + std::to_string(core), 7);
  Sensor(tree, 5, "Esocket0", 5000000);
  Sensor(tree, 6, "Esocket1", 6000000);
}

TEST(Hwmon, CountsPackagesAndNeverTheirCores) {
  const MadeUpTree tree;
  AmdEnergy(tree);
  const auto counters = Opened("hwmon", tree, {0, 1, 2, 3});
  EXPECT_EQ(counters.why_not, "");
  ASSERT_EQ(counters.domains.size(), 2u);
  EXPECT_EQ(counters.domains[1].name, "package-1");
  EXPECT_TRUE(counters.domains[1].counted);
  EXPECT_FALSE(counters.domains[1].range_joules);
  EXPECT_EQ(counters.domains[1].joules(), 6);
  Sensor(tree, 6, "Esocket1", 6500000);
  EXPECT_EQ(counters.domains[1].joules(), 6.5);
  EXPECT_EQ(counters.covers, "packages; no DRAM, fans, NIC, power supply");
}

TEST(Hwmon, APackageThatOthersMayUseHasNoEnergyOfOurs) {
  const MadeUpTree tree;
  AmdEnergy(tree);
  EXPECT_THAT(Opened("hwmon", tree, {0, 1, 2}).why_not,
              HasSubstr("this process may use 1 of the 2 CPUs of package 1"));
  EXPECT_EQ(Opened("hwmon", tree, {2, 3}).domains.size(), 1u);
  EXPECT_THAT(Opened("hwmon", tree, {7}).why_not, HasSubstr("no counter is of a package"));
}

TEST(Hwmon, IsTakenOnlyWhereTheOthersCannotCount) {
  const MadeUpTree tree;
  AmdEnergy(tree);
  int last = 0;
  for (const auto& source : AllEnergySources()) {
    EXPECT_GT(source.rank, last);
    last = source.rank;
  }
  EXPECT_EQ(AllEnergySources().back().name, "hwmon");
}

TEST(Hwmon, ATextThatIsNoNumberIsRefusedWithItsFile) {
  const MadeUpTree tree;
  AmdEnergy(tree);
  tree.Write(std::string(kAmd) + "energy5_input", "many");
  EXPECT_THAT(Opened("hwmon", tree, {0, 1, 2, 3}).why_not,
              HasSubstr("energy5_input: 'many' is not a number of microjoules"));
}

TEST(Hwmon, EnergyOfOtherThingsIsNotThatOfPackages) {
  const MadeUpTree tree;
  tree.Cpus(0, 0, 1);
  tree.Write("class/hwmon/hwmon0/name", "ibmaem");
  tree.Write("class/hwmon/hwmon0/energy1_input", "1");
  const auto counters = Opened("hwmon", tree, {0, 1});
  EXPECT_THAT(counters.domains, IsEmpty());
  EXPECT_THAT(counters.why_not, HasSubstr("class/hwmon has no energy counter of a package"));
}

TEST(Hwmon, AMachineThatTellsWattsAloneIsSentToItsMeter) {
  const MadeUpTree tree;
  tree.Write("class/hwmon/hwmon1/name", "power_meter");
  tree.Write("class/hwmon/hwmon1/power1_average", "95000000");
  tree.Write("class/hwmon/hwmon1/power1_oem_info", "Grace Power Socket 0");
  // A GPU's power is none of the CPU's.
  tree.Write("class/hwmon/hwmon3/name", "amdgpu");
  tree.Write("class/hwmon/hwmon3/power1_average", "30000000");
  tree.Write("class/hwmon/hwmon3/power1_label", "PPT");
  const auto counters = Opened("hwmon", tree, {0});
  EXPECT_THAT(counters.domains, IsEmpty());
  EXPECT_THAT(counters.why_not, AllOf(HasSubstr("tells its watts only (Grace Power Socket 0)"),
                                      HasSubstr("--dlroof_meter_seconds"), Not(HasSubstr("PPT"))));
}

}  // namespace
}  // namespace dlroof
