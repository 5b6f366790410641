// The cache of a machine whose measurements join.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ceilings/cpu_ceilings/measure.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/base/files.h"

namespace dlroof::machine_file {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char *kFp32 = "fp32.vector", *kInt8 = "int8.vector";

// A machine of one thread whose rates and validations the tests choose.
class LearningCache : public testing::Test {
 protected:
  machine::Ceiling Row(double per_second) {
    machine::Ceiling row{.per_second = per_second, .how = "h"};
    if (validated_)
      row.status = machine::CeilingStatus::kValidated;
    else
      row.reasons = {"other programs ran"};
    row.visits = {{.at = std::to_string(++visits_),
                   .per_second = per_second,
                   .clean = 3,
                   .validated = validated_}};
    return row;
  }

  machine::Machine Measured(const std::set<std::string>& pipes, const std::string& effort,
                            const std::vector<int>& threads = {1}) {
    auto machine = source_.described;
    machine.measured_at = std::to_string(++visits_);
    for (const int count : threads) {
      auto& set = machine.by_threads[count];
      for (const auto& pipe : pipes) set.flops[pipe + ".avx2"] = Row(rate_);
      set.mixes["dram.load.avx2"] = Row(rate_ / 10);
      set.effort = effort;
      for (auto& [row, ceiling] : set.flops) ceiling.threads = count;
    }
    cpu_ceilings::AddRoofs(machine, std::nullopt);
    return machine;
  }

  machine::Machine Visited(const RowsByThreads& rows) {
    visited_.push_back(rows);
    auto machine = source_.described;
    for (const auto& row : rows.at(1)) {
      auto& set = machine.by_threads[1];
      (row.starts_with("dram") ? set.mixes : set.flops)[row] =
          Row(row.starts_with("dram") ? rate_ / 10 : rate_);
    }
    return machine;
  }

  machine::Machine Get(const MachineOptions& options) {
    return CachedOrMeasured(source_, options, log_);
  }
  MachineOptions Needing(const std::set<std::string>& pipes, bool live_check = false) {
    return {.live_check = live_check, .needs = pipes};
  }
  static const machine::Ceiling& Roof(const machine::Machine& machine, const char* pipe = kFp32,
                                      int threads = 1) {
    return machine.by_threads.at(threads).flops.at(pipe);
  }

