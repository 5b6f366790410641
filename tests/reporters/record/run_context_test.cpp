#include "reporters/record/run_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/small_run.h"

namespace dlroof::record {
namespace {

using testing::HasSubstr;

TEST(FindChanges, NamesWhatElseChanged) {
  const auto base = fakes::Measured("n0", 2);
  auto contender = fakes::Measured("n0", 2, 3);
  auto base_machine = fakes::SmallMachine(), contender_machine = fakes::SmallMachine();
  base_machine.by_threads[2].flops["fp32.vector"].clock_hz = 3e9;
  contender_machine.by_threads[2].flops["fp32.vector"].clock_hz = 2.4e9;
  contender.algorithm = "ref";
  contender.work[Provenance::kModelled].flops["fp32.vector"] = 250;
  contender.work[Provenance::kModelled].launches = 4;
  const auto changes = FindChanges(base, &base_machine, contender, &contender_machine);
  std::vector<std::string> kinds;
  for (const auto& change : changes) kinds.emplace_back(change.kind);
  EXPECT_THAT(kinds, testing::ElementsAre("algorithm", "flops", "launches", "clock", "disturbed"));
  EXPECT_THAT(
      CausesText(changes, 1),
      HasSubstr("algorithm changed from 'brgemm' to 'ref'; fp32.vector FLOPs (modelled) grew "
                "2.50-fold, from 100 FLOP to 250 FLOP; launches (modelled) grew "
                "4.00-fold, from 1 to 4; the clock at the fp32.vector ceiling fell by 20.0 "
                "%, from 3.00 GHz to "
                "2.40 GHz; 67 % of the repetitions are noisy, before 0 %"));
  EXPECT_THAT(CausesText({}, 1), HasSubstr("unexplained"));
  EXPECT_THAT(CausesText({changes[1], changes[3]}, -1),
              AllOf(testing::StartsWith("unexplained; against it: fp32.vector FLOPs"),
                    HasSubstr("fell by 20.0 %")));
}

TEST(FindChanges, TheClockOfAGpuIsThatOfItsOwnRepetitions) {
  const auto at = [](double hz, double noisy_hz) {
    auto record = fakes::Measured("n0", 2, 8);  // the ninth is noisy
    for (auto& repetition : record.repetitions)
      repetition.gpu =
          std::make_shared<GpuSample>(GpuSample{.clock_hz = repetition.noisy ? noisy_hz : hz});
    return record;
  };
  const auto base = at(2e9, 1e9), contender = at(1.5e9, 3e9);
  // The ceilings' clock was measured at another time.
  auto base_machine = fakes::SmallMachine(), contender_machine = fakes::SmallMachine();
  base_machine.by_threads[2].flops["fp32.vector"].clock_hz = 3e9;
  contender_machine.by_threads[2].flops["fp32.vector"].clock_hz = 4e9;
  const auto changes = FindChanges(base, &base_machine, contender, &contender_machine);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].kind, "clock");
  EXPECT_EQ(changes[0].text,
            "the clock of the SMs while it ran fell by 25.0 %, from 2.00 GHz to 1.50 GHz");
  // Equal clocks are no change whatever the ceilings' are, which count if one run lacks its clock.
  EXPECT_TRUE(FindChanges(base, &base_machine, at(2.01e9, 1e9), &contender_machine).empty());
  const auto unknown =
      FindChanges(base, &base_machine, fakes::Measured("n0", 2), &contender_machine);
  ASSERT_EQ(unknown.size(), 1);
  EXPECT_THAT(unknown[0].text, HasSubstr("at the fp32.vector ceiling grew by 33.3 %"));
}

TEST(FindChanges, CountersHaveATolerance) {
  auto base = fakes::Measured("n0", 2), contender = base;
  base.work[Provenance::kMeasured].bytes[Level::kL2] = 100;
  contender.work[Provenance::kMeasured].bytes[Level::kL2] = 104;
  EXPECT_TRUE(FindChanges(base, nullptr, contender, nullptr).empty());
  contender.work[Provenance::kMeasured].bytes[Level::kL2] = 90;
  const auto changes = FindChanges(base, nullptr, contender, nullptr);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_THAT(changes[0].text, HasSubstr("l2 bytes (measured) fell by 10.0 %"));
}

TEST(ContextChanges, NamesWhatElseDiffers) {
  RunFile base, contender;
  base.context["dlroof"] = {{"commit", "a"}, {"libraries", {{"onednn", "3.2"}}}};
  contender.context["dlroof"] = {{"commit", "b"},
                                 {"libraries", {{"onednn", "3.3"}}},
                                 {"environment", {{"OMP_NUM_THREADS", "2"}}}};
  EXPECT_THAT(ContextChanges(base, contender),
              testing::ElementsAre("commit: a -> b", "libraries onednn: 3.2 -> 3.3",
                                   "environment OMP_NUM_THREADS: none -> 2"));
}

TEST(ContextChanges, NamesWhatAFileOfGoogleBenchmarkSays) {
  RunFile base, contender;
  base.context = {{"library_build_type", "release"},
                  {"mhz_per_cpu", 2600},
                  {"host_name", "a"},
                  {"CXX", "gcc 12"},
                  {"date", "1"}};
  contender.context = {
      {"library_build_type", "debug"}, {"CXX", "clang 17"}, {"date", "2"},
      {"mhz_per_cpu", 2601},           {"host_name", "a"},  {"library_version", "v1.9.5"}};
  EXPECT_THAT(
      ContextChanges(base, contender),
      testing::ElementsAre("CXX: gcc 12 -> clang 17", "library_build_type: release -> debug",
                           "library_version: none -> v1.9.5"));
}

}  // namespace
}  // namespace dlroof::record
