// Placement under roofs that are specified, not measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/summaries.h"
#include "tests/fakes/small_roofline.h"

namespace dlroof::roofline {
namespace {

// Returns the placement as reports show it, with findings.
Placement Placed(const record::Record& record, const machine::Machine& machine) {
  return PlaceWritten(record, &machine).placement;
}

// The roofs of SmallMachine, from a data sheet.
machine::Machine OfADataSheet() {
  machine::Machine machine = fakes::SmallMachine();
  auto& set = machine.by_threads[2];
  for (auto& [pipe, ceiling] : set.flops) {
    ceiling.status = machine::CeilingStatus::kSpecified;
  }
  set.bytes[Level::kDram].status = machine::CeilingStatus::kSpecified;
  return machine;
}

TEST(Place, GivesPercentagesUnderSpecifiedRoofsAndSaysSo) {
  const machine::Machine machine = OfADataSheet();
  const auto placed = Placed(fakes::Measured(20, 200, 100), machine);  // roof 20 flop/s
  EXPECT_DOUBLE_EQ(placed.classic.at(0).fraction.value(), 0.5);
  EXPECT_EQ(BoundText(*placed.time), "DRAM (specified)");
  EXPECT_THAT(
      placed.remarks,
      testing::ElementsAre("placed under roofs that are specified, not measured: nothing validates "
                           "them; bound and percentages are only as accurate as they are"));
  EXPECT_THAT(placed.advice, testing::HasSubstr("slower than its specified DRAM bandwidth roof"));
  EXPECT_EQ(ToJson(fakes::Measured(20, 200, 100), &machine)["time"]["given"], true);
  const machine::Machine measured = fakes::SmallMachine();
  EXPECT_FALSE(ToJson(fakes::Measured(20, 200, 100), &measured)["time"].contains("given"));
}

// 400 modelled byte at the measured 50 byte/s of L2 take 8 s. The call took 4 s, so they are
// refuted.
TEST(Place, ASpecifiedRateRefutesNoCount) {
  record::Record record = fakes::Measured(4, 200, 10);
  record.work[Provenance::kModelled].bytes[Level::kL2] = 400;
  machine::Machine machine = fakes::SmallMachine();
  EXPECT_THAT(Placed(record, machine).remarks,
              testing::Contains(testing::HasSubstr("left out at l2")));
  machine.by_threads[2].bytes[Level::kL2].status = machine::CeilingStatus::kSpecified;
  EXPECT_THAT(Placed(record, machine).remarks,
              testing::Contains(testing::StartsWith("above the specified l2 roof by 100 %")));
}

}  // namespace
}  // namespace dlroof::roofline
