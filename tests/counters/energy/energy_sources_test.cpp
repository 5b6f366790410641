#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"
#include "counters/energy/energy_source.h"
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
std::string Refusal(EnergyCounters (*open)(const EnergyPlace&), const MadeUpTree& tree,
                    const std::vector<int>& allowed) {
  return fakes::RefusalOf([&] { open({tree.root(), allowed}); });
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
  EXPECT_THAT(Refusal(OpenPowercap, tree, {0, 1, 2}),
              HasSubstr("this process may use only 1 of the 2 CPUs of package 1, but the counter"));
  // A process on package 0 alone takes nothing of package 1.
  EXPECT_THAT(Names(OpenPowercap({tree.root(), {0, 1}})),
              ElementsAre("package-0", "dram-0", "psys*"));
  EXPECT_THAT(Refusal(OpenPowercap, tree, {7}), HasSubstr("may use no CPU of the packages"));
}

TEST(Powercap, CpusThatAreNotKnownAreNotTakenForOurs) {
  const MadeUpTree tree;
  tree.Zone("intel-rapl:0", "package-0", 1);
  EXPECT_THAT(Refusal(OpenPowercap, tree, {0}),
              AllOf(HasSubstr("the CPUs of package 0 are unknown"), HasSubstr("devices/system")));
}

TEST(Powercap, WithoutATreeSaysWhy) {
  const MadeUpTree tree;
  EXPECT_THAT(Refusal(OpenPowercap, tree, {0}),
              AllOf(HasSubstr("class/powercap has no intel-rapl:*"), HasSubstr("virtual machine")));
}

TEST(Powercap, TextThatIsNoNumberIsRefusedWithItsFile) {
  const TwoPackages tree;
  tree.Write("class/powercap/intel-rapl:1/energy_uj", "many");
  EXPECT_THAT(Refusal(OpenPowercap, tree, {0, 1, 2, 3}),
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
      Refusal(OpenPowercap, tree, {0, 1, 2, 3}),
      AllOf(HasSubstr("intel-rapl:0/energy_uj: only root may read it"), HasSubstr("udev rule")));
}

TEST(Powercap, AFileThatVanishesIsAnErrorOfItsReading) {
  const TwoPackages tree;
  const auto counters = OpenPowercap({tree.root(), {0, 1, 2, 3}});
  std::filesystem::remove_all(tree.root() / "class");
  EXPECT_THROW(counters.domains.at(0).joules(), BadInput);
}

const std::string kUnit = "bus/event_source/devices/power/";

void AddEvent(const MadeUpTree& tree, const std::string& name, const std::string& event,
              const std::string& scale) {
  const auto path = kUnit + "events/" + name;
  tree.Write(path, event);
  tree.Write(path + ".scale", scale);
  tree.Write(path + ".unit", "Joules");
}

// As Linux 6.1 writes it for a Xeon of two packages.
void AddUnit(const MadeUpTree& tree) {
  tree.Write(kUnit + "type", "9");
  tree.Write(kUnit + "cpumask", "0,28");
  AddEvent(tree, "energy-pkg", "event=0x02", "2.3283064365386962890625e-10");
  AddEvent(tree, "energy-ram", "event=0x03", "2.3283064365386962890625e-10");
}

TEST(ReadPowerUnit, ReadsTypeEventsScalesAndCpus) {
  const MadeUpTree tree;
  AddUnit(tree);
  const auto unit = ReadPowerUnit(tree.root());
  EXPECT_EQ(unit.type, 9u);
  EXPECT_THAT(unit.cpus, ElementsAre(0, 28));
  ASSERT_EQ(unit.events.size(), 2u);
  EXPECT_EQ(unit.events[1].name, "energy-ram");
  EXPECT_EQ(unit.events[1].config, 3u);
  EXPECT_DOUBLE_EQ(unit.events[1].joules, 0x1p-32);
}

TEST(ReadPowerUnit, RefusesWhatItDoesNotKnow) {
  const MadeUpTree tree;
  EXPECT_THAT(fakes::RefusalOf([&] { ReadPowerUnit(tree.root()); }), HasSubstr("virtual machine"));
  AddUnit(tree);
  tree.Write(kUnit + "events/energy-pkg.unit", "Watts");
  EXPECT_THAT(fakes::RefusalOf([&] { ReadPowerUnit(tree.root()); }),
              HasSubstr("energy-pkg.unit: expected Joules, got 'Watts'"));
  AddEvent(tree, "energy-pkg", "umask=0x02", "1");
  EXPECT_THAT(fakes::RefusalOf([&] { ReadPowerUnit(tree.root()); }), HasSubstr("'umask=0x02'"));
  AddEvent(tree, "energy-pkg", "event=0x02", "fast");
  EXPECT_THAT(fakes::RefusalOf([&] { ReadPowerUnit(tree.root()); }),
              HasSubstr("energy-pkg.scale: 'fast' is not a number"));
}

TEST(CpuList, ReadsRanges) {
  EXPECT_THAT(cpu::CpuList("0-2,8"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(cpu::CpuList("5"), ElementsAre(5));
}

TEST(PerfPower, RefusesSharedPackages) {
  const MadeUpTree tree;
  AddUnit(tree);
  EXPECT_THAT(Refusal(OpenPerfPower, tree, {0}), HasSubstr("the package of CPU 0 is unknown"));
  tree.Cpus(0, 0, 1);
  tree.Cpus(1, 28, 29);
  EXPECT_THAT(Refusal(OpenPerfPower, tree, {0, 28, 29}), HasSubstr("1 of the 2 CPUs of package 0"));
}

// The kernel's own counter of a CPU's time in nanoseconds stands for that of energy: 1e-9 J each
// make a CPU of 1 W.
TEST(PerfPower, ReadsEventsOfTheKernel) {
  const MadeUpTree tree;
  tree.Cpus(0, 0, 0);
  tree.Write(kUnit + "type", std::to_string(PERF_TYPE_SOFTWARE));
  tree.Write(kUnit + "cpumask", "0");
  AddEvent(tree, "energy-pkg", "event=0x0", "1e-9");  // PERF_COUNT_SW_CPU_CLOCK
  AddEvent(tree, "energy-psys", "event=0x0", "2e-9");
  const auto refusal = Refusal(OpenPerfPower, tree, {0});
  if (refusal != "accepted") {
    EXPECT_THAT(refusal, HasSubstr("kernel.perf_event_paranoid=0"));
    return;
  }
  const auto counters = OpenPerfPower({tree.root(), {0}});
  ASSERT_EQ(counters.domains.size(), 2u);
  EXPECT_EQ(counters.domains[0].name, "package-0");
  EXPECT_TRUE(counters.domains[0].counted);
  EXPECT_EQ(counters.domains[1].name, "psys");
  EXPECT_FALSE(counters.domains[1].counted);
  EXPECT_EQ(counters.covers, "packages; no DRAM, fans, NIC, power supply");
  const double before = counters.domains[0].joules();
  double after = before;
  for (int i = 0; i < 100'000'000 && after <= before; ++i) after = counters.domains[0].joules();
  EXPECT_GT(after, before);
}

}  // namespace
}  // namespace dlroof::energy
