#include "baselines/compare/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baselines/compare/compare.h"
#include "tests/fakes/small_run.h"

namespace dlroof::compare {
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
  for (const auto& change : changes) kinds.emplace_back(Key(change.kind));
  EXPECT_THAT(kinds, testing::ElementsAre("algorithm", "flops", "launches", "clock", "disturbed"));
  EXPECT_THAT(
      CausesText(changes),
      HasSubstr("algorithm changed from 'brgemm' to 'ref'; fp32.vector FLOPs (modelled) grew "
                "2.50-fold, from 100 FLOP to 250 FLOP; launches (modelled) changed from 1 to "
                "4; the clock at the fp32.vector ceiling fell by 20.0 %, from 3.00 GHz to "
                "2.40 GHz; noisy: 6 of 9 repetitions, before 0 of 9"));
  EXPECT_THAT(CausesText({}), HasSubstr("unexplained"));
}

TEST(FindChanges, TheClockOfAGpuIsThatOfItsOwnRepetitions) {
  const auto at = [](double hz, double noisy_hz) {
    auto record = fakes::Measured("n0", 2, 8);  // the ninth is noisy
    for (auto& repetition : record.repetitions)
      repetition.gpu = std::make_shared<record::GpuSample>(
          record::GpuSample{.clock_hz = repetition.noisy ? noisy_hz : hz});
    return record;
  };
  const auto base = at(2e9, 1e9), contender = at(1.5e9, 3e9);
  // The ceilings' clock was measured at another time.
  auto base_machine = fakes::SmallMachine(), contender_machine = fakes::SmallMachine();
  base_machine.by_threads[2].flops["fp32.vector"].clock_hz = 3e9;
  contender_machine.by_threads[2].flops["fp32.vector"].clock_hz = 4e9;
  const auto changes = FindChanges(base, &base_machine, contender, &contender_machine);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].kind, ChangeKind::kClock);
  EXPECT_DOUBLE_EQ(*changes[0].ratio, 0.75);
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
  EXPECT_EQ(changes[0].level, Level::kL2);
  EXPECT_THAT(changes[0].text, HasSubstr("l2 bytes (measured) fell by 10.0 %"));
}

using testing::IsEmpty;

// 2 s and 120 byte of DRAM measured, 1.6 s and 100 byte predicted: residuals 1.25 and 1.2.
record::Record Predicted(double seconds = 2, double dram = 120) {
  auto record = fakes::Measured("n0", seconds);
  record.work[Provenance::kMeasured].bytes[Level::kDram] = dram;
  record.prediction = {1.6, {{Level::kDram, 100}}, "a model"};
  return record;
}

CompareOptions OnResiduals() {
  return CompareOptions{.min_effect = 0.03, .run_noise = 0.003, .on = {Quantity::kResidual}};
}

const Residual* Find(const std::vector<Residual>& residuals, const std::string& of) {
  for (const auto& residual : residuals)
    if (residual.of == of) return &residual;
  return nullptr;
}

TEST(ResidualsOf, AreMeasuredOverPredicted) {
  const auto residuals = ResidualsOf(Predicted());
  ASSERT_EQ(residuals.size(), 2U);
  EXPECT_DOUBLE_EQ(residuals.at("time"), 1.25);
  EXPECT_DOUBLE_EQ(residuals.at("dram"), 1.2);
}

TEST(ResidualsOf, AFormulaIsNoMeasurementAndUnknownIsAbsent) {
  auto record = Predicted();
  record.work.erase(Provenance::kMeasured);  // modelled: 1 byte
  record.prediction->bytes[Level::kL2] = 0;
  EXPECT_EQ(ResidualsOf(record).count("dram"), 0U);
  record.work[Provenance::kSimulated].bytes = {{Level::kDram, 50}, {Level::kL2, 7}};
  EXPECT_DOUBLE_EQ(ResidualsOf(record).at("dram"), 0.5);
  EXPECT_EQ(ResidualsOf(record).count("l2"), 0U) << "nothing was predicted";
  record.repetitions.clear();
  EXPECT_EQ(ResidualsOf(record).count("time"), 0U);
  record.prediction.reset();
  EXPECT_THAT(ResidualsOf(record), IsEmpty());
}

