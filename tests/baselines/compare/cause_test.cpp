#include "baselines/compare/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/small_run.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

TEST(FindChanges, NamesWhatElseChanged) {
  const auto base = Measured("n0", 2);
  auto fresh = Measured("n0", 2, 3);
  auto base_machine = SmallMachine(), fresh_machine = SmallMachine();
  base_machine.by_threads[2].flops["fp32.vector"].clock_hz = 3e9;
  fresh_machine.by_threads[2].flops["fp32.vector"].clock_hz = 2.4e9;
  fresh.algorithm = "ref";
  fresh.work[Provenance::kModelled].flops["fp32.vector"] = 250;
  fresh.work[Provenance::kModelled].launches = 4;
  const auto changes = FindChanges(base, &base_machine, fresh, &fresh_machine);
  std::vector<std::string> kinds;
  for (const auto& change : changes) kinds.emplace_back(Key(change.kind));
  EXPECT_THAT(kinds, testing::ElementsAre("algorithm", "flops", "launches", "clock", "disturbed"));
  EXPECT_THAT(
      WhyItMoved(changes),
      HasSubstr("algorithm changed from 'brgemm' to 'ref'; fp32.vector FLOPs (modelled) grew "
                "2.50-fold, from 100 FLOP to 250 FLOP; launches (modelled) changed from 1 to "
                "4; the clock under the fp32.vector ceiling fell by 20.0 %, from 3.00 GHz to "
                "2.40 GHz; disturbed: 6 of 9 repetitions, before 0 of 9"));
  EXPECT_THAT(WhyItMoved({}), HasSubstr("unexplained"));
}

TEST(FindChanges, TheClockOfAGpuIsThatOfItsOwnRepetitions) {
  const auto at = [](double hz, double disturbed_hz) {
    auto record = Measured("n0", 2, 8);  // the ninth is disturbed
    for (auto& repetition : record.repetitions)
      repetition.gpu = std::make_shared<GpuSample>(
          GpuSample{.clock_hz = repetition.disturbed ? disturbed_hz : hz});
    return record;
  };
  const auto base = at(2e9, 1e9), fresh = at(1.5e9, 3e9);
  // The ceilings' clock is of another hour.
  auto base_machine = SmallMachine(), fresh_machine = SmallMachine();
  base_machine.by_threads[2].flops["fp32.vector"].clock_hz = 3e9;
  fresh_machine.by_threads[2].flops["fp32.vector"].clock_hz = 4e9;
  const auto changes = FindChanges(base, &base_machine, fresh, &fresh_machine);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].kind, ChangeKind::kClock);
  EXPECT_DOUBLE_EQ(*changes[0].ratio, 0.75);
  EXPECT_EQ(changes[0].text,
            "the clock of the SMs while it ran fell by 25.0 %, from 2.00 GHz to 1.50 GHz");
  // Alike, whatever the ceilings say; and where one run does not know it, the ceilings do.
  EXPECT_TRUE(FindChanges(base, &base_machine, at(2.01e9, 1e9), &fresh_machine).empty());
  const auto unknown = FindChanges(base, &base_machine, Measured("n0", 2), &fresh_machine);
  ASSERT_EQ(unknown.size(), 1);
  EXPECT_THAT(unknown[0].text, HasSubstr("under the fp32.vector ceiling grew by 33.3 %"));
}

TEST(FindChanges, CountersHaveATolerance) {
  auto base = Measured("n0", 2), fresh = base;
  base.work[Provenance::kMeasured].bytes[Level::kL2] = 100;
  fresh.work[Provenance::kMeasured].bytes[Level::kL2] = 104;
  EXPECT_TRUE(FindChanges(base, nullptr, fresh, nullptr).empty());
  fresh.work[Provenance::kMeasured].bytes[Level::kL2] = 90;
  const auto changes = FindChanges(base, nullptr, fresh, nullptr);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].level, Level::kL2);
  EXPECT_THAT(changes[0].text, HasSubstr("l2 bytes (measured) fell by 10.0 %"));
}

}  // namespace
}  // namespace dlroof
