#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counters/base/error.h"
#include "tests/counters/energy/made_up_tree.h"

namespace dlroof {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "package-0", or "psys*" of a domain that does not count.
std::vector<std::string> Names(const EnergyCounters& counters) {
  std::vector<std::string> names;
  for (const auto& domain : counters.domains)
    names.push_back(domain.name + (domain.counted ? "" : "*"));
  return names;
}

TEST(Powercap, CountsPackagesAndTheirDramAndNeverWhatContainsThem) {
  const MadeUpTree tree;
  tree.TwoPackages();
  const auto counters = Opened("powercap", tree, {0, 1, 2, 3});
  EXPECT_EQ(counters.why_not, "");
  EXPECT_THAT(Names(counters), ElementsAre("package-0", "dram-0", "package-1", "dram-1", "psys*"));
  EXPECT_EQ(counters.covers, "packages and DRAM; no fans, NIC, power supply");
  EXPECT_DOUBLE_EQ(counters.domains[1].joules(), 0.7);
  EXPECT_DOUBLE_EQ(counters.domains[1].range_joules.value(), 262143.32885);
  tree.Zone("intel-rapl:0:1", "dram", 900000);
  EXPECT_DOUBLE_EQ(counters.domains[1].joules(), 0.9);
}

TEST(Powercap, SaysWhereDramIsNotCounted) {
  const MadeUpTree tree;
  tree.Cpus(0, 0, 1);
  tree.Zone("intel-rapl:0", "package-0", 1);
  auto counters = Opened("powercap", tree, {0, 1});
  EXPECT_THAT(Names(counters), ElementsAre("package-0"));
  EXPECT_EQ(counters.covers, "packages; no DRAM, fans, NIC, power supply");
  tree.Cpus(1, 2, 3);
  tree.Zone("intel-rapl:1", "package-1", 1);
  tree.Zone("intel-rapl:1:0", "dram", 1);
  counters = Opened("powercap", tree, {0, 1, 2, 3});
  EXPECT_THAT(counters.covers, HasSubstr("packages and DRAM of 1 of 2"));
}

TEST(Powercap, TheSameCountersByMemoryMappedRegistersAreNotCountedTwice) {
  const MadeUpTree tree;
  tree.TwoPackages();
  tree.Zone("intel-rapl-mmio:0", "package-0", 5000000);
  EXPECT_EQ(Opened("powercap", tree, {0, 1, 2, 3}).domains.size(), 5u);
}

TEST(Powercap, APackageThatOthersMayUseHasNoEnergyOfOurs) {
  const MadeUpTree tree;
  tree.TwoPackages();
  const auto shared = Opened("powercap", tree, {0, 1, 2});
  EXPECT_THAT(shared.why_not,
              HasSubstr("this process may use 1 of the 2 CPUs of package 1, and the counter"));
  // A process on package 0 alone takes nothing of package 1.
  EXPECT_THAT(Names(Opened("powercap", tree, {0, 1})), ElementsAre("package-0", "dram-0", "psys*"));
  EXPECT_THAT(Opened("powercap", tree, {7}).why_not, HasSubstr("no package that this process"));
}

TEST(Powercap, CpusThatAreNotKnownAreNotTakenForOurs) {
  const MadeUpTree tree;
  tree.Zone("intel-rapl:0", "package-0", 1);
  EXPECT_THAT(Opened("powercap", tree, {0}).why_not,
              AllOf(HasSubstr("the CPUs of package 0 are not known"), HasSubstr("devices/system")));
}

TEST(Powercap, WithoutATreeSaysWhy) {
  const MadeUpTree tree;
  const auto counters = Opened("powercap", tree, {0});
  EXPECT_THAT(counters.domains, IsEmpty());
  EXPECT_THAT(counters.why_not,
              AllOf(HasSubstr("class/powercap has no intel-rapl:*"), HasSubstr("virtual machine")));
}

TEST(Powercap, TextThatIsNoNumberIsRefusedWithItsFile) {
  const MadeUpTree tree;
  tree.TwoPackages();
  tree.Write("class/powercap/intel-rapl:1/energy_uj", "many");
  EXPECT_THAT(Opened("powercap", tree, {0, 1, 2, 3}).why_not,
              HasSubstr("intel-rapl:1/energy_uj: 'many' is not a number of microjoules"));
}

// Another user for as long as this lives, where this one is root.
class AsNobody {
 public:
  AsNobody() : root_(geteuid() == 0) {
    if (root_ && seteuid(65534) != 0) throw std::runtime_error("seteuid");
  }
  ~AsNobody() {
    if (root_ && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  bool root_;
};

TEST(Powercap, AFileThatOnlyRootMayReadNamesTheCure) {
  const MadeUpTree tree;
  tree.TwoPackages();
  ASSERT_EQ(chmod((tree.root() / "class/powercap/intel-rapl:0/energy_uj").c_str(), 0), 0);
  const AsNobody nobody;
  const auto counters = Opened("powercap", tree, {0, 1, 2, 3});
  EXPECT_THAT(counters.domains, IsEmpty());
  EXPECT_THAT(counters.why_not, AllOf(HasSubstr("intel-rapl:0/energy_uj: only root may read it"),
                                      HasSubstr("udev rule")));
}

TEST(Powercap, AFileThatVanishesIsAnErrorOfItsReading) {
  const MadeUpTree tree;
  tree.TwoPackages();
  const auto counters = Opened("powercap", tree, {0, 1, 2, 3});
  std::filesystem::remove_all(tree.root() / "class");
  EXPECT_THROW(counters.domains.at(0).joules(), BadInput);
}

}  // namespace
}  // namespace dlroof
