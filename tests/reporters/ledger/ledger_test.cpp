#include "reporters/ledger/ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "reporters/ledger/ledger_advice.h"
#include "reporters/ledger/waterfall.h"
#include "tests/reporters/ledger/ledger_parts.h"

namespace dlroof::breakdown {
namespace {

// 100 s on two threads: 60 in ten regions, of which the slowest threads worked 50 and both 80.
LedgerFacts TwoThreads() {
  return {.seconds = 100,
          .roof_seconds = 30,
          .roof = "arithmetic",
          .call_seconds = 4,
          .parallel = {.mean = {100, {10, 60, 50, 80}, 3},
                       .threads = 2,
                       .calls = 7,
                       .parts = {.functions = 8},
                       .source = "a test"}};
}

TEST(Ledger, SplitsTheTimeByWhatWasSeen) {
  const auto ledger = MakeLedger(TwoThreads());
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kCall), 4);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kSerial), (40 - 4) / 2.0);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kForkJoin), 60 - 50);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kStolen), 3);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kImbalance), 50 - 40 - 3);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kRoof), 30);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kFunctions), 8 / 2);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kUnexplained), 40 + 18 - 30 - 4);
  EXPECT_DOUBLE_EQ(Sum(ledger), 100);
  EXPECT_EQ(ledger.Largest()->kind, PartKind::kUnexplained);
  EXPECT_DOUBLE_EQ(ledger.UnexplainedShare(), 24 / 70.0);
  ASSERT_TRUE(ledger.efficiencies);
  EXPECT_DOUBLE_EQ(ledger.efficiencies->parallel, 0.58);
}

// The rest is a difference from the roof's time.
TEST(Ledger, IsAsSureOfTheRestAsOfTheRoof) {
  auto facts = TwoThreads();
  for (const auto from : {Provenance::kMeasured, Provenance::kModelled}) {
    facts.roof_from = from;
    const auto ledger = MakeLedger(facts);
    EXPECT_EQ(ledger.Find(PartKind::kRoof)->from, from);
    EXPECT_EQ(ledger.Find(PartKind::kUnexplained)->from, from);
    EXPECT_EQ(ledger.Find(PartKind::kForkJoin)->from, Provenance::kMeasured);
  }
}

TEST(Ledger, ScalesThePassesToTheMeasuredTime) {
  auto facts = TwoThreads();
  facts.parallel.mean.run_delay_seconds.reset();
  facts.seconds = 50;
  facts.roof_seconds = 15;
  facts.call_seconds = 2;
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kForkJoin), 5);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kSerial), 9);
  EXPECT_DOUBLE_EQ(Sum(ledger), 50);
}

// The call without waits takes 90 s. The passes took 100 s, for threads waited 12 s in regions: 10
// s are not the call's, and 2 s are. The slowest threads worked 50 s and the mean 37.5 s, which
// leaves 0.5 s to imbalance.
TEST(Ledger, LeavesOutWaitsThatTheCallDidNotHave) {
  auto facts = TwoThreads();
  facts.seconds = 90;
  facts.parallel.mean = {100, {10, 60, 50, 75}, 12};
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kForkJoin), 10) << "as long as in the passes";
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kSerial), (40 - 4) / 2.0);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kStolen), 2);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kImbalance), 0.5);
  EXPECT_DOUBLE_EQ(Sum(ledger), 90);
}

TEST(Ledger, OfOneThreadHasNoWaiting) {
  LedgerFacts facts{.seconds = 10, .roof_seconds = 6, .roof = "DRAM", .call_seconds = 1};
  facts.parallel = {.mean = {.seconds = 10}, .threads = 1, .calls = 1};
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kRoof), 6);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kUnexplained), 3);
  EXPECT_EQ(ledger.parts.size(), 3);
  EXPECT_FALSE(ledger.efficiencies);
}

// A roof above the busy time takes all of it, and no more.
TEST(Ledger, NeverHasMoreThanTheTime) {
  auto facts = TwoThreads();
  facts.roof_seconds = 1000;
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kRoof), 58);
  EXPECT_EQ(ledger.Find(PartKind::kUnexplained), nullptr);
  EXPECT_DOUBLE_EQ(Sum(ledger), 100);
}

