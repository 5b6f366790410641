// The expected blocks of the first test were observed in oneDNN 3.2: a simulator with 256 KiB of L2
// ran the library, and the loads, stores and calls of the generated kernels were counted (2 columns
// by 6 rows load 1/2 + 1/6 vectors per product, 3 by 4 load 1/3 + 1/4).
#include "bench/library_rules/onednn_blocking.h"

#include <gtest/gtest.h>

namespace dlroof::library_rules {
namespace {

const VectorUnit kAvx2 = VectorUnitOf("brgconv:avx2", "avx2");
constexpr BlockingCaches kSmall = {32768, 262144}, kLarge = {32768, 1048576};

BlockedConv Square(int64_t c, int64_t h, int64_t k, int64_t r) {
  return {.k = k, .c = c, .h = h, .w = h, .p = h, .q = h, .r = r, .s = r, .pad_left = r / 2};
}

TEST(BlockingOf, IsWhatTheLibraryDid) {
  // 784 positions in 32 calls of 24 and one of 16, each for 4 blocks of 16 filters.
  const auto narrow = BlockingOf(Square(256, 28, 64, 1), kAvx2, kSmall, 1);
  EXPECT_EQ(narrow.filters, 16);
  EXPECT_EQ(narrow.rows, 6);
  EXPECT_EQ(narrow.positions, 24);
  EXPECT_EQ(narrow.channels, 256);
  EXPECT_FALSE(narrow.filters_outside);
  // 11 blocks of filters, the last of 16, summed over 320 channels, then 192.
  const auto deep = BlockingOf(Square(512, 14, 256, 1), kAvx2, kSmall, 1);
  EXPECT_EQ(deep.filters, 24);
  EXPECT_EQ(deep.rows, 4);
  EXPECT_EQ(deep.positions, 196);
  EXPECT_EQ(deep.channels, 320);
  EXPECT_TRUE(deep.filters_outside);
  for (const auto& [conv, filters, rows] : {std::tuple{Square(32, 28, 64, 5), 24, 4},
                                            {Square(16, 56, 48, 3), 24, 4},
                                            {Square(64, 28, 64, 3), 16, 6},
                                            {Square(32, 28, 32, 3), 16, 6}}) {
    const auto found = BlockingOf(conv, kAvx2, kSmall, 1);
    EXPECT_EQ(found.filters, filters) << conv.c;
    EXPECT_EQ(found.rows, rows) << conv.c;
    EXPECT_EQ(found.positions, conv.q) << conv.c;
  }
}

TEST(BlockingOf, DependsOnTheL2ThatTheLibrarySees) {
  // Its layout of the weights: Acdb16a on a CPU with 1 MiB of L2, Acdb24a under the simulator.
  EXPECT_EQ(BlockingOf(Square(32, 28, 64, 5), kAvx2, kLarge, 1).filters, 16);
  EXPECT_EQ(BlockingOf(Square(512, 14, 256, 1), kAvx2, kLarge, 1).filters, 16);
}

TEST(BlockingOf, BlocksFiltersAsTheLibraryLaysOutTheirWeights) {
  // Its verbose output on a Cascade Lake core with 1 MiB of L2: "wei_f32:a:blocked:Acdb64a".
  const VectorUnit avx512 = VectorUnitOf("brgconv:avx512_core", "avx512_core");
  for (const auto& [conv, filters] : {std::pair{Square(64, 56, 64, 3), 64},
                                      {Square(64, 56, 256, 1), 64},
                                      {Square(256, 56, 64, 1), 64},
                                      {Square(256, 14, 1024, 1), 48},
                                      {Square(512, 7, 512, 3), 32},
                                      {Square(16, 28, 48, 3), 48},
                                      {Square(192, 14, 208, 1), 32},
                                      {Square(96, 14, 208, 3), 32}})
    EXPECT_EQ(BlockingOf(conv, avx512, kLarge, 1).filters, filters) << conv.c << " to " << conv.k;
}

TEST(BlockingOf, NeverCutsMoreThanThereIs) {
  const VectorUnit avx512 = VectorUnitOf("brgconv:avx512_core", "avx512_core");
  for (const auto& unit : {kAvx2, avx512})
    for (const int64_t c : {1, 3, 16, 100, 2048})
      for (const int64_t k : {1, 8, 60, 1000})
        for (const int64_t h : {1, 7, 56})
          for (const int64_t r : {1, 3, 7}) {
            const auto conv = Square(c, h, k, r);
            const auto cut = BlockingOf(conv, unit, kLarge, 2);
            EXPECT_LE(cut.filters, (k + unit.lanes - 1) / unit.lanes * unit.lanes);
            EXPECT_LE(cut.channels, c);
            EXPECT_LE(cut.positions, cut.whole_images ? h * h : h);
            EXPECT_LE(cut.rows, cut.positions);
            EXPECT_LE(cut.rows * cut.columns + cut.columns + 1, unit.registers);
            EXPECT_TRUE(cut.taps == 1 || cut.taps == r);
            EXPECT_GE(std::min({cut.filters, cut.channels, cut.positions, cut.rows}), 1);
          }
}

TEST(NotModelledReason, AnotherMinorVersionMayBlockDifferently) {
  EXPECT_FALSE(NotModelledReason(3, 2));
  EXPECT_EQ(NotModelledReason(3, 7).value().text,
            "the loops of oneDNN 3.7 are not modelled, only those of 3.2");
  EXPECT_TRUE(NotModelledReason(3, 1));
  EXPECT_TRUE(NotModelledReason(2, 2));
}

}  // namespace
}  // namespace dlroof::library_rules
