#include "counters/energy/energy_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "counters/base/error.h"

namespace dlroof::energy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

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

TEST(MeasureEnergy, IsTheJoulesOfACallInThreeWindows) {
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
}

// NVML's counter shows what was 0 to 100 ms ago. Windows that began anywhere would be off by up to
// 5 % of 2 s.
TEST(MeasureEnergy, WindowsBeginAndEndWhenASlowCounterMoves) {
  FakeMachine machine{.call_seconds = 0.0037, .tick = 0.1};
  EXPECT_NEAR(EnergyOf(machine.Measure(machine.Meter(), 2)).joules, 110 * 0.0037,
              110 * 0.0037 * 0.0037 / 2);
}

TEST(MeasureEnergy, ACallLongerThanAWindowIsMeasuredWhole) {
  FakeMachine machine{.call_seconds = 10};
  EXPECT_NEAR(EnergyOf(machine.Measure(machine.Meter())).joules, 1100, 1e-6);
  EXPECT_EQ(machine.calls, 4);  // one to know how long it takes, one in each window
}

TEST(MeasureEnergy, TheIntervalIsStudentsOfThreeWindows) {
  FakeMachine machine{.call_seconds = 1};
  const auto call = [&] {
    machine.watts = 90 + 10 * (machine.calls % 3);
    machine.Call();
  };
  const auto energy =
      EnergyOf(MeasureEnergy(machine.Meter(), call, {0.5, [&] { return machine.seconds; }, {}}));
  // 110, 120 and 100 J: mean 110, standard deviation 10, and 4.30265 * 10 / sqrt(3) = 24.8414.
  EXPECT_NEAR(energy.joules, 110, 1e-9);
  EXPECT_NEAR(energy.ci95->first, 110 - 24.8414, 1e-3);
  EXPECT_NEAR(energy.ci95->second, 110 + 24.8414, 1e-3);
}

TEST(MeasureEnergy, ACounterThatBeginsAnewIsFollowed) {
  FakeMachine machine;
  auto meter = machine.Meter();
  meter.domains = {
      {"package-0", true, [&] { return machine.Show(), std::fmod(machine.shown + 60, 65); }, 65.0}};
  EXPECT_NEAR(EnergyOf(machine.Measure(meter)).joules, 0.1, 1e-9);
}

TEST(MeasureEnergy, ACounterThatGoesBackWithoutARangeIsNotTrusted) {
  FakeMachine machine;
  auto meter = machine.Meter();
  meter.domains = {{"gpu", true, [&] { return 100 - machine.seconds; }, {}}};
  EXPECT_THAT(ReasonOf(machine.Measure(meter)), HasSubstr("the energy counter of gpu went back"));
}

TEST(MeasureEnergy, ACounterThatStandsStillGivesNoEnergy) {
  FakeMachine machine;
  auto meter = machine.Meter();
  meter.domains[0].joules = [] { return 5.0; };
  meter.domains[1].joules = [] { return 7.0; };
  EXPECT_THAT(ReasonOf(machine.Measure(meter)),
              HasSubstr("the energy counter of package-0 did not advance in 1.0 s of calls"));
  // One of two is enough: a sum without it would be too small.
  meter = machine.Meter();
  meter.domains[1].joules = [] { return 7.0; };
  EXPECT_THAT(ReasonOf(machine.Measure(meter)),
              HasSubstr("the energy counter of dram-0 did not advance"));
}

TEST(MeasureEnergy, AWindowInWhichACounterMayBeginAnewTwiceGivesNone) {
  FakeMachine machine{.call_seconds = 61};
  EXPECT_THAT(ReasonOf(machine.Measure(machine.Meter())), HasSubstr("takes 61 s"));
}

TEST(MeasureEnergy, ACounterThatCanNoLongerBeReadGivesNone) {
  FakeMachine machine;
  auto meter = machine.Meter();
  meter.domains[0].joules = [&machine]() -> double {
    if (machine.seconds > 0.7) throw BadInput("energy_uj: Permission denied");
    return machine.Show(), machine.shown;
  };
  EXPECT_EQ(ReasonOf(machine.Measure(meter)), "energy_uj: Permission denied");
}

TEST(MeasureEnergy, KeepsHowManyCpusOthersHad) {
  FakeMachine machine;
  EnergyWindows windows{.now = [&] { return machine.seconds; }};
  windows.others = [&] { return 7 + 1.5 * machine.seconds; };
  const auto energy = EnergyOf(MeasureEnergy(
      machine.Meter(), [&] { machine.Call(); }, windows));
  EXPECT_NEAR(energy.others_cpus.value(), 1.5, 1e-6);
  EXPECT_TRUE(HasOthersEnergy(energy));
  EXPECT_FALSE(machine.Measure(machine.Meter()).energy->others_cpus);
  EXPECT_FALSE(HasOthersEnergy(Energy{.others_cpus = 0.05}));
  EXPECT_FALSE(HasOthersEnergy(Energy{}));
}

TEST(BusySeconds, AddsWhatIsNotIdle) {
  // 100 ticks a second: 1000 + 20 + 300 + 5 + 7 ticks; 9999 idle and 50 waiting ones do not count.
  const auto busy = BusySeconds("cpu  1000 20 300 9999 50 5 7 0 0 0\ncpu0 1 1 1 1 1 1 1\n", 100);
  EXPECT_DOUBLE_EQ(busy.value(), 13.32);
  EXPECT_FALSE(BusySeconds("", 100));
  EXPECT_FALSE(BusySeconds("cpu0 1 2 3 4 5 6 7", 100));
}

TEST(MeasureIdlePower, IsTheWattsOfAMachineThatWaits) {
  FakeMachine machine{.call_seconds = 1, .watts = 30};
  const auto idle = MeasureIdlePower(
      machine.Meter(), [&] { machine.Call(); }, [&] { return machine.seconds; });
  ASSERT_TRUE(idle);
  EXPECT_NEAR(idle->watts, 40, 1e-9);
  EXPECT_THAT(idle->domains, ElementsAre(Pair("dram-0", testing::DoubleEq(10)),
                                         Pair("package-0", testing::DoubleEq(30))));
  EXPECT_EQ(idle->seconds, 1);
  // Nothing is known of one that stands still.
  double seconds = 0;
  EXPECT_FALSE(MeasureIdlePower(
      machine.Meter(), [] {}, [&] { return ++seconds; }));
}

TEST(OpenEnergyMeter, WithoutCountersSaysWhyAndMeasuresNothing) {
  const auto meter = OpenEnergyMeter({"/nowhere", {0}});
  EXPECT_EQ(meter.from, "");
  EXPECT_THAT(meter.unavailable.value().text,
              HasSubstr("powercap: /nowhere/class/powercap has no"));
  EXPECT_EQ(ReasonOf(MeasureEnergy(meter, [] {}, {0.5, [] { return 0.0; }, {}})),
            meter.unavailable->text);
}

}  // namespace
}  // namespace dlroof::energy
