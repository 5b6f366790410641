#include "reporters/ledger/ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "reporters/ledger/waterfall.h"

namespace dlroof {
namespace {

// 100 s on two threads: 60 in ten regions, of which the slowest threads worked 50 and both 80.
LedgerFacts TwoThreads() {
  return {.seconds = 100,
          .roof_seconds = 30,
          .roof = "arithmetic",
          .call_seconds = 4,
          .parallel = {.seconds = 100,
                       .regions = {10, 60, 50, 80},
                       .threads = 2,
                       .calls = 7,
                       .run_delay_seconds = 3,
                       .function_seconds = 8,
                       .source = "a test"}};
}

double SecondsOf(const Ledger& ledger, PartKind kind) {
  const auto* part = ledger.Find(kind);
  return part == nullptr ? 0 : part->seconds;
}

double Sum(const Ledger& ledger) {
  double sum = 0;
  for (const auto& part : ledger.parts) sum += part.seconds;
  return sum;
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
  facts.seconds = 50;
  facts.roof_seconds = 15;
  facts.call_seconds = 2;
  const auto ledger = MakeLedger(facts);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kForkJoin), 5);
  EXPECT_DOUBLE_EQ(SecondsOf(ledger, PartKind::kSerial), 9);
  EXPECT_DOUBLE_EQ(Sum(ledger), 50);
}

TEST(Ledger, OfOneThreadHasNoWaiting) {
  LedgerFacts facts{.seconds = 10, .roof_seconds = 6, .roof = "DRAM", .call_seconds = 1};
  facts.parallel = {.seconds = 10, .threads = 1, .calls = 1};
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
    facts.parallel = {.seconds = 0.1 + any(random),
                      .regions = {3, any(random), any(random), any(random)},
                      .threads = 1 + i % 8,
                      .calls = 1,
                      .run_delay_seconds = any(random),
                      .function_seconds = any(random)};
    const auto ledger = MakeLedger(facts);
    EXPECT_NEAR(Sum(ledger), facts.seconds, 1e-4 * facts.seconds);
    for (const auto& part : ledger.parts) EXPECT_GT(part.seconds, 0);
    if (!ledger.efficiencies) continue;
    const auto& found = *ledger.efficiencies;
    EXPECT_NEAR(found.load_balance * found.serialisation * found.transfer, found.parallel, 1e-9);
  }
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
    facts.parallel = {.seconds = 100, .regions = planted.regions, .threads = 8, .calls = 1};
    const auto ledger = MakeLedger(facts);
    ASSERT_NE(ledger.Largest(), nullptr);
    EXPECT_EQ(ledger.Largest()->kind, planted.largest);
    EXPECT_NE(LedgerAdvice(ledger, facts.parallel).find(planted.advice), std::string::npos)
        << LedgerAdvice(ledger, facts.parallel);
  }
}

TEST(WriteWaterfall, HasALinePerPartWhoseBarBeginsWhereTheOneBeforeEnds) {
  std::ostringstream out;
  WriteWaterfall(MakeLedger(TwoThreads()), out);
  const auto text = out.str();
  EXPECT_NE(text.find("|############                            |    30.0 s  30.0 %  needed by the "
                      "roof (modelled: arithmetic)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("|            ##                          |    4.00 s   4.0 %"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("10 regions on 2 threads, 1.00 s each"), std::string::npos) << text;
  EXPECT_NE(text.find("parallel efficiency 58 %"), std::string::npos) << text;
}

}  // namespace
}  // namespace dlroof