TEST(Ledger, OfAnyFactsAddsUpOfPositivePartsAndItsEfficienciesMultiply) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 2);
  for (int i = 0; i < 1000; ++i) {
    LedgerFacts facts{.seconds = 0.1 + any(random), .roof_seconds = any(random)};
    facts.call_seconds = any(random);
    facts.parallel = {
        .mean = {0.1 + any(random), {3, any(random), any(random), any(random)}, any(random)},
        .threads = 1 + i % 8,
        .calls = 1,
        .parts = {any(random), any(random)},
        .alone_seconds = any(random),
        .near_seconds = any(random),
        .far_seconds = any(random),
        .executed_over_useful = 1 + any(random),
        .instructions = InstructionCount{.all = any(random), .per_second = 1}};
    facts.arithmetic = i % 3 != 0;
    facts.alone_roof_seconds = facts.alone_compute_seconds = any(random);
    facts.levels = {{"L2", any(random), Provenance::kModelled}};
    const auto ledger = MakeLedger(facts);
    EXPECT_NEAR(Sum(ledger), facts.seconds, 1e-4 * facts.seconds);
    for (const auto& part : ledger.parts) EXPECT_GT(part.seconds, 0);
    if (!ledger.efficiencies) continue;
    const auto& found = *ledger.efficiencies;
    EXPECT_NEAR(found.load_balance * found.serialisation * found.transfer, found.parallel, 1e-9);
  }
}

// 40 s of busy time a thread, all of 100 in one region, 10 for the roof.
LedgerFacts TwoBusyThreads() {
  return {.seconds = 100,
          .roof_seconds = 10,
          .roof = "arithmetic",
          .call_seconds = 0,
          .alone_roof_seconds = 20,
          .alone_compute_seconds = 20,
          .parallel = {.mean = {100, {1, 100, 40, 80}, {}}, .threads = 2, .calls = 1}};
}

TEST(Ledger, SplitsTheBusyTimeByWhatWasMeasuredApart) {
  auto facts = TwoBusyThreads();
  facts.parallel.parts = {.functions = 6, .products = 30};
  facts.parallel.alone_seconds = 62;
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kFunctions), 3);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kProducts), (30 - 20) / 2.0);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kSharing), (80 - 62) / 2.0);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kUnexplained), 40 - 10 - 3 - 5 - 9);
  EXPECT_DOUBLE_EQ(ledger.efficiencies->computation.value(), 62 / 80.0);
}

// Both threads run it, and the second one's is no slowing.
TEST(Ledger, WhatRunsWhateverTheSizesIsEachThreadsOwn) {
  auto facts = TwoBusyThreads();
  facts.call_seconds = 1;
  facts.parallel.alone_seconds = 63;
  facts.parallel.smallest_seconds = 6;
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kFixed), 5);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kSharing), (80 - 62 - 5) / 2.0);
}

// The part of the slowing that the roof itself has (a bandwidth that two threads share) is its own.
TEST(Ledger, SharingIsWhatTheRoofDoesNotGrowBy) {
  auto facts = TwoBusyThreads();
  facts.parallel.alone_seconds = 62;
  facts.alone_roof_seconds = 10;
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kSharing), (80 - 62 - 10) / 2.0);
  facts.parallel.alone_seconds = 90;  // two threads have two caches
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kSharing), nullptr);
}

// 120 instructions take 60 s at least; 20 are the roof's arithmetic on one thread.
TEST(Ledger, InstructionsTakeAtLeastWhatACoreNeedsToStartThem) {
  auto facts = TwoBusyThreads();
  facts.parallel.instructions = {.all = 120, .per_second = 2};
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kInstructions), (60 - 20) / 2.0);
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kUnexplained), 40 - 10 - 20);
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kInstructions)->from, Provenance::kMeasured);
  facts.parallel.instructions->all = 40;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kInstructions), nullptr) << "as fast as the roof";
  facts.parallel.instructions = {.all = 1e9, .per_second = 2};
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kInstructions), 30) << "all there is";
  facts.parallel.instructions->per_second.reset();
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kInstructions), nullptr) << "no rate is known";
}