TEST(CompareResiduals, BytesMoveByMoreThanCountersScatterAndGetWorseAwayFromOne) {
  const auto dram = [](double base, double contender) {
    return CompareResiduals(Predicted(2, base), Predicted(2, contender), std::nullopt).at(0);
  };
  EXPECT_FALSE(dram(120, 125).moved) << "4 %";
  EXPECT_TRUE(dram(120, 130).worse) << "1.2 to 1.3";
  EXPECT_TRUE(dram(80, 70).worse) << "0.8 to 0.7";
  EXPECT_TRUE(dram(120, 105).moved);
  EXPECT_FALSE(dram(120, 105).worse) << "nearer to 1";
  // log 1.25 = 0.223, log 0.82 = -0.198: on the other side, but nearer.
  EXPECT_FALSE(dram(125, 82).worse);
  EXPECT_TRUE(dram(125, 75).worse);
  EXPECT_EQ(dram(120, 130).Text(), "dram residual (measured over predicted) grew from 1.2 to 1.3");
}

TEST(Compare, AResidualThatWentAwayFromOneIsAnAlertOfItsOwn) {
  const auto base = fakes::RunOf("b", {Predicted()}),
             contender = fakes::RunOf("n", {Predicted(2, 150)});
  const auto result = Compare(base, contender, OnResiduals());
  EXPECT_EQ(result.rows[0].verdict, statistics::Verdict::kSame);
  ASSERT_EQ(result.rows[0].alerts.size(), 1U);
  EXPECT_EQ(result.rows[0].alerts[0].on, Quantity::kResidual);
  EXPECT_THAT(result.rows[0].alerts[0].text, HasSubstr("dram residual"));
  EXPECT_EQ(result.exit_code, 1);
  // In the other direction it is reported without an alert.
  const auto better = Compare(contender, base, OnResiduals());
  EXPECT_THAT(better.rows[0].alerts, IsEmpty());
  EXPECT_TRUE(Find(better.rows[0].residuals, "dram")->moved);
  EXPECT_EQ(better.exit_code, 0);
  // There is no alert that was not requested.
  auto on_time = OnResiduals();
  on_time.on = {Quantity::kTime};
  EXPECT_EQ(Compare(base, contender, on_time).exit_code, 0);
}

TEST(Compare, TheTimesResidualIsJudgedLikeTheTime) {
  const auto base = fakes::RunOf("b", {Predicted()});
  // 1.25 to 1.38: 10 % slower than the same prediction.
  const auto slower = Compare(base, fakes::RunOf("n", {Predicted(2.2)}), OnResiduals());
  EXPECT_TRUE(Find(slower.rows[0].residuals, "time")->worse);
  EXPECT_EQ(slower.exit_code, 1);
  // Slower as predicted: no residual moved, though the time did.
  auto foreseen = Predicted(2.2);
  foreseen.prediction->seconds = 1.76;
  const auto as_said = Compare(base, fakes::RunOf("n", {foreseen}), OnResiduals());
  EXPECT_EQ(as_said.rows[0].verdict, statistics::Verdict::kSlower);
  EXPECT_FALSE(Find(as_said.rows[0].residuals, "time")->moved);
  EXPECT_EQ(as_said.exit_code, 0);
  // There are too few repetitions to judge the time, but bytes are still compared.
  auto once = Predicted(3, 150);
  once.repetitions.resize(1);
  const auto few = Compare(base, fakes::RunOf("n", {once}), OnResiduals());
  EXPECT_EQ(Find(few.rows[0].residuals, "time"), nullptr);
  EXPECT_TRUE(Find(few.rows[0].residuals, "dram")->worse);
}

TEST(Compare, ResidualsAreSummedUpPerLevel) {
  auto second = Predicted(2, 90);
  second.name = fakes::Name("n1");
  const auto base = fakes::RunOf("b", {Predicted(), second});
  auto contender = base;
  contender.where = "n";
  contender.file.records[1].work[Provenance::kMeasured].bytes[Level::kDram] = 60;
  const auto result = Compare(base, contender, OnResiduals());
  // |1.2 - 1| and |0.9 - 1|, then |0.6 - 1|.
  EXPECT_DOUBLE_EQ(result.residuals.at("dram").base, 0.15);
  EXPECT_DOUBLE_EQ(result.residuals.at("dram").contender, 0.3);
  EXPECT_EQ(result.residuals.at("dram").benchmarks, 2);
  EXPECT_THAT(Describe(result.residuals), HasSubstr("dram 15.0 % -> 30.0 % (2 benchmarks)"));
}

TEST(Compare, WithoutPredictionsItCannotSayWhatResidualsDid) {
  const auto base = fakes::RunOf("b", {fakes::Measured("n0", 2)});
  const auto result = Compare(base, fakes::RunOf("n", {fakes::Measured("n0", 2)}), OnResiduals());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.rows[0].residuals, IsEmpty());
  EXPECT_EQ(Describe(result.residuals), "");
}

}  // namespace
}  // namespace dlroof::compare
