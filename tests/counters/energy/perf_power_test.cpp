#include "counters/energy/perf_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "counters/energy/kernel_file.h"
#include "tests/counters/energy/made_up_tree.h"
#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kUnit[] = "bus/event_source/devices/power/";

void AddEvent(const MadeUpTree& tree, const std::string& name, const std::string& event,
              const std::string& scale) {
  const auto path = kUnit + ("events/" + name);
  tree.Write(path, event);
  tree.Write(path + ".scale", scale);
  tree.Write(path + ".unit", "Joules");
}

// As Linux 6.1 writes it for a Xeon of two packages.
void AddUnit(const MadeUpTree& tree) {
  tree.Write(kUnit + std::string("type"), "9");
  tree.Write(kUnit + std::string("cpumask"), "0,28");
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
  EXPECT_THAT(RefusalOf([&] { ReadPowerUnit(tree.root()); }), HasSubstr("virtual machine"));
  AddUnit(tree);
  tree.Write(kUnit + std::string("events/energy-pkg.unit"), "Watts");
  EXPECT_THAT(RefusalOf([&] { ReadPowerUnit(tree.root()); }),
              HasSubstr("energy-pkg.unit: 'Watts' is not Joules"));
  AddEvent(tree, "energy-pkg", "umask=0x02", "1");
  EXPECT_THAT(RefusalOf([&] { ReadPowerUnit(tree.root()); }), HasSubstr("'umask=0x02'"));
  AddEvent(tree, "energy-pkg", "event=0x02", "fast");
  EXPECT_THAT(RefusalOf([&] { ReadPowerUnit(tree.root()); }),
              HasSubstr("energy-pkg.scale: 'fast' is not a number"));
}

TEST(CpuList, ReadsRanges) {
  EXPECT_THAT(CpuList("0-2,8"), ElementsAre(0, 1, 2, 8));
  EXPECT_THAT(CpuList("5"), ElementsAre(5));
}

TEST(PerfPower, RefusesSharedPackages) {
  const MadeUpTree tree;
  AddUnit(tree);
  EXPECT_THAT(Opened("perf", tree, {0}).why_not, HasSubstr("the package of CPU 0 is not known"));
  tree.Cpus(0, 0, 1);
  tree.Cpus(1, 28, 29);
  EXPECT_THAT(Opened("perf", tree, {0, 28, 29}).why_not, HasSubstr("1 of the 2 CPUs of package 0"));
}

// The kernel's own counter of a CPU's time in nanoseconds stands for that of energy: 1e-9 J each
// make a CPU of 1 W.
TEST(PerfPower, ReadsEventsOfTheKernel) {
  const MadeUpTree tree;
  tree.Cpus(0, 0, 0);
  tree.Write(kUnit + std::string("type"), std::to_string(PERF_TYPE_SOFTWARE));
  tree.Write(kUnit + std::string("cpumask"), "0");
  AddEvent(tree, "energy-pkg", "event=0x0", "1e-9");  // PERF_COUNT_SW_CPU_CLOCK
  AddEvent(tree, "energy-psys", "event=0x0", "2e-9");
  const auto counters = Opened("perf", tree, {0});
  if (!counters.why_not.empty()) {
    EXPECT_THAT(counters.why_not, HasSubstr("kernel.perf_event_paranoid=0"));
    return;
  }
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
}  // namespace dlroof
