#include <gtest/gtest.h>

#include <random>

#include "reporters/roofline/breakdown.h"
#include "reporters/roofline/breakdown_text.h"
#include "tests/reporters/roofline/component_seconds.h"

namespace dlroof::roofline {
namespace {

LaunchedKernel Kernel(double seconds, double waves, int launches = 1) {
  return {"kernel", launches, seconds, KernelFacts{.blocks = 1, .waves = waves}};
}

// A call of 100 s in which two kernels run for 80 s: 60 s in 1.5 waves, 20 s in 2 waves.
struct GpuCall {
  BreakdownFacts facts = {.seconds = 100,
                          .roof_seconds = 30,
                          .roof = "arithmetic",
                          .call_seconds = 4,
                          .levels = {{"DRAM", 10, Provenance::kMeasured}}};
  std::vector<LaunchedKernel> kernels = {Kernel(60, 1.5), Kernel(20, 2)};

  std::optional<Breakdown> Made() const { return MakeGpuBreakdown(facts, kernels); }
};

TEST(GpuBreakdown, SplitsTheTimeByItsKernels) {
  const auto breakdown = GpuCall().Made().value();
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kRoof), 30);
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kTail), 60 * 0.25);
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kLevels), 10);
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kUnexplained), 80 - 30 - 15 - 10);
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kLaunch), 8);
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kIdle), 12);
  EXPECT_DOUBLE_EQ(Sum(breakdown), 100);
  EXPECT_EQ(breakdown.starts, 2);
}

// Without traced times, what the launches leave is the kernels'.
TEST(GpuBreakdown, OfUntracedKernelsNeedsTheCostOfALaunch) {
  GpuCall call;
  call.kernels[1].seconds.reset();
  const auto breakdown = call.Made().value();
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kLaunch), 8);
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kTail), 0);  // of two unlike kernels
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kIdle), 0);
  EXPECT_DOUBLE_EQ(Sum(breakdown), 100);
  call.kernels = {{"one", 2, std::nullopt, KernelFacts{.blocks = 1, .waves = 0.5}}};
  EXPECT_DOUBLE_EQ(SecondsOf(call.Made().value(), ComponentKind::kTail), 92 * 0.5);
  call.facts.call_seconds.reset();
  EXPECT_FALSE(call.Made());
  call.kernels.clear();
  EXPECT_FALSE(call.Made());
}

// Tracing lengthens short kernels.
TEST(GpuBreakdown, ScalesTracedTimesToAShorterCall) {
  GpuCall call;
  call.facts.seconds = 40;
  call.facts.roof_seconds = 0;
  call.facts.levels.clear();
  const auto breakdown = call.Made().value();
  EXPECT_DOUBLE_EQ(SecondsOf(breakdown, ComponentKind::kTail), 7.5);
  EXPECT_EQ(breakdown.Find(ComponentKind::kLaunch), nullptr);
  EXPECT_DOUBLE_EQ(Sum(breakdown), 40);
}

TEST(GpuBreakdown, WithoutWavesHasNoTail) {
  GpuCall call;
  for (auto& kernel : call.kernels) kernel.facts.reset();
  EXPECT_EQ(call.Made()->Find(ComponentKind::kTail), nullptr);
}

TEST(GpuBreakdown, OfAnyFactsIsASumOfPositiveComponents) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 2);
  for (int i = 0; i < 1000; ++i) {
    GpuCall call{{.seconds = 0.1 + any(random), .roof_seconds = any(random)}, {}};
    call.facts.call_seconds = any(random);
    call.facts.levels = {{"L2", any(random), Provenance::kModelled}};
    for (int kernel = 0; kernel <= i % 3; ++kernel)
      call.kernels.push_back(Kernel(0.01 + any(random), 3 * any(random), 1 + i % 2));
    const auto breakdown = call.Made().value();
    EXPECT_NEAR(Sum(breakdown), call.facts.seconds, 1e-4 * call.facts.seconds);
    for (const auto& one : breakdown.components) EXPECT_GT(one.seconds, 0);
  }
}

// Each planted cause becomes the largest component and gets its own advice.
TEST(GpuBreakdown, NamesThePlantedCause) {
  GpuCall tail;
  tail.kernels = {Kernel(90, 1.05)};
  EXPECT_NE(BreakdownAdvice(*tail.Made())->find("last wave"), std::string::npos);
  GpuCall idle;
  idle.kernels = {Kernel(35, 1)};
  EXPECT_NE(BreakdownAdvice(*idle.Made())->find("no kernel runs for 61 %"), std::string::npos);
  GpuCall launch;
  launch.facts.call_seconds = 1;
  launch.kernels = {Kernel(35, 1, 70)};
  EXPECT_NE(BreakdownAdvice(*launch.Made())->find("starting kernels costs 65 %"),
            std::string::npos);
}

}  // namespace
}  // namespace dlroof::roofline
