#include "bench/matmul/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::matmul {
namespace {

MatmulCase LevelsCase(const std::string& name) {
  return ReadOnednnMatmulCase(workload::ParseBenchmarkName("Matmul/cpu/onednn/" + name));
}

MatmulBlocking Blocking(const std::string& name, int threads) {
  return MatmulBlockingOf(ProductOf(LevelsCase(name)), threads);
}

TEST(MatmulBlocking, DividesTheRowsAlikeAmongThreads) {
  // One thread: every number of rows leaves no thread idle, and the largest that divides 1024
  // pads none.
  EXPECT_EQ(Blocking("fwd/f32/m1024n768k768", 1).rows, 256);
  EXPECT_EQ(Blocking("fwd/f32/m1024n768k768", 1).columns, 64);
  EXPECT_EQ(Blocking("fwd/f32/m1024n768k768", 1).depth, 512);
  EXPECT_EQ(Blocking("fwd/f32/m1024n768k3072", 1).depth, 1024);
  // One block of columns and two threads: 200 rows in one block would leave a thread idle.
  EXPECT_EQ(Blocking("fwd/f32/m200n64k64", 2).rows, 100);
  EXPECT_EQ(Blocking("fwd/f32/m8n16k4", 1).columns, 16);
}

TEST(MatmulLevels, ModelsBrgemmRowByRowAlone) {
  const auto model =
      MatmulLevels(LevelsCase("fwd/f32/m1024n768k768"), "brg:avx512_core", "avx512_core");
  ASSERT_EQ(model.nests.size(), 1U);
  EXPECT_EQ(model.reason, std::nullopt);
  EXPECT_THAT(model.how, testing::HasSubstr("256 rows, 64 columns and 512 steps"));
  for (const auto& [name, implementation] : {std::pair{"fwd/f32/m64n64k64_tA", "brg:avx512_core"},
                                             {"fwd/bf16/m64n64k64", "brg:avx512_core_amx"},
                                             {"fwd/bf16/m64n64k64", "brg:avx10_1_512_amx"},
                                             {"fwd/f32/m64n64k64", "gemm:jit"},
                                             {"fwd/f32/m64n64k64/ip", "brgemm:avx512_core"}}) {
    const auto none = MatmulLevels(LevelsCase(name), implementation, "avx512_core");
    EXPECT_TRUE(none.nests.empty()) << name;
    EXPECT_THAT(none.reason.value().text, testing::HasSubstr(implementation));
  }
}

// 64 KiB hold a block of the right factor, 64 columns x 256 steps of 4 byte: each matrix is then
// fetched once in all, but for the right factor, which each of four blocks of rows fetches anew.
TEST(MatmulLevels, FetchesTheRightFactorOncePerBlockOfRows) {
  const auto one = LevelsCase("fwd/f32/m1024n64k256");
  const auto model = MatmulLevels(one, "brg:avx512_core", "avx512_core");
  ASSERT_EQ(model.nests.size(), 1U);
  const double right = 4 * 64 * 256;
  const auto fetched =
      caches::FetchedBytes(model.nests[0], {right * 1.5, 0}, caches::CacheStart::kEmpty);
  EXPECT_DOUBLE_EQ(fetched[0], 4.0 * 1024 * 256);
  EXPECT_DOUBLE_EQ(fetched[2], 4.0 * 1024 * 64);
  EXPECT_GE(fetched[1], right);
  EXPECT_LE(fetched[1], 4 * right);
}

}  // namespace
}  // namespace dlroof::matmul
