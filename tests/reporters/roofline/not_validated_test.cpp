// Placement under ceilings that are not validated: a ceiling is a rate that the machine was seen to
// reach, so its roof time is an upper limit of the true one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "tests/fakes/small_roofline.h"

namespace dlroof::roofline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Reasons = std::map<std::string, std::string>;

void Invalidate(machine::Ceiling& ceiling) {
  ceiling.status = machine::CeilingStatus::kNotValidated;
  ceiling.reasons = {"too noisy"};
}

void InvalidateUnbounded(machine::Ceiling& ceiling) {
  Invalidate(ceiling);
  ceiling.reasons = {"wrong result"};
  ceiling.unbounded = true;
}

machine::Ceiling Validated(double per_second) {
  return {.per_second = per_second, .status = machine::CeilingStatus::kValidated};
}

// 100 flop/s, DRAM 10 byte/s, L2 50 byte/s.
class NotValidated : public testing::Test {
 protected:
  // Returns the placement with findings.
  Placement Found(const record::Record& record) const {
    return PlaceWritten(record, &machine).placement;
  }

  machine::Machine machine = fakes::SmallMachine();
  machine::CeilingSet& ceilings = machine.by_threads[2];
  machine::Ceiling& dram = ceilings.bytes[Level::kDram];
  machine::Ceiling& arithmetic = ceilings.flops["fp32.vector"];
};

TEST_F(NotValidated, TheBindingCeilingGivesLimits) {
  Invalidate(dram);
  const auto placed = Found(fakes::Measured(1000, 100, 20));  // compute 1 s, DRAM 2 s
  EXPECT_FALSE(placed.time->times_over_roof);
  EXPECT_DOUBLE_EQ(placed.time->times_over_roof_at_least.value(), 500);
  EXPECT_FALSE(placed.classic.at(0).fraction);
  EXPECT_DOUBLE_EQ(placed.classic.at(0).fraction_at_most.value(), 0.002);
  EXPECT_DOUBLE_EQ(placed.time->point_compute_seconds.value(), 500);
  EXPECT_DOUBLE_EQ(placed.time->point_memory_seconds.at(Level::kDram), 1000);
  EXPECT_THAT(placed.time->not_validated_levels, ElementsAre(Level::kDram));
  EXPECT_THAT(placed.remarks, IsEmpty()) << "reports write the reason once for all records";
  EXPECT_EQ(placed.uncertain, (Reasons{{"dram", "too noisy"}}));
  EXPECT_THAT(placed.advice,
              StartsWith("Takes at least 500.0x the time that its DRAM bandwidth roof allows"));
}

TEST_F(NotValidated, LimitsAreMarkedInTexts) {
  EXPECT_EQ(RoofShareText(RoofShareOf(Found(fakes::Measured(1000, 100, 20))), false), "0.200 %");
  Invalidate(dram);
  const auto placed = Found(fakes::Measured(1000, 100, 20));
  EXPECT_EQ(RoofShareText(RoofShareOf(placed), false), "<= 0.200 %");
  EXPECT_EQ(RoofShareText(RoofShareOf(placed), true), "<= ~0.200 %");
  EXPECT_EQ(TimesOverRoofText(*placed.time), ">= 500x");
  EXPECT_EQ(RoofShareText(RoofShareOf({}), false), "");
}

TEST_F(NotValidated, LimitsHaveKeysOfTheirOwn) {
  Invalidate(dram);
  const auto written = ToJson(fakes::Measured(1000, 100, 20), &machine);
  EXPECT_FALSE(written["time"].contains("gap"));
  EXPECT_DOUBLE_EQ(written["time"]["gap_at_least"], 500);
  EXPECT_DOUBLE_EQ(written["time"]["point"]["memory_seconds"]["dram"], 1000);
  EXPECT_FALSE(written["classic"][0].contains("fraction"));
  EXPECT_DOUBLE_EQ(written["classic"][0]["fraction_at_most"], 0.002);
  EXPECT_EQ(written["time"]["unproved_levels"], nlohmann::json({"dram"}));
  EXPECT_EQ(written["limited_by"], nlohmann::json({{"dram", "too noisy"}}));
}