// Functions, products and what runs whatever the sizes have their own part.
TEST(Ledger, InstructionsOfPartsMeasuredApartAreTheirs) {
  auto facts = TwoBusyThreads();
  facts.parallel.instructions = {.all = 120, .smallest = 4, .per_second = 2};
  facts.parallel.parts = {
      .functions = 6, .products = 22, .function_instructions = 8, .product_instructions = 50};
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kInstructions), (60 - 2 - 4 - 25) / 2.0);
  facts.parallel.parts.function_instructions.reset();
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kInstructions), (60 - 2 - 6 - 25) / 2.0)
      << "all of an uncounted part's time";
}

// The near kernel has 8 s that are not its multiply-adds; 5 of them are loads.
TEST(Ledger, InstructionsAreBesideLanesAndLoadsInTheNearKernel) {
  auto facts = TwoBusyThreads();
  facts.parallel.near_seconds = 36;
  facts.parallel.far_seconds = 50;
  facts.load_seconds = 15;
  facts.parallel.instructions = {.all = 34, .per_second = 1};
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kLoads), 5);
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kInstructions), (34 - 20 - 10) / 2.0);
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kKernel), 8 - 5 - 2);
  EXPECT_DOUBLE_EQ(Sum(MakeLedger(facts)), 100);
}

TEST(Ledger, LanesAndLevelsAreModelledAndSoIsTheRest) {
  auto facts = TwoBusyThreads();
  facts.roof_from = Provenance::kMeasured;
  facts.parallel.executed_over_useful = 1.25;
  facts.levels = {{"L2", 4, Provenance::kModelled}, {"DRAM", 3, Provenance::kSimulated}};
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kLanes), 2.5);
  EXPECT_EQ(*ledger.Find(PartKind::kLevels),
            (LedgerPart{PartKind::kLevels, 7, Provenance::kModelled,
                        "at most: as if nothing hid L2 4.00 s, DRAM 3.00 s"}));
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kUnexplained), 40 - 10 - 2.5 - 7);
  EXPECT_EQ(ledger.Find(PartKind::kUnexplained)->from, Provenance::kModelled);
  facts.levels = {{"L2", 400, Provenance::kModelled}};
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kLevels), 40 - 10 - 2.5);
  EXPECT_DOUBLE_EQ(Sum(MakeLedger(facts)), 100);
}

// On one thread 20 s are the multiply-adds' own; with near tensors the kernel takes 36.
LedgerFacts TimedNearAndFar() {
  auto facts = TwoBusyThreads();
  facts.alone_compute_seconds = 20;
  facts.parallel.near_seconds = 36;
  facts.parallel.far_seconds = 50;
  return facts;
}

TEST(Ledger, ANearKernelsTimeIsSharedOutByTheModels) {
  auto facts = TimedNearAndFar();
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kKernel), 8);
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kKernel)->from, Provenance::kMeasured);
  facts.parallel.executed_over_useful = 1.25;
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kLanes), 2.5);
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kKernel), 5.5);
  facts.load_seconds = 100;
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kLoads), 5.5) << "no more than measured";
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kKernel), nullptr);
  EXPECT_DOUBLE_EQ(Sum(MakeLedger(facts)), 100);
  facts.parallel.near_seconds = 19;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kLanes), nullptr) << "the measured kernel has none";
}

TEST(Ledger, DistanceIsMeasuredAndThenNoLevelsAreModelled) {
  auto facts = TimedNearAndFar();
  facts.levels = {{"L2", 4, Provenance::kModelled}};
  const auto ledger = MakeLedger(facts);
  EXPECT_EQ(*ledger.Find(PartKind::kDistance),
            (LedgerPart{PartKind::kDistance, 7, Provenance::kMeasured,
                        "longer than that on tensors whose pages do not repeat; bytes ask for L2 "
                        "4.00 s"}));
  EXPECT_EQ(ledger.Find(PartKind::kLevels), nullptr);
  EXPECT_EQ(ledger.Find(PartKind::kUnexplained)->from, Provenance::kModelled) << "as the roof";
  facts.parallel.far_seconds = 30;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kDistance), nullptr) << "farther, yet faster";
  facts.parallel.far_seconds.reset();
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kKernel), nullptr) << "half of a comparison";
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kLevels), 4);
}

