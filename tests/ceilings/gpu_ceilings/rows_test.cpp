#include "ceilings/gpu_ceilings/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/fakes/expected_gpu_results.h"

namespace dlroof::gpu_ceilings {
namespace {

using testing::Contains;
using testing::Not;

std::vector<std::string> Keys(int capability) {
  std::vector<std::string> keys;
  for (const auto& row : GpuRows(capability)) keys.push_back(row.key);
  return keys;
}

// 64 KiB on 7.5, 228 on 9.0; of each block 1 KiB is the system's. wgmma and the shared-memory row
// have up to 40 KiB of their own.
TEST(ExclusiveSharedBytes, LetsOneBlockFitAndNoSecond) {
  for (const int kib : {64, 100, 164, 228})
    for (const auto* key :
         {"fp32.vector.ffma", "fp16.matrix.mma", "l1.load.ca16", "l1.shared.v16"}) {
      const int bytes = ExclusiveSharedBytes(fakes::RowOf(80, key), kib << 10);
      EXPECT_GT(2 * (bytes + 1024), kib << 10) << key;
      EXPECT_LE(bytes + (16 << 10), (kib - 1) << 10) << key;
    }
  EXPECT_LE(ExclusiveSharedBytes(fakes::RowOf(90, "bf16.matrix.wgmma"), 228 << 10) + (40 << 10),
            227 << 10);
  EXPECT_EQ(ExclusiveSharedBytes(fakes::RowOf(90, "dram.load.v16"), 228 << 10), 0);
  EXPECT_EQ(ExclusiveSharedBytes(fakes::RowOf(90, "bf16.matrix.cublaslt"), 228 << 10), 0);
}

TEST(GpuRows, AGpuHasTheInstructionsOfItsCapability) {
  EXPECT_THAT(Keys(75), Not(Contains("bf16.vector.hfma2")));
  EXPECT_THAT(Keys(75), Contains("fp16.matrix.mma"));
  EXPECT_THAT(Keys(80), Contains("fp64.matrix.mma"));
  EXPECT_THAT(Keys(80), Not(Contains("bf16.matrix.wgmma")));
  EXPECT_THAT(Keys(86), Not(Contains("fp64.matrix.mma")));
  EXPECT_THAT(Keys(89), Contains("fp8.matrix.mma"));
  EXPECT_THAT(Keys(90), Contains("fp8.matrix.wgmma"));
  EXPECT_THAT(Keys(90), Not(Contains("fp8.matrix.mma")));  // emulated there
  EXPECT_THAT(Keys(100), Not(Contains("bf16.matrix.wgmma")));
  EXPECT_THAT(Keys(100), Contains("bf16.matrix.cublaslt"));
  EXPECT_THAT(Keys(120), Contains("fp8.matrix.mma"));
}

TEST(GpuRows, KeysAreUniqueAndWhatFilesAllow) {
  for (const int capability : {75, 80, 86, 87, 89, 90, 100, 120}) {
    const auto keys = Keys(capability);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size()) << capability;
    for (const auto& row : GpuRows(capability)) {
      if (IsMemory(row))
        EXPECT_TRUE(LevelFromKey(row.key.substr(0, row.key.find('.')))) << row.key;
      else
        EXPECT_TRUE(IsPipeKey(row.key)) << row.key;
    }
  }
}

TEST(GpuRows, WorkIsWhatTheInstructionsDo) {
  // 132 blocks x 1024 threads x 8 chains x 64 multiply-adds x 2
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "fp32.vector.ffma"), {132, 1024, 0, 0}),
            132.0 * 1024 * 8 * 64 * 2);
  // two lanes; four products of a dot product
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "fp16.vector.hfma2"), {1, 32, 0, 0}),
            32.0 * 8 * 64 * 4);
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "int8.vector.dp4a"), {1, 32, 0, 0}),
            32.0 * 8 * 64 * 8);
  // 4 warps x 8 chains x 4 x 2 * 16 * 8 * 16
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "bf16.matrix.mma"), {1, 128, 0, 0}),
            4.0 * 8 * 4 * 4096);
  // 2 warpgroups x 16 x 2 * 64 * 256 * 16
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "bf16.matrix.wgmma"), {1, 256, 0, 0}),
            2.0 * 16 * 524288);
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "bf16.matrix.cublaslt"), {0, 0, 1024, 0}),
            2147483648.0);
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "dram.copy.v16"), {1, 256, 0, 3000}), 3000);
  // each of 2 blocks reads its 16 KiB eight times
  EXPECT_EQ(WorkPerIteration(fakes::RowOf(90, "l1.load.ca16"), {2, 1024, 0, 32768}), 8.0 * 32768);
}

constexpr GpuSize kH200 = {132, 50LL << 20, 140LL << 30};