// Compute takes 100 s. The true time of DRAM is at most the stated one.
TEST_F(NotValidated, ACeilingThatDoesNotBindChangesNothing) {
  Invalidate(dram);
  for (const double bytes : {1.0, 990.0, 1000.0}) {  // 0.1 s, 99 s, 100 s
    const auto placed = Found(fakes::Measured(1000, 10000, bytes));
    EXPECT_DOUBLE_EQ(placed.time->times_over_roof.value(), 10) << bytes;
    EXPECT_FALSE(placed.time->times_over_roof_at_least) << bytes;
    EXPECT_DOUBLE_EQ(placed.classic.at(0).fraction.value(), 0.1) << bytes;
    EXPECT_THAT(placed.time->not_validated_levels, IsEmpty()) << bytes;
    EXPECT_THAT(placed.asides,
                ElementsAre("the dram ceiling is not validated, but does not bind: too noisy"));
    EXPECT_THAT(placed.remarks, IsEmpty()) << "every number is exact";
    EXPECT_THAT(placed.uncertain, IsEmpty());
    EXPECT_THAT(placed.advice, StartsWith("Takes 10.0x the time"));
  }
  EXPECT_DOUBLE_EQ(Found(fakes::Measured(1000, 10000, 1250)).time->times_over_roof_at_least.value(),
                   8);
}

TEST_F(NotValidated, TheSumOfPipesIsALimitIfOneOfThemIs) {
  Invalidate(ceilings.flops["bf16.matrix"]);
  const auto placed = [&](double dram_bytes) {
    record::Record record = fakes::Measured(1000, 100, dram_bytes);  // fp32.vector 1 s, validated
    record.work[Provenance::kModelled].flops["bf16.matrix"] = 2000;  // 2 s, in all 3 s
    return Place(record, &machine);
  };
  EXPECT_DOUBLE_EQ(placed(31).time->times_over_roof.value(), 1000 / 3.1);
  EXPECT_DOUBLE_EQ(placed(29).time->times_over_roof_at_least.value(), 1000.0 / 3);
  EXPECT_EQ(placed(29).uncertain, (Reasons{{"bf16.matrix", "too noisy"}}));
}

// Compute 50 s, DRAM 60 s, L2 100 s.
TEST_F(NotValidated, EachLevelIsJudgedByItself) {
  Invalidate(dram);
  record::Record record = fakes::Measured(1000, 5000, 600);
  record.work[Provenance::kModelled].bytes[Level::kL2] = 5000;
  auto placed = Place(record, &machine);
  EXPECT_DOUBLE_EQ(placed.time->times_over_roof.value(), 10) << "L2 binds and is validated";
  EXPECT_THAT(placed.remarks, IsEmpty());
  EXPECT_THAT(placed.time->not_validated_levels, ElementsAre(Level::kDram));
  EXPECT_DOUBLE_EQ(PointOf(placed, Level::kL2)->fraction.value(), 0.1);
  EXPECT_DOUBLE_EQ(PointOf(placed, Level::kDram)->fraction_at_most.value(), 0.06);
  EXPECT_FALSE(PointOf(placed, Level::kDram)->fraction);
  record.work[Provenance::kModelled].bytes[Level::kDram] = 400;  // 40 s: compute binds beside it
  placed = Place(record, &machine);
  EXPECT_DOUBLE_EQ(PointOf(placed, Level::kDram)->fraction.value(), 0.05);
}

TEST_F(NotValidated, ARateThatMayBeWrongByAnyFactorIsNoEvidence) {
  InvalidateUnbounded(dram);
  const auto placed = Place(fakes::Measured(1000, 10000, 2000), &machine);  // 100 s, 200 s
  EXPECT_DOUBLE_EQ(placed.time->times_over_roof.value(), 10) << "only compute is known";
  EXPECT_THAT(placed.classic, IsEmpty());
  EXPECT_THAT(placed.remarks, ElementsAre("left out at dram: the dram ceiling may be wrong by any "
                                          "factor: wrong result"));
  EXPECT_EQ(placed.unusable, (Reasons{{"dram", "wrong result"}}));
  EXPECT_THAT(placed.uncertain, IsEmpty());
  EXPECT_EQ(RoofShareText(RoofShareOf(placed), false), "10.0 %");
}

