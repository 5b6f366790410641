#include "ceilings/machine/row_isa.h"

#include <gtest/gtest.h>

namespace dlroof::machine {
namespace {

using Features = std::set<std::string>;

TEST(IsaOfRow, IsThePartWithoutItsVariant) {
  EXPECT_EQ(IsaOfRow("fp32.vector.avx512"), "avx512");
  EXPECT_EQ(IsaOfRow("fp32.vector.avx512_nofma"), "avx512");
  EXPECT_EQ(IsaOfRow("fp64.vector.sse2_scalar"), "sse2");
  EXPECT_EQ(IsaOfRow("fp64.vector.fma_scalar"), "fma");
  EXPECT_EQ(IsaOfRow("int8.vector.avx512_vnni_ymm"), "avx512_vnni");
  EXPECT_EQ(IsaOfRow("int8.vector.avx_vnni"), "avx_vnni");
  EXPECT_EQ(IsaOfRow("bf16.matrix.amx_l1"), "amx");
  EXPECT_EQ(IsaOfRow("fp32.vector"), "");
  EXPECT_EQ(IsaOfRow("fp32.vector.neon"), "");
  EXPECT_EQ(IsaOfRow(""), "");
}

TEST(FeaturesOfRow, DependOnTypeAndVariant) {
  EXPECT_EQ(FeaturesOfRow("fp32.vector.avx2"), (Features{"avx2", "fma"}));
  EXPECT_EQ(FeaturesOfRow("int32.vector.avx2"), (Features{"avx2"}));
  EXPECT_EQ(FeaturesOfRow("int8.vector.avx512"), (Features{"avx512f", "avx512bw"}));
  EXPECT_EQ(FeaturesOfRow("fp64.vector.avx512_nofma"), (Features{"avx512f"}));
  EXPECT_EQ(FeaturesOfRow("bf16.vector.avx512_bf16_ymm"),
            (Features{"avx512f", "avx512vl", "avx512_bf16"}));
  EXPECT_EQ(FeaturesOfRow("fp16.matrix.amx_l1"), (Features{"amx_tile", "amx_fp16"}));
  EXPECT_EQ(FeaturesOfRow("fp32.vector.portable"), Features());
}

// A run held to AVX2 is judged by the AVX2 row, one held to AVX by multiply and add.
TEST(RowAllowed, FollowsTheOrderOfOneDnnsIsas) {
  EXPECT_TRUE(RowAllowed("fp32.vector.sse2", "sse41"));
  EXPECT_FALSE(RowAllowed("fp32.vector.avx", "sse41"));
  EXPECT_TRUE(RowAllowed("fp32.vector.avx", "avx"));
  EXPECT_FALSE(RowAllowed("fp32.vector.fma_scalar", "avx"));
  EXPECT_FALSE(RowAllowed("fp32.vector.avx2", "avx"));
  EXPECT_TRUE(RowAllowed("fp32.vector.avx2", "avx2"));
  EXPECT_FALSE(RowAllowed("fp32.vector.avx512", "avx2_vnni"));
  EXPECT_TRUE(RowAllowed("int8.vector.avx_vnni", "avx2_vnni_2"));
  EXPECT_TRUE(RowAllowed("int8.vector.avx512", "avx512_core"));
  EXPECT_FALSE(RowAllowed("int8.vector.avx512_vnni_ymm", "avx512_core"));
  EXPECT_TRUE(RowAllowed("int8.vector.avx512_vnni_ymm", "avx512_core_vnni"));
  EXPECT_FALSE(RowAllowed("bf16.vector.avx512_bf16", "avx512_core_vnni"));
  EXPECT_TRUE(RowAllowed("bf16.vector.avx512_bf16", "avx512_core_bf16"));
  EXPECT_FALSE(RowAllowed("fp16.vector.avx512_fp16", "avx512_core_bf16"));
  EXPECT_TRUE(RowAllowed("fp16.vector.avx512_fp16_nofma", "avx512_core_fp16"));
  EXPECT_FALSE(RowAllowed("int8.matrix.amx", "avx512_core_fp16"));
  EXPECT_TRUE(RowAllowed("int8.matrix.amx_l1", "avx512_core_amx"));
  EXPECT_FALSE(RowAllowed("fp16.matrix.amx", "avx512_core_amx"));
  EXPECT_TRUE(RowAllowed("fp16.matrix.amx", "avx512_core_amx_fp16"));
  EXPECT_FALSE(RowAllowed("bf16.matrix.amx", "avx10_1_512"));
  EXPECT_TRUE(RowAllowed("bf16.matrix.amx", "avx10_1_512_amx"));
}

TEST(RowAllowed, ExcludesNothingThatItDoesNotKnow) {
  EXPECT_TRUE(RowAllowed("fp32.vector.avx512", "isa_0x3fef"));
  EXPECT_TRUE(RowAllowed("fp32.vector.avx512", ""));
  EXPECT_TRUE(RowAllowed("fp32.vector", "sse41"));
  EXPECT_TRUE(RowAllowed("fp32.vector.neon", "sse41"));
  EXPECT_TRUE(RowAllowed("fp32.vector.portable", "sse41"));
}

}  // namespace
}  // namespace dlroof::machine
