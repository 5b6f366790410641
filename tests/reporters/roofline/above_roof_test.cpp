// Calls that are faster than one of their roofs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "tests/fakes/small_roofline.h"

namespace dlroof::roofline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr auto kSpecified = machine::CeilingStatus::kSpecified;
constexpr auto kNotValidated = machine::CeilingStatus::kNotValidated;

// Returns the placement as reports show it, with findings.
Placement Found(const record::Record& record, const machine::Machine& machine) {
  return PlaceWritten(record, &machine).placement;
}

machine::Machine WithStatus(Level level, machine::CeilingStatus status) {
  machine::Machine machine = fakes::SmallMachine();
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
TEST(AboveRoof, CountedBytesAboveTheirRoofDoNotBindAndTheRoofIsTooLow) {
  const machine::Machine machine = fakes::SmallMachine();
  const auto record = WithL2(750, Provenance::kMeasured);
  const auto placed = Found(record, machine);
  EXPECT_EQ(placed.time->bound_level, Level::kDram);
  EXPECT_DOUBLE_EQ(placed.time->times_over_roof.value(), 2);
  EXPECT_FALSE(placed.time->memory_seconds.contains(Level::kL2));
  EXPECT_EQ(placed.time->above_roof, (std::map<Level, WrongPart>{{Level::kL2, WrongPart::kRoof}}));
  EXPECT_DOUBLE_EQ(PointOf(placed, Level::kL2)->fraction.value(), 1.5) << "its point is drawn";
  EXPECT_EQ(Binding(placed)->level, Level::kDram);
  EXPECT_THAT(placed.remarks,
              ElementsAre("above the l2 roof by 50 %, so l2 does not count as its bound: its bytes "
                          "were counted, so the ceiling is too low (dlroof machine --remeasure "
                          "measures it again)"));
  EXPECT_EQ(placed.above_roof_remarks, placed.remarks);
  EXPECT_THAT(placed.advice, AllOf(HasSubstr("Takes 2.0x the time that its DRAM bandwidth roof"),
                                   HasSubstr("faster than the L2 roof, which is too low")));
  const auto time = ToJson(record, &machine)["time"];
  EXPECT_EQ(time["above_roof"], (nlohmann::json{{"l2", "roof"}}));
  EXPECT_EQ(time["bound_level"], "dram");
}

// 2 % is noise, and so is what the median's interval contains.
TEST(AboveRoof, NoiseIsNot) {
  const machine::Machine machine = fakes::SmallMachine();
  const auto at = Found(WithL2(509, Provenance::kMeasured), machine);
  EXPECT_EQ(at.time->bound_level, Level::kL2);
  EXPECT_TRUE(at.time->above_roof.empty());
  EXPECT_EQ(Found(WithL2(511, Provenance::kMeasured), machine).time->bound_level, Level::kDram);
  record::Record wide = WithL2(550, Provenance::kMeasured);
  wide.repetitions.clear();
  for (const double seconds : {8.0, 9.0, 10.0, 10.0, 10.0, 12.0, 13.0})
    wide.repetitions.push_back({.seconds = seconds});
  EXPECT_GT(LongestSeconds(wide, 10), 11);
  EXPECT_EQ(Found(wide, machine).time->bound_level, Level::kL2);
}

TEST(AboveRoof, CountedBytesShowThatASpecifiedRoofIsTooLow) {
  const auto placed = Found(WithL2(750, Provenance::kMeasured), WithStatus(Level::kL2, kSpecified));
  EXPECT_EQ(placed.time->above_roof.at(Level::kL2), WrongPart::kRoof);
  EXPECT_THAT(placed.remarks,
              Contains("above the specified l2 roof by 50 %, so l2 does not count as its bound: "
                       "its bytes were counted, so the roof is too low (see the machine file)"));
}

TEST(AboveRoof, AModelUnderARoofThatNothingValidatesMayBeWrongItself) {
  for (const auto from : {Provenance::kModelled, Provenance::kSimulated})
    for (const auto status : {kNotValidated, kSpecified}) {
      const auto placed = Found(WithL2(750, from), WithStatus(Level::kL2, status));
      EXPECT_EQ(placed.time->above_roof.at(Level::kL2), WrongPart::kUnknown);
      EXPECT_EQ(placed.time->bound_level, Level::kDram);
      EXPECT_DOUBLE_EQ(placed.time->times_over_roof.value(), 2);
      EXPECT_THAT(placed.remarks, Contains(HasSubstr("bytes are wrong")));
      EXPECT_THAT(placed.advice, Not(HasSubstr("too low")));
      EXPECT_TRUE(placed.uncertain.empty()) << "that roof suppresses no number";
    }
}

TEST(AboveRoof, AModelUnderAValidatedRoofIsWrongAndHasNoPoint) {
  const auto placed = Found(WithL2(750, Provenance::kModelled), fakes::SmallMachine());
  EXPECT_EQ(PointOf(placed, Level::kL2), nullptr);
  EXPECT_EQ(placed.time->bound_level, Level::kDram);
  EXPECT_THAT(placed.remarks, ElementsAre(AllOf(StartsWith("left out at l2"),
                                                HasSubstr("so the modelled bytes are wrong"))));
}

// 100 byte / 10 byte/s = 10 s at the DRAM roof, measured 5 s.
TEST(AboveRoof, CompulsoryBytesPassDramUnlessAWarmCacheContainsThem) {
  machine::Machine machine = fakes::SmallMachine();
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

// A model of a GPU's kernel adds bytes that are read again, which nothing proves.
TEST(AboveRoof, ModelledRereadsAreNotCompulsory) {
  record::Record record = fakes::Measured(5, 1, 100);
  record.device = "gpu";
  record.cache = "cold";
  const machine::Machine machine = fakes::SmallMachine();
  EXPECT_EQ(Found(record, machine).time->above_roof.at(Level::kDram), WrongPart::kRoof);
  record.counting.push_back({"model", Provenance::kModelled, "waves"});
  EXPECT_EQ(Found(record, machine).time->above_roof.at(Level::kDram), WrongPart::kBytes);
}

// A level above its roof has no part in the breakdown either.
TEST(AboveRoof, TheBreakdownNeedsAnotherRoof) {
  record::Record record = WithL2(750, Provenance::kMeasured);
  record.device = "cpu";
  record.parallel = ParallelTime{
      .mean = {10, {.regions = 1, .seconds = 10, .longest_seconds = 10, .busy_seconds = 20}},
      .threads = 2,
      .calls = 9};
  machine::Machine machine = fakes::SmallMachine();
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
                                   const machine::Machine& machine) {
  return PlaceWritten(record, &machine, {.words = {{record.op, words}}}).placement.remarks;
}

TEST(AboveArithmeticRoof, TapsInThePaddingAreNamedWhereTheyExplainIt) {
  const machine::Machine machine = fakes::SmallMachine();
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), PaddedOp(900), machine),
              ElementsAre("above the arithmetic roof by 11 %: the FLOPs of its definition include "
                          "products with padding, which kernels skip: 0.900 of them are inside the "
                          "image, and these are 100.0 % of the roof"));
  // 0.95 of 1.11 is 1.056: something else is wrong.
  const auto too_low = ElementsAre(
      "above the arithmetic roof by 11 %: the ceiling is too low (dlroof machine --remeasure "
      "measures it again)");
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), PaddedOp(950), machine), too_low);
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), {}, machine), too_low);
  record::Record other = FasterThanArithmetic();
  other.problem = "of another program";
  EXPECT_THAT(RemarksOf(other, PaddedOp(900), machine), too_low);
  // Its FLOPs lack the padding already.
  EXPECT_THAT(RemarksOf(FasterThanArithmetic(), PaddedOp(1000), machine), too_low);
  // Below the roof, padding needs no remark.
  record::Record slower = FasterThanArithmetic();
  slower.repetitions = {{.seconds = 11}};
  EXPECT_THAT(RemarksOf(slower, PaddedOp(900), machine), testing::IsEmpty());
}

