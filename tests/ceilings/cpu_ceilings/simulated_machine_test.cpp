// Roofs of a simulated core over many visits: its repetitions have made-up times, waits and clocks,
// and everything above them is the real code. A roof may be validated only if the core showed what
// it can do.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"

namespace dlroof::cpu_ceilings {
namespace {

constexpr double kFull = 3e9;         // [1/s] clock without a load
constexpr double kStepsPerCycle = 2;  // what the units can do
constexpr double kStepsPerIteration = 16;

// What happens to the core during a visit.
struct Host {
  double clock = kFull;          // [1/s] under the kernel
  double held = 1;               // [1] share of the units' rate: the host holds them back
  double neighbour = 1;          // [1] share of the core that a neighbour leaves
  double noisy = 0;              // [1] share of repetitions in which a thread waits
  bool clock_under_load = true;  // false: the clock is read when it has recovered
};

cpu_kernels::FlopsProbe Probe() {
  return {.key = "fp32.vector.avx512",
          .instructions = "vfmaddps zmm",
          .operands = cpu_kernels::Operands::kFp32,
          .recurrence = cpu_kernels::Recurrence::kFusedMultiplyAdd,
          .issue = cpu_kernels::Issue::kOne,
          .vector_bytes = 64,
          .accumulators = 16,
          .sweeps = 1,
          .kernel = nullptr};
}

class SimulatedCore {
 public:
  explicit SimulatedCore(unsigned seed) : random_(seed) {}

  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  bool Chance(double probability) { return Uniform(0, 1) < probability; }
  int Whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  machine::Ceiling Visit(const Host& host, int number) {
    constexpr cpu_kernels::CoreRates kCore = {.fused = 2, .fused_512 = kStepsPerCycle};
    machine::RatePolicy policy{.repetitions = 16, .doubled = 6, .max_seconds = 0.5};
    policy.now = [this] { return now_; };
    Row row{.how = "h", .work_per_iteration = cpu_kernels::FlopsPerIteration(Probe())};
    for (int pass = 0; pass < 3; ++pass)
      row.passes.push_back(machine::MeasureRate(
          [&](std::int64_t iterations) { return Repetition(host, iterations); }, policy));
    auto ceiling = FinishedFlops(row, Probe(), 1, policy, kPassTolerance, kCore);
    ceiling.visits.back().at = std::to_string(number);
    ceiling.visits.back().validated = ceiling.IsValidated();
    return ceiling;
  }

 private:
  machine::TeamTime Repetition(const Host& host, std::int64_t iterations) {
    const double steps_per_second =
        host.clock * kStepsPerCycle * host.held * host.neighbour * Uniform(0.99, 1);
    machine::TeamTime time;
    time.seconds = static_cast<double>(iterations) * kStepsPerIteration / steps_per_second;
    time.wait_fraction = 0;
    if (Chance(host.noisy)) {
      time.wait_fraction = 0.3;
      time.seconds *= Uniform(1.2, 2);
    }
    time.clock_hz = host.clock_under_load ? host.clock : kFull;
    now_ += time.seconds;
    return time;
  }

