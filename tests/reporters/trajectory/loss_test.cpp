#include "reporters/trajectory/loss.h"

#include <gtest/gtest.h>

#include <random>

namespace dlroof {
namespace {

CostFacts RandomFacts(std::mt19937& random) {
  std::uniform_real_distribution<double> some(0.1, 10);
  std::uniform_int_distribution<int> threads(1, 64);
  CostFacts facts{.seconds = some(random), .threads = threads(random), .work = some(random)};
  facts.team = std::uniform_int_distribution<int>(1, facts.threads)(random);
  facts.roof = RoofTime{.arithmetic_seconds = some(random)};
  for (const auto level : {Level::kL2, Level::kDram}) {
    facts.roof->memory_seconds[level] = some(random);
    facts.roof->bytes[level] = some(random);
    facts.roof->bytes_from[level] = Provenance::kModelled;
  }
  facts.ledger = Ledger{.seconds = facts.seconds};
  for (const auto kind : {PartKind::kForkJoin, PartKind::kSerial, PartKind::kImbalance,
                          PartKind::kStolen, PartKind::kFunctions})
    facts.ledger->parts.push_back({kind, some(random)});
  return facts;
}

TEST(LossOf, AlwaysAddsUpAndTurnsRound) {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto one = RandomFacts(random), other = RandomFacts(random);
    const auto there = LossOf(one, other), back = LossOf(other, one);
    double sum = 0;
    for (const auto& [cause, change] : there.by) {
      sum += change;
      EXPECT_NEAR(change, -back.by.at(cause), 1e-9 * (there.before + there.after)) << Key(cause);
    }
    EXPECT_NEAR(sum, there.Total(), 1e-9 * (there.before + there.after));
  }
}

// A factor that stays as it is has no part in the roof's change.
TEST(LossOf, AFactorThatStaysCostsNothing) {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    const auto before = RandomFacts(random);
    auto after = before;
    for (const auto level : {Level::kL2, Level::kDram}) {
      after.roof->bytes[level] *= 3;  // at the same rate
      after.roof->memory_seconds[level] *= 3;
    }
    const auto loss = LossOf(before, after);
    EXPECT_EQ(loss.by.at(Cause::kArithmetic), 0);
    EXPECT_NEAR(loss.by.at(Cause::kBandwidth), 0, 1e-12 * loss.before);
    EXPECT_GE(loss.by.at(Cause::kIntensity), 0);
    EXPECT_EQ(loss.by.at(Cause::kOverhead), 0);
  }
}

// max(arithmetic 4, 2 byte x 1 s) becomes max(6, 4 x 3) = 12. The cost after each factor's change,
// from 4 on, in all orders of A arithmetic, B bytes and R rate: ABR 6 6 12, ARB 6 6 12, BAR 4 6 12,
// BRA 4 12 12, RAB 6 6 12, RBA 6 12 12.
TEST(LossOf, DividesTheRoofByShapleyValues) {
  CostFacts before{.seconds = 20, .roof = RoofTime{.arithmetic_seconds = 4}};
  before.roof->memory_seconds[Level::kDram] = 2;
  before.roof->bytes[Level::kDram] = 2;
  CostFacts after{.seconds = 28, .roof = RoofTime{.arithmetic_seconds = 6}};
  after.roof->memory_seconds[Level::kDram] = 12;
  after.roof->bytes[Level::kDram] = 4;
  const auto loss = LossOf(before, after);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kArithmetic), (2 + 2 + 2 + 0 + 0 + 0) / 6.0);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kIntensity), (0 + 6 + 0 + 0 + 6 + 6) / 6.0);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kBandwidth), (6 + 0 + 6 + 8 + 2 + 2) / 6.0);
  EXPECT_EQ(loss.level, Level::kDram);
  EXPECT_FALSE(loss.watched);
  EXPECT_NEAR(loss.by.at(Cause::kUnexplained), 0, 1e-12);
}

}  // namespace
}  // namespace dlroof