TEST(AboveArithmeticRoof, PaddingIsAShareOfTheProductsAlone) {
  // 500 of 800 FLOPs of products and of 1000 FLOPs in all.
  record::Record record = FasterThanArithmetic();
  record.work[Provenance::kModelled].parts = {{"matrix", 800}, {"elementwise", 200}};
  EXPECT_THAT(RemarksOf(record, PaddedOp(500), fakes::SmallMachine()),
              ElementsAre(HasSubstr("0.625 of them are inside the image")));
}

TEST(AboveArithmeticRoof, CountedFlopsContainNoPadding) {
  record::Record record = FasterThanArithmetic();
  record.work[Provenance::kMeasured].flops["fp32.vector"] = 1000;
  EXPECT_THAT(RemarksOf(record, PaddedOp(900), fakes::SmallMachine()),
              ElementsAre(HasSubstr("the ceiling is too low")));
}

// Which of the two counts of a problem the FLOPs of a record are.
TEST(FlopCount, IsNamedWhereTheTwoCountsDiffer) {
  const machine::Machine machine = fakes::SmallMachine();
  const auto count_of = [&](const record::Record& record, const OpWords& words) {
    const auto placed = PlaceWritten(record, &machine, {.words = {{record.op, words}}}).placement;
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

TEST(AboveArithmeticRoof, IsSaidOnceWithoutALevelToo) {
  record::Record record = FasterThanArithmetic();
  record.work[Provenance::kModelled].bytes.clear();
  EXPECT_THAT(RemarksOf(record, PaddedOp(900), fakes::SmallMachine()),
              ElementsAre(StartsWith("above the arithmetic roof by 11 %")));
  record.work[Provenance::kModelled].bytes = {{Level::kDram, 10}, {Level::kL2, 10}};
  EXPECT_THAT(RemarksOf(record, PaddedOp(900), fakes::SmallMachine()),
              ElementsAre(StartsWith("above the arithmetic roof by 11 %")));
}

TEST(AboveArithmeticRoof, SaysHowTheRoofIsKnown) {
  machine::Machine machine = fakes::SmallMachine();
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
  EXPECT_THAT(RemarksOf(winograd, PaddedOp(900), fakes::SmallMachine()),
              ElementsAre(HasSubstr("the FLOP count is wrong for it")));
}

TEST(Specified, RoofsGivePercentagesAndSaySo) {
  machine::Machine machine = WithStatus(Level::kDram, kSpecified);
  for (auto& [pipe, ceiling] : machine.by_threads[2].flops) ceiling.status = kSpecified;
  const auto placed = Found(fakes::Measured(20, 200, 100), machine);  // roof 20 flop/s
  EXPECT_DOUBLE_EQ(placed.classic.at(0).fraction.value(), 0.5);
  EXPECT_EQ(BoundText(*placed.time), "DRAM (specified)");
  EXPECT_THAT(placed.remarks,
              ElementsAre("placed under roofs that are specified, not measured: nothing validates "
                          "them; bound and percentages are only as accurate as they are"));
  EXPECT_THAT(placed.advice, HasSubstr("the time that its specified DRAM bandwidth roof"));
  EXPECT_EQ(ToJson(fakes::Measured(20, 200, 100), &machine)["time"]["given"], true);
  const machine::Machine measured = fakes::SmallMachine();
  EXPECT_FALSE(ToJson(fakes::Measured(20, 200, 100), &measured)["time"].contains("given"));
}

// 400 modelled byte at the measured 50 byte/s of L2 take 8 s. The call took 4 s, so they are
// refuted.
TEST(Specified, RatesRefuteNoCount) {
  record::Record record = fakes::Measured(4, 200, 10);
  record.work[Provenance::kModelled].bytes[Level::kL2] = 400;
  EXPECT_THAT(Found(record, fakes::SmallMachine()).remarks, Contains(HasSubstr("left out at l2")));
  EXPECT_THAT(Found(record, WithStatus(Level::kL2, kSpecified)).remarks,
              Contains(StartsWith("above the specified l2 roof by 100 %")));
}

}  // namespace
}  // namespace dlroof::roofline