TEST(GpuShapes, SetsInDramAreLargeAndOfWholeVectorsForEveryArray) {
  const auto row = fakes::RowOf(90, "dram.triad.v16");
  for (const auto& shape : GpuShapes(row, kH200, std::nullopt)) {
    EXPECT_GE(shape.set_bytes, 2LL << 30);
    EXPECT_GE(shape.set_bytes, 63LL * kH200.l2_bytes);
    EXPECT_EQ(shape.set_bytes % (2 * 3 * 16), 0);
  }
  // A card with little memory: half of what is free.
  for (const auto& shape : GpuShapes(row, {20, 4LL << 20, 3LL << 30}, std::nullopt))
    EXPECT_LE(shape.set_bytes, 3LL << 29);
}

TEST(GpuShapes, SetsInL2StayBelowHalfOfIt) {
  for (const auto& shape : GpuShapes(fakes::RowOf(90, "l2.load.cg16"), kH200, std::nullopt)) {
    EXPECT_LE(shape.set_bytes, kH200.l2_bytes / 2);
    EXPECT_GE(shape.set_bytes, kH200.l2_bytes / 16);
    EXPECT_EQ(shape.set_bytes % 16, 0);
  }
}

TEST(GpuShapes, AGemmTakesAboutTenMilliseconds) {
  const auto row = fakes::RowOf(90, "bf16.matrix.cublaslt");
  // 989 Tflop/s: n^3 * 2 = 9.89e12 -> n = 17040, at most 8192
  EXPECT_EQ(GpuShapes(row, kH200, 989e12).front().n, 8192);
  // 0.5 Tflop/s: n = 1357 -> 1024
  EXPECT_EQ(GpuShapes(row, kH200, 0.5e12).front().n, 1024);
  EXPECT_EQ(GpuShapes(row, kH200, std::nullopt).front().n, 4096);
}

TEST(GpuShapes, HalfOfTheBlocksIsHalfOfTheSms) {
  const auto half = HalfShape({132, 1024, 0, 132 * 16384});
  EXPECT_EQ(half.blocks, 66);
  EXPECT_EQ(half.set_bytes, 66 * 16384);
  EXPECT_TRUE(ScalesWithSms(fakes::RowOf(90, "l1.shared.v16")));
  EXPECT_FALSE(ScalesWithSms(fakes::RowOf(90, "dram.load.v16")));
  EXPECT_FALSE(ScalesWithSms(fakes::RowOf(90, "bf16.matrix.cublaslt")));
  for (const auto& row : GpuRows(90)) {
    if (!ScalesWithSms(row)) continue;
    for (const auto& shape : GpuShapes(row, kH200, std::nullopt))
      EXPECT_EQ(shape.blocks, 132) << row.key;
  }
}

TEST(GpuShapes, WhatIsCheckedEndsNeitherWithTheGridNorWithTheUnrolledLoop) {
  for (const auto* key : {"dram.load.v16", "dram.copy.v16", "dram.triad.v16", "l2.store.v16"}) {
    const auto row = fakes::RowOf(90, key);
    const auto arrays = row.unit == GpuUnit::kTriad ? 3 : row.unit == GpuUnit::kCopy ? 2 : 1;
    for (const auto& shape : CheckShapes(row, GpuShapes(row, kH200, std::nullopt).front())) {
      ASSERT_EQ(shape.set_bytes % (arrays * 16), 0) << key;
      EXPECT_NE(shape.set_bytes / arrays / 16 % (shape.blocks * shape.threads), 0) << key;
      EXPECT_NE(shape.set_bytes % UnrolledBytes(row, shape), 0) << key;
    }
  }
}

TEST(GpuShapes, TheUnrolledLoopOfEveryMemoryRowIsCheckedAndTimed) {
  int rows = 0;
  for (const auto& row : GpuRows(90)) {
    if (!IsMemory(row) || row.level == Level::kL1) continue;
    ++rows;
    for (const auto& shape : GpuShapes(row, kH200, std::nullopt)) {
      const auto checked = CheckShapes(row, shape);
      EXPECT_GT(checked.back().set_bytes, 3 * UnrolledBytes(row, checked.back())) << row.key;
      EXPECT_EQ(checked.front().blocks, shape.blocks) << row.key;
      const auto unrolled = shape.set_bytes / UnrolledBytes(row, shape);
      if (row.level == Level::kL2)
        EXPECT_EQ(shape.set_bytes % UnrolledBytes(row, shape), 0) << row.key;
      else
        EXPECT_GE(unrolled, 7) << row.key;  // the rest is below an iteration
    }
  }
  EXPECT_EQ(rows, 6);
}

// A T4: 40 SMs and 4 MiB of L2.
TEST(GpuShapes, ASmallL2HasSetsToo) {
  for (const auto* key : {"l2.load.cg16", "l2.store.v16"}) {
    const auto shapes = GpuShapes(fakes::RowOf(75, key), {40, 4LL << 20, 14LL << 30}, std::nullopt);
    EXPECT_GE(shapes.size(), 3) << key;
    for (const auto& shape : shapes) EXPECT_LE(shape.set_bytes, 2LL << 20);
  }
}

}  // namespace
}  // namespace dlroof::gpu_ceilings