// Bytes are the roof: it has what distance adds first, then what the kernel hides.
TEST(Ledger, ABandwidthsRoofHasTheDistanceFirst) {
  auto facts = TimedNearAndFar();
  facts.arithmetic = false;
  facts.alone_roof_seconds = 10;
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kDistance), 2);
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kKernel), 18);
  facts.alone_roof_seconds = 20;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kDistance), nullptr);
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kKernel), 15);
  facts.alone_roof_seconds.reset();
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kKernel), nullptr) << "the roof's part is not known";
}

// 12.5 s of multiply-adds run beside 16 s of loads.
TEST(Ledger, LoadsAreWhatTheyTakeLongerThanTheMultiplyAdds) {
  auto facts = TwoBusyThreads();
  facts.parallel.executed_over_useful = 1.25;
  facts.load_seconds = 16;
  EXPECT_DOUBLE_EQ(SecondsOf(MakeLedger(facts), PartKind::kLoads), 3.5);
  facts.load_seconds = 12;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kLoads), nullptr);
  facts.load_seconds = 16;
  facts.arithmetic = false;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kLoads), nullptr);
}

// Products have their idle lanes; another roof than arithmetic hides both.
TEST(Ledger, ProductsAndLanesAreNeverCountedTwice) {
  auto facts = TwoBusyThreads();
  facts.parallel.executed_over_useful = 1.25;
  facts.parallel.parts.products = 30;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kLanes), nullptr);
  facts.arithmetic = false;
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kProducts), nullptr);
  facts.parallel.parts.products.reset();
  EXPECT_EQ(MakeLedger(facts).Find(PartKind::kLanes), nullptr);
}

TEST(Ledger, PartsHaveTheIntervalOfTheirPassesFromSixOn) {
  auto facts = TwoBusyThreads();
  for (const double longest : {50, 46, 44, 42, 41})
    facts.parallel.passes.push_back({100, {1, 100, longest, 80}, {}});
  EXPECT_FALSE(MakeLedger(facts).Find(PartKind::kForkJoin)->ci95);
  facts.parallel.passes.push_back({200, {1, 200, 104, 160}, {}});
  const auto ledger = MakeLedger(facts);
  EXPECT_EQ(ledger.Find(PartKind::kForkJoin)->ci95, std::pair(48.0, 60.0));
  EXPECT_EQ(ledger.Find(PartKind::kRoof)->ci95, std::pair(10.0, 10.0));
}

struct Planted {
  const char* what;
  RegionSums regions;
  PartKind largest;
  const char* advice;
};

TEST(LedgerAdvice, NamesTheLargestPartWithItsNumber) {
  const Planted cases[] = {
      {"forks", {33, 95, 30, 240}, PartKind::kForkJoin, "33 parallel regions cost 65 %"},
      {"one thread alone", {1, 10, 10, 80}, PartKind::kSerial, "for 75 % of the time"},
      {"a slow thread", {1, 95, 95, 112}, PartKind::kImbalance, "81 % of the time passes until"},
      {"busy threads", {1, 95, 95, 760}, PartKind::kUnexplained, "not explained"}};
  for (const auto& planted : cases) {
    SCOPED_TRACE(planted.what);
    LedgerFacts facts{.seconds = 100, .roof_seconds = 1, .call_seconds = 4};
    facts.parallel = {.mean = {100, planted.regions, {}}, .threads = 8, .calls = 1};
    const auto ledger = MakeLedger(facts);
    ASSERT_NE(ledger.Largest(), nullptr);
    EXPECT_EQ(ledger.Largest()->kind, planted.largest);
    EXPECT_NE(LedgerAdvice(ledger).find(planted.advice), std::string::npos) << LedgerAdvice(ledger);
  }
}

TEST(WriteWaterfall, HasALinePerPartWhoseBarBeginsWhereTheOneBeforeEnds) {
  std::ostringstream out;
  WriteWaterfall(MakeLedger(TwoThreads()), out);
  const auto text = out.str();
  EXPECT_NE(text.find("|############                            |    30.0 s  30.0 %           "
                      "needed by the roof (modelled: arithmetic)"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("|            ##                          |    4.00 s   4.0 %           sigmoid"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("10 regions on 2 threads, 1.00 s each"), std::string::npos) << text;
  EXPECT_NE(text.find("parallel efficiency 58 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace dlroof::breakdown
