
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "ceilings/cpu_kernels/flops.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_kernels {
namespace {

// A core that executes the chain's 3 cycles per multiplication at 1 GHz, or the kernel's cycles if
// these are more.
std::vector<ClockTrial> Trials(double kernel_cycles, double delay = 1) {
  std::vector<ClockTrial> trials;
  for (const int multiplications : {3, 4, 6, 12})
    trials.push_back(
        {multiplications, 1e-9 * std::max(kernel_cycles, 3 * multiplications * delay)});
  return trials;
}

TEST(ChooseClock, TakesTheShortestChainThatIsLongerThanTheKernel) {
  EXPECT_EQ(ChooseClock(8e-9, Trials(8), false), 0);    // 9 cycles
  EXPECT_EQ(ChooseClock(9e-9, Trials(9), false), 1);    // 9 is not longer than 9
  EXPECT_EQ(ChooseClock(16e-9, Trials(16), false), 2);  // 18
  EXPECT_EQ(ChooseClock(40e-9, Trials(40), false), std::nullopt);
  EXPECT_EQ(ChooseClock(8e-9, {}, false), std::nullopt);
}

// The kernel delays the two shortest chains by a third: they would show a clock that is too low.
TEST(ChooseClock, LeavesOutChainsThatTheKernelDelays) {
  auto trials = Trials(8);
  trials[0].seconds *= 1.33;
  trials[1].seconds *= 1.33;
  EXPECT_EQ(ChooseClock(8e-9, trials, false), 0);
  EXPECT_EQ(ChooseClock(8e-9, trials, true), 2);
}

TEST(ChooseClock, OnASharedPortNeedsALongerChainThatAgrees) {
  EXPECT_EQ(ChooseClock(30e-9, Trials(30), true), std::nullopt);  // only the longest is longer
  EXPECT_EQ(ChooseClock(30e-9, Trials(30), false), 3);
}

TEST(FindLoadClock, HasNoClockWithoutClockKernels) {
  const FlopsProbe probe{.key = "fp32.vector.sse2", .kernel = nullptr};
  EXPECT_FALSE(FindLoadClock(probe, [](Kernel, std::int64_t) -> double {
    ADD_FAILURE() << "nothing to run";
    return 1;
  }));
}

void First(Workspace&, std::int64_t) {}
void Second(Workspace& workspace, std::int64_t) { ++workspace.next; }
void Third(Workspace& workspace, std::int64_t) { ++workspace.floats; }

// The kernel needs 10 ns, its clocks 9 ns (of 3 multiplications, bound by the kernel) and 18 ns.
TEST(FindLoadClock, TimesTheKernelAndItsClocks) {
  const FlopsProbe probe{
      .key = "k", .vector_bytes = 64, .kernel = First, .clocks = {{3, Second}, {6, Third}}};
  const auto found = FindLoadClock(probe, [](Kernel kernel, std::int64_t iterations) {
    return 1e-9 * static_cast<double>(iterations) * (kernel == Third ? 18 : 10);
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->clock.multiplications, 6);
  EXPECT_EQ(found->iterations, 4444);  // 80 us
}

TEST(Clocks, OfEachKernelDoItsWork) {
  const auto workspace = std::make_unique<Workspace>();
  int clocks = 0;
  for (auto probe : FlopsProbesFor(cpu::ThisCpu().features))
    for (const auto& clock : std::vector(probe.clocks)) {
      probe.kernel = clock.kernel;
      const auto validation = ValidateFlopsKernel(probe, *workspace);
      EXPECT_TRUE(validation.passed) << probe.key << ": " << validation.text;
      ++clocks;
    }
  EXPECT_GT(clocks, 20);
}

TEST(Clocks, OfAllKernelsHaveRisingChains) {
  for (const auto& probe : AllFlopsProbes())
    for (std::size_t i = 1; i < probe.clocks.size(); ++i)
      EXPECT_GT(probe.clocks[i].multiplications, probe.clocks[i - 1].multiplications) << probe.key;
}

}  // namespace
}  // namespace dlroof::cpu_kernels
