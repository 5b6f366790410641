#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "counters/base/error.h"
#include "counters/energy/energy_meter.h"
#include "tests/fakes/refusal.h"

namespace dlroof::energy {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A tree of the kernel's files in a folder of the test.
class MadeUpTree {
 public:
  MadeUpTree() { std::filesystem::create_directories(root_); }
  ~MadeUpTree() { std::filesystem::remove_all(root_); }
  MadeUpTree(const MadeUpTree&) = delete;
  MadeUpTree& operator=(const MadeUpTree&) = delete;

  const std::filesystem::path& root() const { return root_; }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  // CPUs `first` to `last` are of `package`.
  void Cpus(int package, int first, int last) const {
    for (int cpu = first; cpu <= last; ++cpu)
      Write("devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/physical_package_id",
            std::to_string(package));
  }
  void Zone(const std::string& zone, const std::string& name, long microjoules,
            long range = 262143328850) const {
    const auto folder = "class/powercap/" + zone;
    Write(folder + "/name", name);
    Write(folder + "/energy_uj", std::to_string(microjoules));
    Write(folder + "/max_energy_range_uj", std::to_string(range));
  }

 private:
  const std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("dlroof_sysfs_" + std::to_string(getpid()));
};

// Two packages of two CPUs; DRAM, a part that is in the package's count, and the platform.
struct TwoPackages : MadeUpTree {
  TwoPackages() {
    Cpus(0, 0, 1);
    Cpus(1, 2, 3);
    Zone("intel-rapl:0", "package-0", 5000000);
    Zone("intel-rapl:0:0", "core", 1000000);
    Zone("intel-rapl:0:1", "dram", 700000);
    Zone("intel-rapl:1", "package-1", 6000000);
    Zone("intel-rapl:1:0", "dram", 800000);
    Zone("intel-rapl:2", "psys", 20000000);
  }
};

// Why nothing could be opened, or "accepted".
std::string Refusal(const MadeUpTree& tree, const std::vector<int>& allowed) {
  return fakes::RefusalOf([&] { OpenPowercap({tree.root(), allowed}); });
}

// "package-0", or "psys*" of a domain that does not count.
std::vector<std::string> Names(const EnergyCounters& counters) {
  std::vector<std::string> names;
  for (const auto& domain : counters.domains)
    names.push_back(domain.name + (domain.counted ? "" : "*"));
  return names;
}

TEST(Powercap, CountsPackagesAndTheirDramAndNeverWhatContainsThem) {
  const TwoPackages tree;
  const auto counters = OpenPowercap({tree.root(), {0, 1, 2, 3}});
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
  auto counters = OpenPowercap({tree.root(), {0, 1}});
  EXPECT_THAT(Names(counters), ElementsAre("package-0"));
  EXPECT_EQ(counters.covers, "packages; no DRAM, fans, NIC, power supply");
  tree.Cpus(1, 2, 3);
  tree.Zone("intel-rapl:1", "package-1", 1);
  tree.Zone("intel-rapl:1:0", "dram", 1);
  counters = OpenPowercap({tree.root(), {0, 1, 2, 3}});
  EXPECT_THAT(counters.covers, HasSubstr("packages and DRAM of 1 of 2"));
}

TEST(Powercap, TheSameCountersByMemoryMappedRegistersAreNotCountedTwice) {
  const TwoPackages tree;
  tree.Zone("intel-rapl-mmio:0", "package-0", 5000000);
  EXPECT_EQ(OpenPowercap({tree.root(), {0, 1, 2, 3}}).domains.size(), 5u);
}

TEST(Powercap, APackageThatOthersMayUseHasNoEnergyOfOurs) {
  const TwoPackages tree;
  EXPECT_THAT(Refusal(tree, {0, 1, 2}),
              HasSubstr("this process may use only 1 of the 2 CPUs of package 1, but the counter"));
  // A process on package 0 alone takes nothing of package 1.
  EXPECT_THAT(Names(OpenPowercap({tree.root(), {0, 1}})),
              ElementsAre("package-0", "dram-0", "psys*"));
  EXPECT_THAT(Refusal(tree, {7}), HasSubstr("may use no CPU of the packages"));
}

TEST(Powercap, CpusThatAreNotKnownAreNotTakenForOurs) {
  const MadeUpTree tree;
  tree.Zone("intel-rapl:0", "package-0", 1);
  EXPECT_THAT(Refusal(tree, {0}),
              AllOf(HasSubstr("the CPUs of package 0 are unknown"), HasSubstr("devices/system")));
}

TEST(Powercap, WithoutATreeSaysWhy) {
  const MadeUpTree tree;
  EXPECT_THAT(Refusal(tree, {0}),
              AllOf(HasSubstr("class/powercap has no intel-rapl:*"), HasSubstr("virtual machine")));
}

TEST(Powercap, TextThatIsNoNumberIsRefusedWithItsFile) {
  const TwoPackages tree;
  tree.Write("class/powercap/intel-rapl:1/energy_uj", "many");
  EXPECT_THAT(Refusal(tree, {0, 1, 2, 3}),
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
  const TwoPackages tree;
  ASSERT_EQ(chmod((tree.root() / "class/powercap/intel-rapl:0/energy_uj").c_str(), 0), 0);
  const AsNobody nobody;
  EXPECT_THAT(
      Refusal(tree, {0, 1, 2, 3}),
      AllOf(HasSubstr("intel-rapl:0/energy_uj: only root may read it"), HasSubstr("udev rule")));
}

TEST(Powercap, AFileThatVanishesIsAnErrorOfItsReading) {
  const TwoPackages tree;
  const auto counters = OpenPowercap({tree.root(), {0, 1, 2, 3}});
  std::filesystem::remove_all(tree.root() / "class");
  EXPECT_THROW(counters.domains.at(0).joules(), BadInput);
}

}  // namespace
}  // namespace dlroof::energy
