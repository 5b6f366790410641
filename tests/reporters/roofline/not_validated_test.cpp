#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/small_roofline.h"

namespace dlroof::roofline {
namespace {

using testing::AllOf, testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::IsEmpty,
    testing::Not, testing::StartsWith;
using Reasons = std::map<std::string, std::string>;

// Placement under ceilings that are not validated: a ceiling is a rate that the machine was seen to
// reach, so its roof time is an upper limit of the true one.

void Invalidate(machine::Ceiling& ceiling) {
  ceiling.status = machine::CeilingStatus::kNotValidated;
  ceiling.reasons = {"too noisy"};
}

void InvalidateUnbounded(machine::Ceiling& ceiling) {
  Invalidate(ceiling);
  ceiling.reasons = {"wrong result"};
  ceiling.unbounded = true;
}

// 100 flop/s, DRAM 10 byte/s, L2 50 byte/s.
class NotValidated : public testing::Test {
 protected:
  // Returns the placement with findings.
  Placement Found(const record::Record& record) const {
    return PlaceWritten(record, &machine).placement;
  }

  machine::Machine machine = fakes::MachineWithRidge();
  machine::CeilingSet& ceilings = machine.by_threads[2];
  machine::Ceiling& dram = ceilings.bytes[Level::kDram];
  machine::Ceiling& arithmetic = ceilings.flops["fp32.vector"];
};

TEST_F(NotValidated, TheBindingCeilingGivesLimitsThatTextsMarkWithKeysOfTheirOwn) {
  const auto record = fakes::Measured(1000, 100, 20);  // compute 1 s, DRAM 2 s
  EXPECT_EQ(RoofShareText(RoofShareOf(Found(record)), false), "0.200 %");
  Invalidate(dram);
  const auto placed = Found(record);
  EXPECT_THAT(placed.remarks, IsEmpty()) << "reports write the reason once for all records";
  EXPECT_THAT(placed.advice,
              StartsWith("Takes at least 500.0x the time that its DRAM bandwidth roof allows"));
  EXPECT_EQ(RoofShareText(RoofShareOf(placed), false), "<= 0.200 %");
  EXPECT_EQ(RoofShareText(RoofShareOf(placed), true), "~0.200 %");
  EXPECT_EQ(TimesOverRoofText(*placed.time, false), ">= 500x");
  EXPECT_EQ(TimesOverRoofText(*placed.time, true), "~500x");
  EXPECT_EQ(RoofShareText(RoofShareOf({}), false), "");
  const auto written = ToJson(record, &machine);
  EXPECT_FALSE(written["time"].contains("gap"));
  EXPECT_DOUBLE_EQ(written["time"]["gap_at_least"], 500);
  EXPECT_DOUBLE_EQ(written["time"]["point"]["compute_seconds"], 500);
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
    EXPECT_EQ(TimesOverRoofText(*placed.time, false), "10.0x") << bytes;
    EXPECT_EQ(RoofShareText(placed.classic.at(0).share, false), "10.0 %") << bytes;
    EXPECT_THAT(placed.time->not_validated_levels, IsEmpty()) << bytes;
    EXPECT_THAT(placed.asides,
                ElementsAre("the dram ceiling is not validated, but does not bind: too noisy"));
    EXPECT_THAT(placed.remarks, IsEmpty()) << "every number is exact";
    EXPECT_THAT(placed.uncertain, IsEmpty());
    EXPECT_THAT(placed.advice, StartsWith("Takes 10.0x the time"));
  }
  EXPECT_EQ(TimesOverRoofText(*Found(fakes::Measured(1000, 10000, 1250)).time, false), ">= 8.00x");
}

// Compute 50 s, DRAM 60 s, L2 100 s.
TEST_F(NotValidated, EachLevelIsJudgedByItself) {
  Invalidate(dram);
  record::Record record = fakes::Measured(1000, 5000, 600);
  record.work[Provenance::kModelled].bytes[Level::kL2] = 5000;
  auto placed = Place(record, &machine);
  EXPECT_EQ(TimesOverRoofText(*placed.time, false), "10.0x") << "L2 binds and is validated";
  EXPECT_THAT(placed.remarks, IsEmpty());
  EXPECT_THAT(placed.time->not_validated_levels, ElementsAre(Level::kDram));
  EXPECT_EQ(RoofShareText(PointOf(placed, Level::kL2)->share, false), "10.0 %");
  EXPECT_EQ(RoofShareText(PointOf(placed, Level::kDram)->share, false), "<= 6.00 %");
  record.work[Provenance::kModelled].bytes[Level::kDram] = 400;  // 40 s: compute binds beside it
  placed = Place(record, &machine);
  EXPECT_EQ(RoofShareText(PointOf(placed, Level::kDram)->share, false), "5.00 %");
}

TEST_F(NotValidated, ARateThatMayBeWrongByAnyFactorIsNoEvidence) {
  InvalidateUnbounded(dram);
  const auto placed = Place(fakes::Measured(1000, 10000, 2000), &machine);  // 100 s, 200 s
  EXPECT_EQ(TimesOverRoofText(*placed.time, false), "10.0x") << "only compute is known";
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
  ceilings.mixes["dram.load.avx2"] = fakes::Validated(8);
  ceilings.mixes["dram.load.sse2"] = fakes::Validated(4);
  ceilings.mixes["l2.load.avx2"] = fakes::Validated(50);
  const auto binds = Place(fakes::Measured(1000, 100, 800), &machine);  // 1 s, 100 s
  EXPECT_EQ(TimesOverRoofText(*binds.time, false), ">= 10.0x");
  EXPECT_EQ(binds.uncertain,
            (Reasons{{"dram", "wrong result; placed under dram.load.avx2 instead"}}));
  EXPECT_EQ(TimesOverRoofText(*Place(fakes::Measured(1000, 20000, 800), &machine).time, false),
            "5.00x")
      << "compute, 200 s, binds";
  Invalidate(ceilings.mixes["dram.load.avx2"]);
  EXPECT_EQ(Place(fakes::Measured(1000, 100, 800), &machine).uncertain,
            (Reasons{{"dram", "wrong result; placed under dram.load.avx2 instead"},
                     {"dram.load.avx2", "too noisy"}}));
}

TEST_F(NotValidated, AnotherRowReplacesARateThatMayBeWrongByAnyFactorOrNothingIsPlaced) {
  InvalidateUnbounded(arithmetic);
  const auto without = Place(fakes::Measured(1000, 5000, 1), &machine);
  EXPECT_FALSE(without.time);
  EXPECT_THAT(without.remarks,
              ElementsAre("not placed: the fp32.vector ceiling may be wrong by any "
                          "factor: wrong result"));
  EXPECT_EQ(without.unusable, (Reasons{{"fp32.vector", "wrong result"}}));
  ceilings.flops["fp32.vector.avx512"] = fakes::Validated(100);
  ceilings.flops["fp32.vector.avx2"] = fakes::Validated(50);
  InvalidateUnbounded(ceilings.flops["fp32.vector.avx512"]);
  for (const char* isa : {"", "avx512_core"}) {
    record::Record record = fakes::Measured(1000, 5000, 1);  // 100 s at 50 flop/s
    record.isa = isa;
    const auto placed = Place(record, &machine);
    EXPECT_EQ(TimesOverRoofText(*placed.time, false), ">= 10.0x") << isa;
    EXPECT_EQ(placed.time->compute_roofs.at("fp32.vector"), "fp32.vector.avx2") << isa;
    ASSERT_THAT(placed.uncertain, testing::SizeIs(1)) << isa;
    EXPECT_EQ(placed.uncertain.begin()->second,
              "wrong result; placed under fp32.vector.avx2 instead");
    EXPECT_THAT(placed.remarks, IsEmpty()) << "the ISA is not the reason";
  }
  record::Record record = fakes::Measured(1000, 5000, 1);
  record.isa = "avx2";
  EXPECT_EQ(TimesOverRoofText(*Place(record, &machine).time, false), "10.0x")
      << "its own row is validated";
}

// A neighbour slowed the wider vectors whenever they were measured.
TEST_F(NotValidated, TheRoofIsALowerLimitWhileAFasterRowThatTheIsaAllowsIsNotValidated) {
  ceilings.flops["fp32.vector.avx512"] = fakes::Validated(3);
  ceilings.flops["fp32.vector.avx2"] = fakes::Validated(50);
  ceilings.flops["fp32.vector.avx512"].validation.per_cycle_expected = 64;
  ceilings.flops["fp32.vector.avx2"].validation.per_cycle_expected = 32;
  ceilings.flops["fp32.vector.avx512"].status = machine::CeilingStatus::kNotValidated;
  record::Record record = fakes::Measured(1000, 5000, 1);
  record.isa = "avx512_core";
  const auto placed = Place(record, &machine);
  EXPECT_EQ(TimesOverRoofText(*placed.time, false), ">= 10.0x");
  EXPECT_EQ(placed.uncertain.at("fp32.vector.avx2"),
            "fp32.vector.avx512 can be 2 times as fast and is not validated");
  record.isa = "avx2";
  EXPECT_EQ(TimesOverRoofText(*Place(record, &machine).time, false), "10.0x");
}

TEST_F(NotValidated, TheMatrixRoofThatJudgesAllFlopsIsReplacedToo) {
  InvalidateUnbounded(ceilings.flops["bf16.matrix"]);
  ceilings.flops["int8.matrix"] = fakes::Validated(500);
  const auto placed = Place(fakes::Measured(1000, 5000, 1), &machine, {.tensor_balance = true});
  EXPECT_EQ(TimesOverRoofText(*placed.time, false), ">= 100x");  // 10 s
  EXPECT_EQ(placed.time->compute_roofs.at("fp32.vector"), "int8.matrix");
}

TEST_F(NotValidated, ASpecifiedRoofStaysExact) {
  arithmetic.status = machine::CeilingStatus::kSpecified;
  Invalidate(dram);
  const auto specified = Place(fakes::Measured(1000, 10000, 500), &machine);  // 100 s, 50 s
  EXPECT_EQ(TimesOverRoofText(*specified.time, false), "10.0x");
  EXPECT_TRUE(specified.time->specified);
  const auto limit = Place(fakes::Measured(1000, 10000, 2000), &machine);  // 100 s, 200 s
  EXPECT_EQ(TimesOverRoofText(*limit.time, false), ">= 5.00x");
}

TEST_F(NotValidated, BytesAreRefutedByTwiceTheRate) {
  const auto placed = [this](double l2_bytes) {
    record::Record record = fakes::Measured(100, 2000, 1);  // compute 20 s
    record.work[Provenance::kModelled].bytes[Level::kL2] = l2_bytes;
    return *Place(record, &machine).time;
  };
  EXPECT_EQ(TimesOverRoofText(placed(6000), false), "5.00x");  // L2 120 s: refuted
  Invalidate(ceilings.bytes[Level::kL2]);
  EXPECT_EQ(placed(6000).above_roof.at(Level::kL2), WrongPart::kUnknown);  // at twice the rate 60 s
  EXPECT_THAT(placed(11000).above_roof, IsEmpty());
  EXPECT_EQ(TimesOverRoofText(placed(11000), false), "5.00x");
}

TEST_F(NotValidated, ABandwidthWithoutFlopsHasALimitTooAndARoofThatTheCallExceedsGivesNone) {
  record::Record record = fakes::Measured(1000, 100, 1000);  // DRAM 100 s
  record.work[Provenance::kModelled].flops.clear();
  EXPECT_EQ(RoofShareText(Place(record, &machine).bandwidth->share, false), "10.0 %");
  Invalidate(dram);
  const auto placed = Place(record, &machine);
  EXPECT_EQ(RoofShareText(placed.bandwidth->share, false), "<= 10.0 %");
  EXPECT_EQ(RoofShareText(RoofShareOf(placed), false), "<= 10.0 %");
  EXPECT_EQ(placed.uncertain, (Reasons{{"dram", "too noisy"}}));
  // 100 byte / 10 byte/s = 10 s at the roof, measured 8 s; compute 1 s.
  const auto faster = Found(fakes::Measured(8, 100, 100));
  EXPECT_EQ(faster.time->above_roof.at(Level::kDram), WrongPart::kRoof);
  EXPECT_EQ(TimesOverRoofText(*faster.time, false), "8.00x") << "compute binds and is validated";
  EXPECT_EQ(RoofShareText(PointOf(faster, Level::kDram)->share, false), "<= 125 %");
}

TEST_F(NotValidated, NearItsRoofACallIsNotToldToMakeDoWithItAndWithoutBytesHasAShareOfIt) {
  EXPECT_THAT(Found(fakes::Measured(110, 10000, 1)).advice,
              HasSubstr("At 91 % of its arithmetic roof: only less work"));
  Invalidate(arithmetic);
  EXPECT_THAT(Found(fakes::Measured(110, 10000, 1)).advice,
              StartsWith("At most 91 % of its arithmetic roof: that roof is not validated"));
  record::Record record = fakes::Measured(1000, 10000, 1);
  record.work[Provenance::kModelled].bytes.clear();
  EXPECT_EQ(RoofShareText(RoofShareOf(Place(record, &machine)), false), "<= 10.0 %");
}

// Calls that are faster than one of their roofs.

constexpr auto kSpecified = machine::CeilingStatus::kSpecified;
constexpr auto kNotValidated = machine::CeilingStatus::kNotValidated;

// Calls on this machine, and the placement as reports show it, with findings.
const machine::Machine kMachine = fakes::MachineWithRidge();
Placement Found(const record::Record& record, const machine::Machine& machine = kMachine) {
  return PlaceWritten(record, &machine).placement;
}

machine::Machine WithStatus(Level level, machine::CeilingStatus status) {
  machine::Machine machine = fakes::MachineWithRidge();
  machine.by_threads[2].bytes[level].status = status;
  if (status == kNotValidated) machine.by_threads[2].bytes[level].reasons = {"too noisy"};
  return machine;
}

// Returns a call of 10 s with 2 s of arithmetic and 5 s of DRAM at their roofs, and bytes of L2.
record::Record WithL2(double bytes, Provenance from) {
  record::Record record = fakes::Measured(10, 200, 50);
  record.work[from].bytes[Level::kL2] = bytes;
  return record;
}

// 750 byte / 50 byte/s = 15 s at the L2 roof, measured 10 s: L2 would bind.
TEST(AboveRoof, CountedBytesAboveARoofDoNotBindAndTheRoofIsTooLow) {
  const auto record = WithL2(750, Provenance::kMeasured);
  const auto placed = Found(record);
  EXPECT_EQ(placed.time->bound_level, Level::kDram);
  EXPECT_EQ(TimesOverRoofText(*placed.time, false), "2.00x");
  EXPECT_FALSE(placed.time->memory_seconds.contains(Level::kL2));
  EXPECT_EQ(placed.time->above_roof, (std::map<Level, WrongPart>{{Level::kL2, WrongPart::kRoof}}));
  EXPECT_EQ(RoofShareText(PointOf(placed, Level::kL2)->share, false), "150 %")
      << "its point is drawn";
  EXPECT_EQ(Binding(placed)->level, Level::kDram);
  EXPECT_THAT(placed.remarks,
              ElementsAre("above the l2 roof by 50 %, so l2 does not count as its bound: its bytes "
                          "were counted, so the ceiling is too low (dlroof machine --remeasure "
                          "measures it again)"));
  EXPECT_EQ(placed.above_roof_remarks, placed.remarks);
  fakes::ExpectHas(placed.advice, {"Takes 2.0x the time that its DRAM bandwidth roof",
                                   "faster than the L2 roof, which is too low"});
  const auto time = ToJson(record, &kMachine)["time"];
  EXPECT_EQ(time["above_roof"], (nlohmann::json{{"l2", "roof"}}));
  EXPECT_EQ(time["bound_level"], "dram");
  // 2 % is noise, and so is what the median's interval contains.
  const auto at = Found(WithL2(509, Provenance::kMeasured));
  EXPECT_EQ(at.time->bound_level, Level::kL2);
  EXPECT_TRUE(at.time->above_roof.empty());
  EXPECT_EQ(Found(WithL2(511, Provenance::kMeasured)).time->bound_level, Level::kDram);
  record::Record wide = WithL2(550, Provenance::kMeasured);
  wide.repetitions.clear();
  for (const double seconds : {8.0, 9.0, 10.0, 10.0, 10.0, 12.0, 13.0})
    wide.repetitions.push_back({.seconds = seconds});
  EXPECT_GT(LongestSeconds(wide, 10), 11);
  EXPECT_EQ(Found(wide).time->bound_level, Level::kL2);
  const auto specified =
      Found(WithL2(750, Provenance::kMeasured), WithStatus(Level::kL2, kSpecified));
  EXPECT_EQ(specified.time->above_roof.at(Level::kL2), WrongPart::kRoof);
  EXPECT_THAT(specified.remarks,
              Contains("above the specified l2 roof by 50 %, so l2 does not count as its bound: "
                       "its bytes were counted, so the roof is too low (see the machine file)"));
}

TEST(AboveRoof, AModelUnderARoofMayBeWrongItselfAndUnderAValidatedOneHasNoPoint) {
  for (const auto from : {Provenance::kModelled, Provenance::kSimulated})
    for (const auto status : {kNotValidated, kSpecified}) {
      const auto placed = Found(WithL2(750, from), WithStatus(Level::kL2, status));
      EXPECT_EQ(placed.time->above_roof.at(Level::kL2), WrongPart::kUnknown);
      EXPECT_EQ(placed.time->bound_level, Level::kDram);
      EXPECT_EQ(TimesOverRoofText(*placed.time, false), "2.00x");
      EXPECT_THAT(placed.remarks, Contains(HasSubstr("bytes are wrong")));
      EXPECT_THAT(placed.advice, Not(HasSubstr("too low")));
      EXPECT_TRUE(placed.uncertain.empty()) << "that roof suppresses no number";
    }
  const auto placed = Found(WithL2(750, Provenance::kModelled));
  EXPECT_EQ(PointOf(placed, Level::kL2), nullptr);
  EXPECT_EQ(placed.time->bound_level, Level::kDram);
  EXPECT_THAT(placed.remarks, ElementsAre(AllOf(StartsWith("left out at l2"),
                                                HasSubstr("so the modelled bytes are wrong"))));
}

// 100 byte / 10 byte/s = 10 s at the DRAM roof, measured 5 s.
TEST(AboveRoof, CompulsoryBytesPassDramUnlessAWarmCacheContainsThem) {
  machine::Machine machine = fakes::MachineWithRidge();
  const auto warm = fakes::Measured(5, 1, 100);
  auto placed = Found(warm, machine);
  EXPECT_EQ(placed.time->above_roof.at(Level::kDram), WrongPart::kRoof);
  EXPECT_EQ(placed.time->bound, Bound::kOverhead) << "0.5 s to start it, 0.01 s of arithmetic";
  EXPECT_EQ(Binding(placed), nullptr);
  EXPECT_THAT(placed.remarks, Contains(AllOf(StartsWith("above the dram roof by 100 %"),
                                             HasSubstr("its tensors pass DRAM"),
                                             HasSubstr("the ceiling is too low"))));
  // A cache of 60 byte leaves 40 for DRAM, which take 4 s.
  machine.cache_bytes[Level::kL3] = 60;
  placed = Found(warm, machine);
  EXPECT_EQ(placed.time->above_roof.at(Level::kDram), WrongPart::kBytes);
  EXPECT_THAT(placed.remarks, Contains(HasSubstr("part of its tensors may stay in a warm cache")));
  // A cache of 40 byte leaves 60, which take 6 s.
  machine.cache_bytes[Level::kL3] = 40;
  EXPECT_EQ(Found(warm, machine).time->above_roof.at(Level::kDram), WrongPart::kRoof);
  // All of them fit: they never moved.
  machine.cache_bytes[Level::kL3] = 100;
  placed = Found(warm, machine);
  EXPECT_TRUE(placed.classic.empty());
  EXPECT_THAT(placed.remarks, Contains("the machine has no measured l3 ceiling"));
  record::Record cold = warm;
  cold.cache = "cold";
  EXPECT_EQ(Found(cold, machine).time->above_roof.at(Level::kDram), WrongPart::kRoof);
  machine.by_threads[2].bytes[Level::kDram].status = kSpecified;
  placed = Found(cold, machine);
  EXPECT_EQ(placed.time->above_roof.at(Level::kDram), WrongPart::kUnknown);
  EXPECT_THAT(placed.remarks,
              Contains("above the specified dram roof by 100 %, so dram does not count as its "
                       "bound: the roof (see the machine file) or the modelled bytes are wrong"));
}

// 120 byte / 10 byte/s = 12 s at the DRAM roof, measured 10 s.
TEST(AboveRoof, DramBytesThatAGpuCountedInAnotherRunAreLeftOutUnlessTheCallIsCold) {
  record::Record record = fakes::Measured(10, 200, 50);
  record.device = "gpu";
  record.work[Provenance::kMeasured].bytes[Level::kDram] = 120;
  auto placed = Found(record);
  EXPECT_EQ(PointOf(placed, Level::kDram), nullptr);
  EXPECT_THAT(placed.remarks, Contains(AllOf(StartsWith("left out at dram"),
                                             HasSubstr("1.2 times as long as the call"))));
  record.cache = "cold";
  EXPECT_EQ(Found(record).time->above_roof.at(Level::kDram), WrongPart::kRoof);
}

// A model of a GPU's kernel adds bytes that are read again, which nothing proves.
TEST(AboveRoof, ModelledRereadsAreNotCompulsoryAndTheBreakdownNeedsAnotherRoof) {
  record::Record record = fakes::Measured(5, 1, 100);
  record.device = "gpu";
  record.cache = "cold";
  EXPECT_EQ(Found(record).time->above_roof.at(Level::kDram), WrongPart::kRoof);
  record.counting.push_back({"model", Provenance::kModelled, "waves"});
  EXPECT_EQ(Found(record).time->above_roof.at(Level::kDram), WrongPart::kBytes);
  // A level above its roof has no part in the breakdown either.
  record = WithL2(750, Provenance::kMeasured);
  record.device = "cpu";
  record.parallel = ParallelTime{
      .mean = {10, {.regions = 1, .seconds = 10, .longest_seconds = 10, .busy_seconds = 20}},
      .threads = 2,
      .calls = 9};
  machine::Machine machine = fakes::MachineWithRidge();
  machine.by_threads[1] = machine.by_threads[2];
  const auto placed = PlaceWritten(record, &machine);
  ASSERT_TRUE(placed.breakdown.has_value());
  const auto* roof = placed.breakdown->Find(ComponentKind::kRoof);
  EXPECT_DOUBLE_EQ(roof->seconds, 5);
  for (const auto& component : placed.breakdown->components)
    EXPECT_THAT(component.how, Not(HasSubstr("L2")));
}

// 1000 FLOP / 100 FLOP/s = 10 s at the arithmetic roof, measured 9 s.
record::Record FasterThanArithmetic() {
  record::Record record = fakes::Measured(9, 1000, 10);
  record.op = "Padded";
  record.problem = "p";
  return record;
}

OpWords PaddedOp(double useful, double dense = 1000) {
  return {.noun = "call", .product_flops = [=](const std::string& problem) {
            return problem == "p" ? std::optional(ProductFlops{useful, dense}) : std::nullopt;
          }};
}

std::vector<std::string> RemarksOf(const record::Record& record, const OpWords& words,
                                   const machine::Machine& machine = kMachine) {
  return PlaceWritten(record, &machine, {.words = {{record.op, words}}}).placement.remarks;
}

TEST(AboveArithmeticRoof, TapsInThePaddingAreNamedWhereTheyExplainItAsAShareOfTheProductsAlone) {
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), PaddedOp(900)),
              ElementsAre("above the arithmetic roof by 11 %: the FLOPs of its definition include "
                          "products with padding, which kernels skip: 0.900 of them are inside the "
                          "image, and these are 100.0 % of the roof"));
  // 0.95 of 1.11 is 1.056: something else is wrong.
  const auto too_low = ElementsAre(
      "above the arithmetic roof by 11 %: the ceiling is too low (dlroof machine --remeasure "
      "measures it again)");
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), PaddedOp(950)), too_low);
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), {}), too_low);
  record::Record other = FasterThanArithmetic();
  other.problem = "of another program";
  EXPECT_THAT(RemarksOf(other, PaddedOp(900)), too_low);
  // Its FLOPs lack the padding already.
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), PaddedOp(1000)), too_low);
  // Below the roof, padding needs no remark.
  record::Record slower = FasterThanArithmetic();
  slower.repetitions = {{.seconds = 11}};
  EXPECT_THAT(RemarksOf(slower, PaddedOp(900)), testing::IsEmpty());
  // 500 of 800 FLOPs of products and of 1000 FLOPs in all.
  record::Record record = FasterThanArithmetic();
  record.work[Provenance::kModelled].parts = {{"matrix", 800}, {"elementwise", 200}};
  EXPECT_THAT(RemarksOf(record, PaddedOp(500)),
              ElementsAre(HasSubstr("0.625 of them are inside the image")));
  record = FasterThanArithmetic();
  record.work[Provenance::kMeasured].flops["fp32.vector"] = 1000;
  EXPECT_THAT(RemarksOf(record, PaddedOp(900)), ElementsAre(HasSubstr("the ceiling is too low")));
}

