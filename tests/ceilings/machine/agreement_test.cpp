#include "ceilings/machine/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::machine {
namespace {

Machine With(const std::map<int, double>& rates) {
  Machine machine;
  for (const auto& [threads, rate] : rates)
    machine.by_threads[threads].flops["fp32.vector"] = {
        .per_second = rate, .threads = threads, .proved = true};
  return machine;
}

TEST(CompareThreadCounts, RefutesAThreadThatWasSlowerAloneThanInATeam) {
  Machine machine = With({{1, 432e9}, {2, 1217e9}});  // 608.5 each
  CompareThreadCounts(machine);
  EXPECT_FALSE(machine.by_threads[1].flops["fp32.vector"].proved);
  EXPECT_THAT(machine.by_threads[1].flops["fp32.vector"].Reason(),
              testing::HasSubstr("608.5 G/s each, this 432 G/s"));
  EXPECT_TRUE(machine.by_threads[2].flops["fp32.vector"].proved);
}

TEST(CompareThreadCounts, SaysTheSameDoubtOnceAndKeepsOthers) {
  Machine machine = With({{1, 432e9}, {2, 1217e9}});
  auto& one = machine.by_threads[1].flops["fp32.vector"];
  one.reasons = {"its own doubt"};
  CompareThreadCounts(machine);
  const auto said = one.Reason();
  EXPECT_THAT(said, testing::StartsWith("its own doubt; 2 threads reached 608.5 G/s each"));
  CompareThreadCounts(machine);
  EXPECT_EQ(one.Reason(), said);
}

TEST(CompareThreadCounts, AcceptsScalingUpToNoiseAndBelow) {
  for (const double two : {203.0, 200.0, 120.0}) {  // 1.5 % above linear, linear, shared bandwidth
    Machine machine = With({{1, 100}, {2, two}});
    CompareThreadCounts(machine);
    EXPECT_TRUE(machine.by_threads[1].flops["fp32.vector"].proved) << two;
  }
}

// 2 threads at 190 of 100 each: 0.95; 4 at 320: 0.8 and still proved.
TEST(AddScaling, HoldsEachTeamAgainstOneThread) {
  Machine machine = With({{1, 100}, {2, 190}, {4, 320}});
  machine.by_threads[4].flops["fp64.vector.avx2"].per_second = 1;  // not measured alone
  AddScaling(machine, 0);
  const auto at = [&](int threads) { return machine.by_threads[threads].flops["fp32.vector"]; };
  EXPECT_EQ(at(1).proof.scaling, std::nullopt);
  EXPECT_EQ(at(2).proof.scaling, 0.95);
  EXPECT_EQ(at(4).proof.scaling, 0.8);
  EXPECT_TRUE(at(4).proved);
  machine.by_threads[1].flops["fp32.vector"].per_second = 80;
  AddScaling(machine, 0);
  EXPECT_EQ(at(4).proof.scaling, 1);
  EXPECT_EQ(machine.by_threads[4].flops["fp64.vector.avx2"].proof.scaling, std::nullopt);
}

// Two threads at 160 of 100 each: 0.8 of what one has, which a clock of 0.8 explains, or that there
// is one core for both.
TEST(AddScaling, RefutesATeamWhoseCoresAreNotItsOwn) {
  const auto scaled = [](int cores, std::optional<double> clock_of_two) {
    Machine machine = With({{1, 100}, {2, 160}});
    auto& two = machine.by_threads[2].flops["fp32.vector"];
    machine.by_threads[1].flops["fp32.vector"].clock_hz = 4e9;
    two.clock_hz = clock_of_two;
    AddScaling(machine, cores);
    AddScaling(machine, cores);  // says nothing twice
    return two;
  };
  EXPECT_FALSE(scaled(2, 4e9).proved);
  EXPECT_EQ(
      scaled(2, 4e9).Reason(),
      "at the same clock its threads are slower together than alone: others used their cores, "
      "or they share one");
  EXPECT_FALSE(scaled(2, std::nullopt).proved);
  EXPECT_TRUE(scaled(2, 3.2e9).proved);
  EXPECT_TRUE(scaled(1, 4e9).proved);
}

// 10 and 18 of two threads: 0.9; 5 and 7: 0.7. L3 and DRAM are shared, their rates say nothing of
// one thread.
TEST(AddScaling, OfMemoryIsThatOfThePrivateLevels) {
  Machine machine;
  const auto put = [&](int threads, Level level, const std::string& mix, double rate) {
    const Ceiling ceiling = {.per_second = rate, .threads = threads, .how = "h", .proved = true};
    machine.by_threads[threads].bytes[level] = ceiling;
    machine.by_threads[threads].mixes[mix] = ceiling;
  };
  for (const int threads : {1, 2}) {
    put(threads, Level::kL1, "l1.load.avx2", threads == 1 ? 10 : 18);
    put(threads, Level::kL2, "l2.copy.avx2", threads == 1 ? 5 : 7);
    put(threads, Level::kL3, "l3.load.avx2", 2);
    put(threads, Level::kDram, "dram.load.avx2", 1);
  }
  machine.by_threads[2].bytes[Level::kHost] = {.per_second = 1};
  AddScaling(machine, 0);
  AddScaling(machine, 0);  // says nothing twice
  auto& two = machine.by_threads[2];
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL1].proof.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.mixes["l1.load.avx2"].proof.scaling.value(), 0.9);
  EXPECT_DOUBLE_EQ(two.bytes[Level::kL2].proof.scaling.value(), 0.7);
  EXPECT_DOUBLE_EQ(two.mixes["l2.copy.avx2"].proof.scaling.value(), 0.7);
  EXPECT_TRUE(two.bytes[Level::kL2].proved);
  for (const Level level : {Level::kL3, Level::kDram, Level::kHost})
    EXPECT_EQ(two.bytes[level].proof.scaling, std::nullopt) << Key(level);
  EXPECT_EQ(two.mixes["l3.load.avx2"].proof.scaling, std::nullopt);
  EXPECT_EQ(two.mixes["dram.load.avx2"].proof.scaling, std::nullopt);
  EXPECT_EQ(machine.by_threads[1].bytes[Level::kL1].proof.scaling, std::nullopt);
}

}  // namespace
}  // namespace dlroof::machine
