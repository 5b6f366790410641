#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <random>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "tests/fakes/broken_cpu_kernels.h"

namespace dlroof::cpu_ceilings {
namespace {

using testing::HasSubstr;

// The ceilings of kernels that are wrong on purpose, after a whole measurement.

// One thread, no second chance.
MeasureSession Session() {
  constexpr Effort kBrief = {{"planted", 1e-4, 3, 1, 1, 0}, 1, 0};
  MeasureSession session{cpu::ThisCpu(), kBrief};
  const std::vector<int> cpus = {session.cpu.allowed.front()};
  session.sets[1].sets[Level::kL1] = {{1 << 14, "16 KiB", {}}};
  session.bench = std::make_unique<CpuBench>(cpus);
  return session;
}

constexpr double kRowSeconds = 0.05;  // [s] at most

void RunSteps(MeasureSession& session, double seconds = kRowSeconds) {
  for (const auto& step : session.steps) step.run(seconds);
}

cpu_kernels::FlopsProbe Named(const std::string& key, cpu_kernels::FlopsProbe probe) {
  probe.key = key;
  return probe;
}

machine::CeilingSet MeasuredFlops(const std::vector<cpu_kernels::FlopsProbe>& probes,
                                  double seconds = kRowSeconds) {
  auto session = Session();
  session.flops_probes = probes;
  AddFlopsSteps(session, 1, 0);
  RunSteps(session, seconds);
  FinishFlops(session);
  auto set = session.machine.by_threads.at(1);
  machine::AddPipeRoofs(set.flops);
  return set;
}

TEST(PlantedFault, LeavesItsRowNotValidatedWithAnyErrorPossibleAndLeavesTheRoofNotValidated) {
  auto set = MeasuredFlops({Named("fp32.vector.sound", fakes::SoundProbe()),
                            Named("fp32.vector.dead_sum", fakes::DeadSumProbe()),
                            Named("fp32.vector.half_width", fakes::HalfWidthProbe()),
                            Named("fp32.vector.half", fakes::HalfTheAccumulators()),
                            Named("fp32.vector.hoisted", fakes::HoistedLoopProbe())});
  for (const char* key : {"dead_sum", "half_width", "half", "hoisted"}) {
    const auto& ceiling = set.flops.at(std::string("fp32.vector.") + key);
    EXPECT_FALSE(ceiling.IsValidated()) << key;
    EXPECT_TRUE(ceiling.unbounded) << key;
    EXPECT_THAT(ceiling.ReasonText(), HasSubstr("differs from a plain loop")) << key;
  }
  EXPECT_FALSE(set.flops.at("fp32.vector.sound").unbounded);
  // Work that is done once, whatever is counted, is the fastest row: the roof that it makes is
  // drawn dashed and judges nothing. Half a second is enough to count that far on a busy machine,
  // too.
  set = MeasuredFlops({Named("fp32.vector.sound", fakes::SoundProbe()),
                       Named("fp32.vector.hoisted", fakes::HoistedLoopProbe())},
                      0.5);
  const auto& roof = set.flops.at("fp32.vector");
  EXPECT_EQ(roof.per_second, set.flops.at("fp32.vector.hoisted").per_second);
  EXPECT_FALSE(roof.IsValidated());
  EXPECT_TRUE(roof.unbounded);
}

using Broken = fakes::BrokenBytes<cpu_kernels::BytesSse2>;

void StoreByMemset(cpu_kernels::Workspace& workspace, std::int64_t iterations) {
  const auto step = cpu_kernels::BytesSse2().step_floats;
  for (; iterations > 0; --iterations) {
    std::memset(workspace.arrays[0] + workspace.next, 0x40, step * sizeof(float));
    Broken::Advance(workspace, 1);
  }
}

// L1 of one thread, measured with these kernels.
machine::CeilingSet MeasuredBytes(const cpu_kernels::BytesIsa& isa) {
  auto session = Session();
  session.effort.name = "brief";
  session.bytes_isas = {&isa};
  AddBytesSteps(session, 1, 0);
  for (const auto& step : session.steps)
    if (step.row) step.run(kRowSeconds);  // no curves: they take other kernels
  FinishBytes(session);
  return session.machine.by_threads.at(1);
}

TEST(PlantedFault, LeavesTheMixNotValidated) {
  static const cpu_kernels::BytesIsa kBroken = [] {
    auto isa = cpu_kernels::BytesSse2();
    isa.copy = Broken::CopyByMemcpy;
    isa.load = Broken::LoadNothing;
    isa.store = StoreByMemset;
    isa.update = Broken::HalfWidth<cpu_kernels::BytesOperation::kUpdate>;
    return isa;
  }();
  const auto set = MeasuredBytes(kBroken);
  const auto row = [&](const std::string& mix) {
    return set.mixes.at("l1." + mix + "." + kBroken.name);
  };
  EXPECT_THAT(row("copy").ReasonText(), HasSubstr("memcpy"));
  EXPECT_THAT(row("load").ReasonText(), HasSubstr("has not loaded every vector"));
  EXPECT_THAT(row("store").ReasonText(), HasSubstr("differ from those of a plain loop"));
  EXPECT_THAT(row("update").ReasonText(), HasSubstr("vectors have another width"));
  for (const char* mix : {"copy", "load", "store", "update"}) {
    EXPECT_FALSE(row(mix).IsValidated()) << mix;
    EXPECT_TRUE(row(mix).unbounded) << mix;
  }
  EXPECT_THAT(row("triad").ReasonText(),
              testing::Not(HasSubstr("the kernel does not do the work")));
  EXPECT_FALSE(set.bytes.at(Level::kL1).IsValidated()) << "no load is the fastest mix";
}

// 10, 8 and 5 a second, of which the last was noisy throughout: 1 - 8 / 10.
TEST(RowDrift, IsThatOfTheCleanPasses) {
  Row row;
  for (const double per_second : {10.0, 8.0, 5.0}) {
    EXPECT_NEAR(row.Drift().value_or(-1), row.passes.size() < 2 ? -1 : 0.2, 1e-12);
    row.passes.push_back({.per_second = per_second, .clean = per_second > 5 ? 3 : 0});
  }
  EXPECT_NEAR(row.Drift().value_or(-1), 0.2, 1e-12);
}

// The memory of one mix is not to be had: its row is absent, with the reason, and no other.
TEST(UnmeasuredRow, IsAbsentAndTheOthersAreNot) {
  auto session = Session();
  session.effort.name = "quick";
  session.bytes_isas = {&cpu_kernels::BytesSse2()};
  AddBytesSteps(session, 1, 0);
  for (auto step : session.steps) {
    if (step.row == "l1.triad.sse2") step.run = [](double) { throw std::bad_alloc(); };
    TryStep(session, step, kRowSeconds);
  }
  FinishBytes(session);
  const auto& set = session.machine.by_threads.at(1);
  EXPECT_FALSE(set.mixes.contains("l1.triad.sse2"));
  EXPECT_TRUE(set.mixes.contains("l1.copy.sse2"));
  EXPECT_GT(set.bytes.at(Level::kL1).per_second, 0);
  EXPECT_EQ(set.absent.at("l1.triad.sse2"), "not enough memory");
  RunSteps(session);
  FinishBytes(session);
  EXPECT_FALSE(set.absent.contains("l1.triad.sse2")) << "another pass measured it";
}

// Arrays that fit L1 as the set of L2.
TEST(PlantedFault, OfASetInANearerCacheLeavesTheLevelNotValidated) {
  auto session = Session();
  if (!ThreadShares(session.cpu.topology, {session.cpu.allowed.front()}).contains(Level::kL1))
    GTEST_SKIP() << "the system does not report the size of L1";
  session.effort.name = "quick";
  session.sets[1].sets = {{Level::kL2, {{1 << 13, "8 KiB", {}}}}};
  AddBytesSteps(session, 1, 0);
  RunSteps(session);
  FinishBytes(session);
  const auto& roof = session.machine.by_threads.at(1).bytes.at(Level::kL2);
  EXPECT_FALSE(roof.IsValidated());
  EXPECT_TRUE(roof.unbounded);
  EXPECT_THAT(roof.ReasonText(), HasSubstr("its share of L1"));
}

// Roofs of a simulated core over many visits: its repetitions have made-up times, waits and clocks,
// and everything above them is the real code. A roof may be validated only if the core showed what
// it can do.

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

TEST(SimulatedMachine, ALowerClockUnderTheLoadIsNoDefectButAHostThatHoldsTheUnitsBack) {
  SimulatedCore core(1);
  const auto roof = After(core, {{.clock = 0.8 * kFull}});
  EXPECT_TRUE(roof.IsValidated()) << roof.ReasonText();
  EXPECT_NEAR(roof.per_second / RateAt(0.8 * kFull), 1, 0.02);
  EXPECT_EQ(roof.clock_hz, 0.8 * kFull);
  SimulatedCore after(1);
  const Host recovered{.clock = 0.8 * kFull, .clock_under_load = false};
  EXPECT_FALSE(After(after, {recovered, recovered, recovered}).IsValidated());
  SimulatedCore held_back(1);
  for (const double held : {0.4, 0.6, 0.84, 0.95}) {
    const Host host{.held = held};
    EXPECT_FALSE(After(held_back, {host, host, host, host}).IsValidated()) << held;
  }
}

TEST(SimulatedMachine, ThreeBusyVisitsValidateARoof) {
  int validated = 0;
  constexpr int kMachines = 50;
  for (int seed = 0; seed < kMachines; ++seed) {
    SimulatedCore other(static_cast<unsigned>(seed));
    const Host busy{.noisy = 0.8};
    const auto roof = After(other, {busy, busy, busy});
    validated += roof.IsValidated() ? 1 : 0;
    EXPECT_LE(roof.per_second, 1.001 * RateAt(kFull));
  }
  EXPECT_GE(validated, 0.9 * kMachines);
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