// Which of the two counts of a problem the FLOPs of a record are.
TEST(FlopCount, IsNamedWhereTheTwoCountsDiffer) {
  const auto count_of = [&](const record::Record& record, const OpWords& words) {
    const auto placed = PlaceWritten(record, &kMachine, {.words = {{record.op, words}}}).placement;
    EXPECT_EQ(placed.flop_count.has_value(), !placed.asides.empty());
    return placed.flop_count.value_or("");
  };
  record::Record record = FasterThanArithmetic();
  record.repetitions = {{.seconds = 11}};
  EXPECT_EQ(count_of(record, PaddedOp(1000, 1210)),
            "its FLOPs are those of filter taps inside the image; the dense count, padding "
            "included, is 1.21 kFLOP, 1.21 times those of its products");
  EXPECT_EQ(count_of(record, PaddedOp(1000, 1010)), "") << "1 %";
  EXPECT_EQ(count_of(record, PaddedOp(1000, 1000)), "");
  EXPECT_EQ(count_of(record, {}), "");
  // A file of an older convention.
  EXPECT_EQ(count_of(record, PaddedOp(800, 1000)),
            "its FLOPs are the dense count, padding included: 0.800 of those of its products are "
            "of filter taps inside the image");
}

TEST(AboveArithmeticRoof, IsSaidOnceWithHowTheRoofIsKnown) {
  record::Record record = FasterThanArithmetic();
  for (const auto& bytes : {std::map<Level, double>{}, {{Level::kDram, 10}, {Level::kL2, 10}}}) {
    record.work[Provenance::kModelled].bytes = bytes;
    EXPECT_THAT(RemarksOf(record, PaddedOp(900)),
                ElementsAre(StartsWith("above the arithmetic roof by 11 %")));
  }
  machine::Machine machine = fakes::MachineWithRidge();
  auto& ceiling = machine.by_threads[2].flops["fp32.vector"];
  ceiling.status = kNotValidated;
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), {}, machine),
              Contains(AllOf(StartsWith("above the arithmetic roof by 11 %"),
                             HasSubstr("the ceiling, which is not validated, is too low"))));
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), PaddedOp(900), machine),
              Contains(HasSubstr("inside the image")));
  ceiling.status = kSpecified;
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), {}, machine),
              Contains("above the specified arithmetic roof by 11 %: the roof (see the machine "
                       "file) or the count of FLOPs is wrong"));
  record::Record winograd = FasterThanArithmetic();
  winograd.algorithm = "jit_wino:avx512_core";
  EXPECT_THAT(RemarksOf(winograd, PaddedOp(900)),
              ElementsAre(HasSubstr("the FLOP count is wrong for it")));
}

TEST(Specified, RoofsGivePercentagesAndSaySo) {
  machine::Machine machine = WithStatus(Level::kDram, kSpecified);
  for (auto& [pipe, ceiling] : machine.by_threads[2].flops) ceiling.status = kSpecified;
  const auto placed = Found(fakes::Measured(20, 200, 100), machine);  // roof 20 flop/s
  EXPECT_EQ(RoofShareText(placed.classic.at(0).share, false), "50.0 %");
  EXPECT_EQ(BoundText(*placed.time), "DRAM (specified)");
  EXPECT_THAT(placed.remarks,
              ElementsAre("placed under roofs that are specified, not measured: nothing validates "
                          "them; bound and percentages are only as accurate as they are"));
  EXPECT_THAT(placed.advice, HasSubstr("the time that its specified DRAM bandwidth roof"));
  EXPECT_EQ(ToJson(fakes::Measured(20, 200, 100), &machine)["time"]["given"], true);
  EXPECT_FALSE(ToJson(fakes::Measured(20, 200, 100), &kMachine)["time"].contains("given"));
}

}  // namespace
}  // namespace dlroof::roofline