  const TemporaryFolder folder_;
  double rate_ = 100;
  bool validated_ = true;
  int visits_ = 0;
  std::ostringstream log_;
  std::vector<std::set<std::string>> roofs_;  // pipes of each call of measure_roofs
  std::vector<RowsByThreads> visited_;
  int full_ = 0;               // calls of measure
  std::vector<int> measured_;  // thread counts of the last one
  MachineSource source_{.described = {.device = "cpu",
                                      .name = "Some CPU",
                                      .fingerprint = "0123",
                                      .facts = {{cpu_ceilings::kKernelFact, "6.1"}}},
                        .threads = {1},
                        .directory = folder_ / "cache",
                        .measure =
                            [this](bool, const std::vector<int>& threads) {
                              ++full_;
                              measured_ = threads;
                              return Measured({kFp32, kInt8}, "full", threads);
                            },
                        .measure_roofs =
                            [this](const std::vector<int>&, const std::set<std::string>& pipes) {
                              roofs_.push_back(pipes);
                              return Measured(pipes, "roofs");
                            },
                        .visit = [this](const RowsByThreads& rows) { return Visited(rows); },
                        .pipes = {kFp32, kInt8}};
};

TEST_F(LearningCache, MeasuresThePipesThatARunNeedsAndLaterOnlyWhatIsMissing) {
  Get(Needing({kFp32, "bf16.matrix"}));  // this machine has no bf16
  EXPECT_THAT(roofs_, ElementsAre(std::set<std::string>{kFp32}));
  Get(Needing({kFp32}));
  EXPECT_EQ(roofs_.size(), 1);
  const auto both = Get(Needing({kInt8}));
  EXPECT_EQ(roofs_.size(), 2);
  EXPECT_EQ(Roof(both, kFp32).per_second, 100);
  EXPECT_EQ(Roof(both, kInt8).per_second, 100);
  EXPECT_EQ(full_, 0);
}

TEST_F(LearningCache, AllRowsAreMeasuredWhereAllAreAskedFor) {
  Get(Needing({kFp32}));
  EXPECT_EQ(Get({}).by_threads.at(1).effort, "full");
  EXPECT_EQ(full_, 1);
  Get(Needing({kInt8}));
  Get({});
  EXPECT_EQ(full_, 1);
  EXPECT_EQ(roofs_.size(), 1);
}

TEST_F(LearningCache, ABusyVisitNeverReplacesAValidatedRoof) {
  Get({});
  validated_ = false;
  for (const double rate : {60.0, 101.0, 130.0}) {
    rate_ = rate;
    const auto machine = Get({.remeasure = true});
    EXPECT_EQ(Roof(machine).per_second, 100) << rate;
    EXPECT_TRUE(Roof(machine).IsValidated()) << rate;
  }
  EXPECT_EQ(Roof(Get({})).visits.size(), 4);
}

TEST_F(LearningCache, VisitsThatAgreeValidateARoof) {
  validated_ = false;
  EXPECT_FALSE(Roof(Get({})).IsValidated());
  const auto machine = Get(Needing({kFp32}, true));  // the live check is the second visit
  EXPECT_TRUE(Roof(machine).IsValidated());
  EXPECT_TRUE(machine.by_threads.at(1).bytes.at(Level::kDram).IsValidated());
  EXPECT_FALSE(Roof(machine, kInt8).IsValidated()) << "the run does not need it";
  EXPECT_TRUE(Roof(Get({})).IsValidated()) << "the cache has it";
}

TEST_F(LearningCache, ALiveCheckVisitsTheFastestFp32RowLoadsAndWhatIsNotValidated) {
  Get({});
  Get(Needing({kInt8}, true));
  EXPECT_THAT(visited_, ElementsAre(RowsByThreads{{1, {"fp32.vector.avx2", "dram.load.avx2"}}}));
  EXPECT_EQ(log_.str().find("now"), std::string::npos) << log_.str();
}

TEST(RowsToVisit, HasTheFastestCopyWhichTheRoofNeedNotBe) {
  machine::Machine machine{.device = "cpu"};
  auto& set = machine.by_threads[1];
  for (const auto& [key, rate] :
       {std::pair("dram.copy.avx2", 50.0), {"dram.copy-nt.avx2", 60.0}, {"dram.update.avx2", 70.0}})
    set.mixes[key] = {.per_second = rate};
  set.mixes["dram.update.avx2"].status = machine::CeilingStatus::kValidated;
  set.bytes[Level::kDram] = set.mixes["dram.update.avx2"];
  set.bytes[Level::kDram].mix = "update.avx2";
  EXPECT_THAT(RowsToVisit(machine, {1}, {}),
              ElementsAre(RowsByThreads::value_type{1, {"dram.copy-nt.avx2"}}));
}

TEST_F(LearningCache, ASlowerMachineIsToldAndNothingIsMeasuredAgain) {
  Get({});
  rate_ = 70;
  const auto machine = Get(Needing({kFp32}, true));
  EXPECT_THAT(log_.str(), HasSubstr("slower: the machine is slower than when it was measured"));
  EXPECT_EQ(Roof(machine).per_second, 100);
  EXPECT_EQ(full_, 1);
  EXPECT_TRUE(roofs_.empty());
  EXPECT_THAT(machine.facts.at("live_check"), HasSubstr("slower"));
  EXPECT_FALSE(Get({}).facts.contains("live_check"));
}

TEST_F(LearningCache, OnAFasterMachineEveryRoofThatTheRunNeedsIsVisitedAgain) {
  Get({});
  rate_ = 120;
  const auto machine = Get(Needing({kInt8}, true));
  EXPECT_THAT(visited_, ElementsAre(RowsByThreads{{1, {"fp32.vector.avx2", "dram.load.avx2"}}},
                                    RowsByThreads{{1, {"int8.vector.avx2", "dram.load.avx2"}}}));
  for (const char* pipe : {kFp32, kInt8}) {
    EXPECT_EQ(Roof(machine, pipe).per_second, 120);
    EXPECT_TRUE(Roof(machine, pipe).IsValidated());
  }
  EXPECT_TRUE(roofs_.empty());
  EXPECT_EQ(full_, 1);
}

TEST_F(LearningCache, AnotherKernelOrMicrocodeBeginsAnew) {
  Get({});
  rate_ = 80;
  source_.described.facts[cpu_ceilings::kKernelFact] = "6.2";
  EXPECT_EQ(Roof(Get({})).per_second, 80);
  EXPECT_THAT(log_.str(), HasSubstr("have changed"));
}

TEST_F(LearningCache, MeasuresAndAddsOnlyTheThreadCountThatIsMissing) {
  source_.threads = {1, 2};
  Get({});
  source_.threads = {1, 3};
  rate_ = 110;
  const auto machine = Get({});
  EXPECT_THAT(measured_, ElementsAre(3));
  EXPECT_EQ(Roof(machine, kFp32, 1).per_second, 100);
  EXPECT_EQ(Roof(machine, kFp32, 2).per_second, 100);
  EXPECT_EQ(Roof(machine, kFp32, 3).per_second, 110);
  EXPECT_EQ(Get({}), machine);
  EXPECT_EQ(full_, 2);
}

TEST_F(LearningCache, KeepsTheLastIssueRateSoThatAWrongOneDoesNotStay) {
  const auto rate_after = [&](std::optional<double> rate) {
    source_.described.issue_rate = rate;
    source_.threads.push_back(source_.threads.back() + 1);
    return Get({}).issue_rate;
  };
  EXPECT_EQ(rate_after(4), 4);
  EXPECT_EQ(rate_after(6.83), 6.83);
  EXPECT_EQ(rate_after(3.94), 3.94);
  EXPECT_EQ(rate_after(std::nullopt), 3.94);
}

// One thread: 100; two, measured later: 240, which is 120 each.
TEST_F(LearningCache, SetsOfDifferentMeasurementsAreHeldAgainstEachOther) {
  EXPECT_TRUE(Roof(Get({})).IsValidated());
  source_.threads = {1, 2};
  rate_ = 240;
  const auto two = Get({});
  for (const char* key : {"fp32.vector", "fp32.vector.avx2"}) {
    EXPECT_FALSE(Roof(two, key).IsValidated()) << key;
    EXPECT_THAT(Roof(two, key).ReasonText(), HasSubstr("2 threads reached"));
  }
  EXPECT_THAT(NotValidatedWarning(two).value(), HasSubstr("ceilings are not validated"));
  EXPECT_EQ(Get({}), two) << "the cache has the reason too";
  source_.threads = {4};  // 72 each: 72 % of one alone
  rate_ = 288;
  EXPECT_DOUBLE_EQ(Roof(Get({}), kFp32, 4).validation.scaling.value(), 0.72);
}

TEST(RowsToVisit, AreNoneOfAnUnknownMachine) {
  EXPECT_TRUE(RowsToVisit({}, {1, 2}, {kFp32}).empty());
}

}  // namespace
}  // namespace dlroof::machine_file
