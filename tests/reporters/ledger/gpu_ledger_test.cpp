#include <gtest/gtest.h>

#include <random>

#include "reporters/ledger/ledger.h"
#include "reporters/ledger/ledger_advice.h"
#include "tests/reporters/ledger/ledger_parts.h"

namespace dlroof::breakdown {
namespace {

LaunchedKernel Kernel(double seconds, double waves, int launches = 1) {
  return {"kernel", launches, seconds, KernelFacts{.blocks = 1, .waves = waves}};
}

// 100 s, in which two kernels run for 80: 60 in 1.5 waves, 20 in 2.
struct GpuCall {
  LedgerFacts facts = {.seconds = 100,
                       .roof_seconds = 30,
                       .roof = "arithmetic",
                       .call_seconds = 4,
                       .levels = {{"DRAM", 10, Provenance::kMeasured}}};
  std::vector<LaunchedKernel> kernels = {Kernel(60, 1.5), Kernel(20, 2)};

  std::optional<Ledger> Made() const { return MakeGpuLedger(facts, kernels); }
};

TEST(GpuLedger, SplitsTheTimeByItsKernels) {
  const auto ledger = GpuCall().Made().value();
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kRoof), 30);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kTail), 60 * 0.25);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kLevels), 10);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kUnexplained), 80 - 30 - 15 - 10);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kLaunch), 8);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kIdle), 12);
  EXPECT_DOUBLE_EQ(Sum(ledger), 100);
  EXPECT_EQ(ledger.starts, 2);
}

TEST(GpuLedger, IsAbsentWhereAKernelWasNotTraced) {
  GpuCall call;
  call.kernels[1].seconds.reset();
  EXPECT_FALSE(call.Made());
  call.kernels.clear();
  EXPECT_FALSE(call.Made());
}

// Tracing lengthens short kernels.
TEST(GpuLedger, ScalesKernelsThatWereTracedForLongerThanTheCall) {
  GpuCall call;
  call.facts.seconds = 40;
  call.facts.roof_seconds = 0;
  call.facts.levels.clear();
  const auto ledger = call.Made().value();
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kTail), 7.5);
  EXPECT_EQ(ledger.Find(PartKind::kLaunch), nullptr);
  EXPECT_DOUBLE_EQ(Sum(ledger), 40);
}

TEST(GpuLedger, WithoutWavesHasNoTail) {
  GpuCall call;
  for (auto& kernel : call.kernels) kernel.facts.reset();
  EXPECT_EQ(call.Made()->Find(PartKind::kTail), nullptr);
}

TEST(GpuLedger, OfAnyFactsAddsUpOfPositiveParts) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 2);
  for (int i = 0; i < 1000; ++i) {
    GpuCall call{{.seconds = 0.1 + any(random), .roof_seconds = any(random)}, {}};
    call.facts.call_seconds = any(random);
    call.facts.levels = {{"L2", any(random), Provenance::kModelled}};
    for (int kernel = 0; kernel <= i % 3; ++kernel)
      call.kernels.push_back(Kernel(0.01 + any(random), 3 * any(random), 1 + i % 2));
    const auto ledger = call.Made().value();
    EXPECT_NEAR(Sum(ledger), call.facts.seconds, 1e-4 * call.facts.seconds);
    for (const auto& part : ledger.parts) EXPECT_GT(part.seconds, 0);
  }
}

// Each planted cause is the largest part, and has its sentence.
TEST(GpuLedger, NamesThePlantedCause) {
  GpuCall tail;
  tail.kernels = {Kernel(90, 1.05)};
  EXPECT_NE(LedgerAdvice(*tail.Made()).find("last wave"), std::string::npos);
  GpuCall idle;
  idle.kernels = {Kernel(35, 1)};
  EXPECT_NE(LedgerAdvice(*idle.Made()).find("no kernel runs for 61 %"), std::string::npos);
  GpuCall launch;
  launch.facts.call_seconds = 1;
  launch.kernels = {Kernel(35, 1, 70)};
  EXPECT_NE(LedgerAdvice(*launch.Made()).find("starting kernels costs 65 %"), std::string::npos);
}

}  // namespace
}  // namespace dlroof::breakdown
