#include "counters/energy/energy_meter.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "counters/base/error.h"
#include "tests/fakes/refusal.h"

namespace dlroof::energy {
namespace {

using testing::ElementsAre, testing::HasSubstr;

// A machine with a clock of its own: a call takes `call_seconds` and `watts` meanwhile. Counters
// move at multiples of `tick`.
struct FakeMachine {
  double call_seconds = 0.001, watts = 100, tick = 0.001;
  double seconds = 0, joules = 0, dram_joules = 0;
  double shown_at = 0, shown = 0, dram_shown = 0;
  int calls = 0;

  void Call() {
    ++calls;
    seconds += call_seconds;
    joules += watts * call_seconds;
    dram_joules += 10 * call_seconds;
  }
  void Show() {
    const double at = tick * std::floor(seconds / tick * (1 + 1e-12));
    if (at <= shown_at) return;
    shown = joules - watts * (seconds - at);
    dram_shown = dram_joules - 10 * (seconds - at);
    shown_at = at;
  }
  EnergyMeter Meter() {
    EnergyMeter meter{"fake", {}, "packages", {}};
    meter.domains.push_back({"package-0", true, [this] { return Show(), shown; }, {}});
    meter.domains.push_back({"dram-0", true, [this] { return Show(), dram_shown; }, {}});
    meter.domains.push_back({"psys", false, [this] { return Show(), 2 * shown; }, {}});
    return meter;
  }
  EnergyResult Measure(const EnergyMeter& meter, double least_seconds = 0.5) {
    return MeasureEnergy(meter, [this] { Call(); },
                         {least_seconds, [this] { return seconds; }, {}});
  }
};

// Returns what was measured, which must be there.
Energy EnergyOf(const EnergyResult& found) {
  EXPECT_EQ(found.reason, std::nullopt);
  return found.energy.value();
}
std::string ReasonOf(const EnergyResult& found) {
  EXPECT_FALSE(found.energy);
  return found.reason.value().text;
}

TEST(MeasureEnergy, IsTheJoulesOfACallInThreeWindowsWithTheCpusThatOthersHad) {
  FakeMachine machine;
  const auto energy = EnergyOf(machine.Measure(machine.Meter()));
  // 1 ms of 100 W and 10 W.
  EXPECT_NEAR(energy.joules, 0.11, 1e-9);
  EXPECT_NEAR(energy.domains.at("package-0"), 0.1, 1e-9);
  EXPECT_NEAR(energy.domains.at("dram-0"), 0.01, 1e-9);
  EXPECT_NEAR(energy.beside.at("psys"), 0.2, 1e-9);
  EXPECT_EQ(energy.domains.size(), 2u);
  EXPECT_NEAR(energy.seconds, 0.001, 1e-12);
  EXPECT_GE(energy.window_seconds, 0.5);
  EXPECT_EQ(energy.from, "fake");
  EXPECT_NEAR(energy.ci95->second - energy.ci95->first, 0, 1e-9);
  // NVML's counter shows what was 0 to 100 ms ago. Windows that began anywhere would be off by up
  // to 5 % of 2 s.
  FakeMachine slow{.call_seconds = 0.0037, .tick = 0.1};
  EXPECT_NEAR(EnergyOf(slow.Measure(slow.Meter(), 2)).joules, 110 * 0.0037,
              110 * 0.0037 * 0.0037 / 2);
  FakeMachine busy;
  EnergyWindows windows{.now = [&] { return busy.seconds; }};
  windows.others = [&] { return 7 + 1.5 * busy.seconds; };
  const auto shared = EnergyOf(MeasureEnergy(
      busy.Meter(), [&] { busy.Call(); }, windows));
  EXPECT_NEAR(shared.others_cpus.value(), 1.5, 1e-6);
  EXPECT_TRUE(HasOthersEnergy(shared));
  EXPECT_FALSE(busy.Measure(busy.Meter()).energy->others_cpus);
  EXPECT_FALSE(HasOthersEnergy(Energy{.others_cpus = 0.05}));
  EXPECT_FALSE(HasOthersEnergy(Energy{}));
}

TEST(MeasureEnergy, ACallLongerThanAWindowIsMeasuredWholeAndTheIntervalIsStudents) {
  FakeMachine machine{.call_seconds = 10};
  EXPECT_NEAR(EnergyOf(machine.Measure(machine.Meter())).joules, 1100, 1e-6);
  EXPECT_EQ(machine.calls, 4);  // one to know how long it takes, one in each window
  FakeMachine varying{.call_seconds = 1};
  const auto call = [&] {
    varying.watts = 90 + 10 * (varying.calls % 3);
    varying.Call();
  };
  const auto energy =
      EnergyOf(MeasureEnergy(varying.Meter(), call, {0.5, [&] { return varying.seconds; }, {}}));
  // 110, 120 and 100 J: mean 110, standard deviation 10, and 4.30265 * 10 / sqrt(3) = 24.8414.
  EXPECT_NEAR(energy.joules, 110, 1e-9);
  EXPECT_NEAR(energy.ci95->first, 110 - 24.8414, 1e-3);
  EXPECT_NEAR(energy.ci95->second, 110 + 24.8414, 1e-3);
  FakeMachine wrapping;
  auto meter = wrapping.Meter();
  meter.domains = {{"package-0", true,
                    [&] { return wrapping.Show(), std::fmod(wrapping.shown + 60, 65); }, 65.0}};
  EXPECT_NEAR(EnergyOf(wrapping.Measure(meter)).joules, 0.1, 1e-9);
}

TEST(MeasureEnergy, ACounterThatCannotBeTrustedGivesNone) {
  FakeMachine machine;
  auto meter = machine.Meter();
  meter.domains = {{"gpu", true, [&] { return 100 - machine.seconds; }, {}}};
  EXPECT_THAT(ReasonOf(machine.Measure(meter)), HasSubstr("the energy counter of gpu went back"));
  // One of two is enough: a sum without it would be too small.
  meter = machine.Meter();
  meter.domains[1].joules = [] { return 7.0; };
  EXPECT_THAT(ReasonOf(machine.Measure(meter)),
              HasSubstr("the energy counter of dram-0 did not advance"));
  machine = {.call_seconds = 61};  // a counter may begin anew twice in it
  EXPECT_THAT(ReasonOf(machine.Measure(machine.Meter())), HasSubstr("takes 61 s"));
  machine = {};
  meter = machine.Meter();
  meter.domains[0].joules = [&machine]() -> double {
    if (machine.seconds > 0.7) throw BadInput("energy_uj: Permission denied");
    return machine.Show(), machine.shown;
  };
  EXPECT_EQ(ReasonOf(machine.Measure(meter)), "energy_uj: Permission denied");
}

TEST(BusySeconds, AddsWhatIsNotIdle) {
  // 100 ticks a second: 1000 + 20 + 300 + 5 + 7 ticks; 9999 idle and 50 waiting ones do not count.
  const auto busy = BusySeconds("cpu  1000 20 300 9999 50 5 7 0 0 0\ncpu0 1 1 1 1 1 1 1\n", 100);
  EXPECT_DOUBLE_EQ(busy.value(), 13.32);
  EXPECT_FALSE(BusySeconds("", 100));
  EXPECT_FALSE(BusySeconds("cpu0 1 2 3 4 5 6 7", 100));
}

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
std::vector<std::string> Names(const EnergyMeter& counters) {
  std::vector<std::string> names;
  for (const auto& domain : counters.domains)
    names.push_back(domain.name + (domain.counted ? "" : "*"));
  return names;
}

TEST(Powercap, CountsPackagesAndTheirDramIfTheyAreOursAndNeverWhatContainsThem) {
  const TwoPackages tree;
  const auto counters = OpenPowercap({tree.root(), {0, 1, 2, 3}});
  EXPECT_THAT(Names(counters), ElementsAre("package-0", "dram-0", "package-1", "dram-1", "psys*"));
  EXPECT_EQ(counters.covers, "packages and DRAM; no fans, NIC, power supply");
  EXPECT_DOUBLE_EQ(counters.domains[1].joules(), 0.7);
  EXPECT_DOUBLE_EQ(counters.domains[1].range_joules.value(), 262143.32885);
  tree.Zone("intel-rapl:0:1", "dram", 900000);
  EXPECT_DOUBLE_EQ(counters.domains[1].joules(), 0.9);
  EXPECT_THAT(Refusal(tree, {0, 1, 2}),
              HasSubstr("this process may use only 1 of the 2 CPUs of package 1, but the counter"));
  // A process on package 0 alone takes nothing of package 1.
  EXPECT_THAT(Names(OpenPowercap({tree.root(), {0, 1}})),
              ElementsAre("package-0", "dram-0", "psys*"));
  EXPECT_THAT(Refusal(tree, {7}), HasSubstr("may use no CPU of the packages"));
  std::filesystem::remove_all(tree.root() / "class");
  EXPECT_THROW(counters.domains.at(0).joules(), BadInput);
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

TEST(Powercap, TheSameCountersByMemoryMappedRegistersAreNotCountedTwiceAndTextIsRefused) {
  const TwoPackages tree;
  tree.Zone("intel-rapl-mmio:0", "package-0", 5000000);
  EXPECT_EQ(OpenPowercap({tree.root(), {0, 1, 2, 3}}).domains.size(), 5u);
  tree.Write("class/powercap/intel-rapl:1/energy_uj", "many");
  EXPECT_THAT(Refusal(tree, {0, 1, 2, 3}),
              HasSubstr("intel-rapl:1/energy_uj: 'many' is not a number of microjoules"));
}

TEST(Powercap, WithoutATreeSaysWhyAndCpusThatAreNotKnownAreNotTakenForOurs) {
  const MadeUpTree tree;
  fakes::ExpectHas(Refusal(tree, {0}), {"class/powercap has no intel-rapl:*", "virtual machine"});
  tree.Zone("intel-rapl:0", "package-0", 1);
  fakes::ExpectHas(Refusal(tree, {0}), {"the CPUs of package 0 are unknown", "devices/system"});
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
  fakes::ExpectHas(Refusal(tree, {0, 1, 2, 3}),
                   {"intel-rapl:0/energy_uj: only root may read it", "udev rule"});
}

}  // namespace
}  // namespace dlroof::energy