  std::mt19937 random_;
  double now_ = 0;  // [s]
};

machine::Ceiling After(SimulatedCore& core, const std::vector<Host>& hosts) {
  machine::Ceiling learned;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto now = core.Visit(hosts[i], static_cast<int>(i));
    learned = i == 0 ? now : machine::Learned(learned, now, machine::kArithmeticAgreement);
  }
  return learned;
}

double RateAt(double clock) { return clock * kStepsPerCycle * cpu_kernels::FlopsPerStep(Probe()); }

TEST(SimulatedMachine, ALowerClockUnderTheLoadIsNoDefect) {
  SimulatedCore core(1);
  const auto roof = After(core, {{.clock = 0.8 * kFull}});
  EXPECT_TRUE(roof.IsValidated()) << roof.ReasonText();
  EXPECT_NEAR(roof.per_second / RateAt(0.8 * kFull), 1, 0.02);
  EXPECT_EQ(roof.clock_hz, 0.8 * kFull);
}

TEST(SimulatedMachine, AClockThatIsReadAfterTheLoadValidatesNothing) {
  SimulatedCore core(1);
  const Host recovered{.clock = 0.8 * kFull, .clock_under_load = false};
  EXPECT_FALSE(After(core, {recovered, recovered, recovered}).IsValidated());
}

TEST(SimulatedMachine, AHostThatHoldsTheUnitsBackValidatesNothing) {
  SimulatedCore core(1);
  for (const double held : {0.4, 0.6, 0.84, 0.95}) {
    const Host host{.held = held};
    EXPECT_FALSE(After(core, {host, host, host, host}).IsValidated()) << held;
  }
}

TEST(SimulatedMachine, ANeighbourAllTheTimeValidatesNothing) {
  SimulatedCore core(1);
  for (const double left : {0.55, 0.7, 0.9}) {
    const Host host{.neighbour = left};
    EXPECT_FALSE(After(core, {host, host, host, host}).IsValidated()) << left;
  }
}

TEST(SimulatedMachine, ThreeBusyVisitsValidateWhatOneCould) {
  int validated = 0;
  constexpr int kMachines = 50;
  for (int seed = 0; seed < kMachines; ++seed) {
    SimulatedCore core(static_cast<unsigned>(seed));
    const Host busy{.noisy = 0.8};
    const auto roof = After(core, {busy, busy, busy});
    validated += roof.IsValidated() ? 1 : 0;
    EXPECT_LE(roof.per_second, 1.001 * RateAt(kFull));
  }
  EXPECT_GE(validated, 0.9 * kMachines);
}

TEST(SimulatedMachine, AValidatedRoofStaysWhateverComesLater) {
  SimulatedCore core(1);
  const auto roof =
      After(core, {{}, {.noisy = 1}, {.held = 0.5}, {.neighbour = 0.6}, {.noisy = 0.9}});
  EXPECT_TRUE(roof.IsValidated());
  EXPECT_NEAR(roof.per_second / RateAt(kFull), 1, 0.02);
}

TEST(SimulatedMachine, AClockThatRisesLaterLiftsTheRoof) {
  SimulatedCore core(1);
  const auto roof = After(core, {{.clock = 0.7 * kFull}, {.clock = 0.9 * kFull}});
  EXPECT_TRUE(roof.IsValidated());
  EXPECT_NEAR(roof.per_second / RateAt(0.9 * kFull), 1, 0.02);
}

// Returns a visit of any kind.
Host AnyHost(SimulatedCore& core) {
  Host host;
  if (core.Chance(0.3)) host.clock *= core.Uniform(0.6, 1);
  if (core.Chance(0.25)) host.held = core.Uniform(0.3, 0.95);
  if (core.Chance(0.25)) host.neighbour = core.Uniform(0.55, 0.9);
  if (core.Chance(0.4)) host.noisy = core.Uniform(0.3, 1);
  if (core.Chance(0.1)) host.clock_under_load = false;
  return host;
}

bool Free(const Host& host) { return host.held == 1 && host.neighbour == 1; }

TEST(SimulatedMachine, In200HistoriesARoofIsValidatedOnlyIfTheCoreShowedIt) {
  int validated = 0, should = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SimulatedCore core(seed);
    std::vector<Host> hosts(static_cast<std::size_t>(core.Whole(1, 6)));
    double highest = 0;  // [1/s] clock of a visit in which nothing held the units back
    bool quiet = false;
    for (auto& host : hosts) {
      host = AnyHost(core);
      if (Free(host)) highest = std::max(highest, host.clock);
      quiet = quiet || (Free(host) && host.noisy < 0.5 && host.clock_under_load);
    }
    const auto roof = After(core, hosts);
    should += quiet ? 1 : 0;
    validated += roof.IsValidated() ? 1 : 0;
    EXPECT_TRUE(roof.IsValidated() || !quiet) << seed << ": " << roof.ReasonText();
    if (!roof.IsValidated()) continue;
    ASSERT_GT(highest, 0) << seed << ": no visit had the whole core";
    // Other visits may have had a higher clock; then this rate is one that the core reached.
    EXPECT_LE(roof.per_second, 1.001 * RateAt(highest)) << seed;
    EXPECT_NEAR(roof.validation.per_cycle.value() / (kStepsPerCycle * 32), 1, 0.03) << seed;
  }
  EXPECT_GT(should, 60);
  EXPECT_LT(validated, 200);
}

}  // namespace
}  // namespace dlroof::cpu_ceilings
