#include "counters/cupti/kernel_facts.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

constexpr GpuRoom kH200 = {90, 132, 228 << 10};

// 40 registers: 1280 of a warp, 51 warps of 65536, 48 evenly on 4 schedulers, 6 blocks of 8 warps.
TEST(Waves, RegistersAllowSixBlocksOfAnSm) {
  EXPECT_DOUBLE_EQ(*Waves({132 * 8, 256, 40, 0, {}}, kH200), 8.0 / 6);
}

// 254 registers: 8192 of a warp, 8 warps, one block. 154 KiB of shared memory allow one as well.
TEST(Waves, AWarpgroupOfAllRegistersIsAloneOnItsSm) {
  EXPECT_DOUBLE_EQ(*Waves({132, 256, 254, 0, {}}, kH200), 1);
  EXPECT_DOUBLE_EQ(*Waves({264, 256, 32, 154 << 10, {}}, kH200), 2);
}

// 2048 threads; 32 blocks of any size.
TEST(Waves, ThreadsAndBlocksOfAnSmAreLimited) {
  EXPECT_DOUBLE_EQ(*Waves({132 * 4, 1024, 16, 0, {}}, kH200), 2);
  EXPECT_DOUBLE_EQ(*Waves({132 * 64, 32, 16, 0, {}}, kH200), 2);
  EXPECT_DOUBLE_EQ(*Waves({1, 33, 16, 0, {}}, {75, 1, 64 << 10}), 1.0 / 16);
}

TEST(Waves, AreAbsentWhereTheyAreNotKnown) {
  EXPECT_FALSE(Waves({1, 256, 40, 0, {}}, {42, 132, 228 << 10}));
  EXPECT_FALSE(Waves({1, 256, 40, 300 << 10, {}}, kH200));
  EXPECT_FALSE(Waves({1, 1024, 255, 0, {}}, kH200));  // 32 warps, and 8 fit
}

}  // namespace
}  // namespace dlroof