// Stores of a kernel with a wrong result: loads at 8 byte/s are what DRAM can do at least.
TEST_F(NotValidated, AnotherMixReplacesARateThatMayBeWrongByAnyFactor) {
  InvalidateUnbounded(dram);
  ceilings.mixes["dram.store.avx2"] = dram;
  ceilings.mixes["dram.load.avx2"] = Validated(8);
  ceilings.mixes["dram.load.sse2"] = Validated(4);
  ceilings.mixes["l2.load.avx2"] = Validated(50);
  const auto binds = Place(fakes::Measured(1000, 100, 800), &machine);  // 1 s, 100 s
  EXPECT_DOUBLE_EQ(binds.time->times_over_roof_at_least.value(), 10);
  EXPECT_EQ(binds.uncertain,
            (Reasons{{"dram", "wrong result; placed under dram.load.avx2 instead"}}));
  EXPECT_DOUBLE_EQ(Place(fakes::Measured(1000, 20000, 800), &machine).time->times_over_roof.value(),
                   5)
      << "compute, 200 s, binds";
  Invalidate(ceilings.mixes["dram.load.avx2"]);
  EXPECT_EQ(Place(fakes::Measured(1000, 100, 800), &machine).uncertain,
            (Reasons{{"dram", "wrong result; placed under dram.load.avx2 instead"},
                     {"dram.load.avx2", "too noisy"}}));
}

TEST_F(NotValidated, AnotherRowReplacesARateThatMayBeWrongByAnyFactor) {
  ceilings.flops["fp32.vector.avx512"] = Validated(100);
  ceilings.flops["fp32.vector.avx2"] = Validated(50);
  InvalidateUnbounded(ceilings.flops["fp32.vector.avx512"]);
  InvalidateUnbounded(arithmetic);
  for (const char* isa : {"", "avx512_core"}) {
    record::Record record = fakes::Measured(1000, 5000, 1);  // 100 s at 50 flop/s
    record.isa = isa;
    const auto placed = Place(record, &machine);
    EXPECT_DOUBLE_EQ(placed.time->times_over_roof_at_least.value(), 10) << isa;
    EXPECT_EQ(placed.time->compute_roofs.at("fp32.vector"), "fp32.vector.avx2") << isa;
    ASSERT_THAT(placed.uncertain, testing::SizeIs(1)) << isa;
    EXPECT_EQ(placed.uncertain.begin()->second,
              "wrong result; placed under fp32.vector.avx2 instead");
    EXPECT_THAT(placed.remarks, IsEmpty()) << "the ISA is not the reason";
  }
  record::Record record = fakes::Measured(1000, 5000, 1);
  record.isa = "avx2";
  EXPECT_DOUBLE_EQ(Place(record, &machine).time->times_over_roof.value(), 10)
      << "its own row is validated";
}

TEST_F(NotValidated, WithoutAnotherRowNothingIsPlaced) {
  InvalidateUnbounded(arithmetic);
  const auto placed = Place(fakes::Measured(1000, 5000, 1), &machine);
  EXPECT_FALSE(placed.time);
  EXPECT_THAT(placed.remarks, ElementsAre("not placed: the fp32.vector ceiling may be wrong by any "
                                          "factor: wrong result"));
  EXPECT_EQ(placed.unusable, (Reasons{{"fp32.vector", "wrong result"}}));
}

TEST_F(NotValidated, TheMatrixRoofThatJudgesAllFlopsIsReplacedToo) {
  InvalidateUnbounded(ceilings.flops["bf16.matrix"]);
  ceilings.flops["int8.matrix"] = Validated(500);
  const auto placed = Place(fakes::Measured(1000, 5000, 1), &machine, {.tensor_balance = true});
  EXPECT_DOUBLE_EQ(placed.time->times_over_roof_at_least.value(), 100);  // 10 s
  EXPECT_EQ(placed.time->compute_roofs.at("fp32.vector"), "int8.matrix");
}

