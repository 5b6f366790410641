#include "ceilings/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof {
namespace {

Machine With(double one, double two) {
  Machine machine;
  machine.by_threads[1].flops["fp32.vector"] = {.per_second = one, .threads = 1, .proved = true};
  machine.by_threads[2].flops["fp32.vector"] = {.per_second = two, .threads = 2, .proved = true};
  return machine;
}

TEST(CompareThreadCounts, RefutesAThreadThatWasSlowerAloneThanInATeam) {
  Machine machine = With(432e9, 1217e9);  // 608.5 each
  CompareThreadCounts(machine);
  EXPECT_FALSE(machine.by_threads[1].flops["fp32.vector"].proved);
  EXPECT_THAT(machine.by_threads[1].flops["fp32.vector"].reason,
              testing::HasSubstr("608.5 G/s each, this 432 G/s"));
  EXPECT_TRUE(machine.by_threads[2].flops["fp32.vector"].proved);
}

TEST(CompareThreadCounts, SaysTheSameDoubtOnceAndKeepsOthers) {
  Machine machine = With(432e9, 1217e9);
  auto& one = machine.by_threads[1].flops["fp32.vector"];
  one.reason = "its own doubt";
  CompareThreadCounts(machine);
  const auto said = one.reason;
  EXPECT_THAT(said, testing::StartsWith("its own doubt; 2 threads reached 608.5 G/s each"));
  CompareThreadCounts(machine);
  EXPECT_EQ(one.reason, said);
}

TEST(CompareThreadCounts, AcceptsScalingUpToNoiseAndBelow) {
  for (const double two : {203.0, 200.0, 120.0}) {  // 1.5 % above linear, linear, shared bandwidth
    Machine machine = With(100, two);
    CompareThreadCounts(machine);
    EXPECT_TRUE(machine.by_threads[1].flops["fp32.vector"].proved) << two;
  }
}

}  // namespace
}  // namespace dlroof
