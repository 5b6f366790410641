#include "bench/tune/surroundings.h"

#include <gtest/gtest.h>

namespace dlroof::tune {
namespace {

TEST(Surroundings, ReadsTheFirstLineOfProcStat) {
  // 100 ticks a second: user 100 + nice 20 + system 30 + irq 5 + softirq 5, idle 700 + wait 40.
  const auto use = ParseCpuUse("cpu  100 20 30 700 40 5 5 60 9 9\ncpu0 1 1 1 1 1 1 1 1\n", 100);
  ASSERT_TRUE(use);
  EXPECT_DOUBLE_EQ(use->busy, 1.6);
  EXPECT_DOUBLE_EQ(use->idle, 7.4);
  EXPECT_DOUBLE_EQ(use->stolen, 0.6);
  EXPECT_FALSE(ParseCpuUse("cpu 1 2 3", 100));
  EXPECT_FALSE(ParseCpuUse("", 100));
}

TEST(Surroundings, OurOwnTimeIsNobodyElses) {
  // 20 s in all: 12 busy, 10 of them ours; 1 of the host.
  EXPECT_EQ(SurroundingsText({1, 1, 1}, {13, 8, 2}, 10),
            "the machine was busy: other programs used 10 % of the CPUs' time, the host 5 %; the "
            "best setting is the best beside them");
  EXPECT_EQ(SurroundingsText({1, 1, 1}, {13, 9, 1}, 13),
            "the machine was quiet: other programs used 0 % of the CPUs' time, the host 0 %");
  EXPECT_EQ(SurroundingsText({1, 1, 1}, {1, 1, 1}, 0), "");
}

}  // namespace
}  // namespace dlroof::tune