TEST_F(NotValidated, ASpecifiedRoofStaysExact) {
  arithmetic.status = machine::CeilingStatus::kSpecified;
  Invalidate(dram);
  const auto specified = Place(fakes::Measured(1000, 10000, 500), &machine);  // 100 s, 50 s
  EXPECT_DOUBLE_EQ(specified.time->times_over_roof.value(), 10);
  EXPECT_TRUE(specified.time->specified);
  const auto limit = Place(fakes::Measured(1000, 10000, 2000), &machine);  // 100 s, 200 s
  EXPECT_DOUBLE_EQ(limit.time->times_over_roof_at_least.value(), 5);
}

TEST_F(NotValidated, BytesAreRefutedByTwiceTheRate) {
  const auto placed = [this](double l2_bytes) {
    record::Record record = fakes::Measured(100, 2000, 1);  // compute 20 s
    record.work[Provenance::kModelled].bytes[Level::kL2] = l2_bytes;
    return *Place(record, &machine).time;
  };
  EXPECT_DOUBLE_EQ(placed(6000).times_over_roof.value(), 5);  // L2 120 s: refuted
  Invalidate(ceilings.bytes[Level::kL2]);
  EXPECT_EQ(placed(6000).above_roof.at(Level::kL2), WrongPart::kUnknown);  // at twice the rate 60 s
  EXPECT_THAT(placed(11000).above_roof, IsEmpty());
  EXPECT_DOUBLE_EQ(placed(11000).times_over_roof.value(), 5);
}

TEST_F(NotValidated, ARoofThatTheCallExceedsGivesNoLimit) {
  Invalidate(dram);
  // 100 byte / 10 byte/s = 10 s at the roof, measured 8 s; compute 1 s.
  const auto placed = Found(fakes::Measured(8, 100, 100));
  EXPECT_EQ(placed.time->above_roof.at(Level::kDram), WrongPart::kRoof);
  EXPECT_DOUBLE_EQ(placed.time->times_over_roof.value(), 8) << "compute binds and is validated";
  EXPECT_DOUBLE_EQ(PointOf(placed, Level::kDram)->fraction_at_most.value(), 1.25);
}

TEST_F(NotValidated, ABandwidthWithoutFlopsHasALimitToo) {
  record::Record record = fakes::Measured(1000, 100, 1000);  // DRAM 100 s
  record.work[Provenance::kModelled].flops.clear();
  EXPECT_DOUBLE_EQ(Place(record, &machine).bandwidth->fraction.value(), 0.1);
  Invalidate(dram);
  const auto placed = Place(record, &machine);
  EXPECT_FALSE(placed.bandwidth->fraction);
  EXPECT_DOUBLE_EQ(placed.bandwidth->fraction_at_most.value(), 0.1);
  EXPECT_EQ(RoofShareText(RoofShareOf(placed), false), "<= 10.0 %");
  EXPECT_EQ(placed.uncertain, (Reasons{{"dram", "too noisy"}}));
}

TEST_F(NotValidated, NearItsRoofACallIsNotToldToMakeDoWithIt) {
  EXPECT_THAT(Found(fakes::Measured(110, 10000, 1)).advice,
              HasSubstr("At 91 % of its arithmetic roof: only less work"));
  Invalidate(arithmetic);
  EXPECT_THAT(Found(fakes::Measured(110, 10000, 1)).advice,
              StartsWith("At most 91 % of its arithmetic roof: that roof is not validated"));
}

TEST_F(NotValidated, ACallWithoutKnownBytesHasAShareOfTheArithmeticRoof) {
  Invalidate(arithmetic);
  record::Record record = fakes::Measured(1000, 10000, 1);
  record.work[Provenance::kModelled].bytes.clear();
  EXPECT_EQ(RoofShareText(RoofShareOf(Place(record, &machine)), false), "<= 10.0 %");
}

}  // namespace
}  // namespace dlroof::roofline
