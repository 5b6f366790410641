#include "bench/library_rules/pipe_choice.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace dlroof::library_rules {
namespace {

TEST(MatrixPipe, FollowsTheIsaThatTheImplementationNames) {
  EXPECT_EQ(MatrixPipe("bf16", "brgconv:avx512_core_amx_bf16", "avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(MatrixPipe("bf16", "brgconv:avx512_core_bf16", "avx512_core_amx"), "bf16.vector");
  // Emulated: avx512_core has no bf16 instruction, whatever the implementation is called.
  EXPECT_EQ(MatrixPipe("bf16", "jit_bf16:avx512_core", "avx512_core_amx"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("bf16", "jit:avx512_core", "avx512_core_vnni"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("int8", "brgconv:avx512_core_amx_int8", "avx512_core_amx"), "int8.matrix");
  EXPECT_EQ(MatrixPipe("int8", "jit_int8:avx512_core_vnni", "avx512_core_amx"), "int8.vector");
  EXPECT_EQ(MatrixPipe("s8s8f32", "brgconv:avx512_core_amx", "avx512_core_amx"), "int8.matrix");
  EXPECT_EQ(MatrixPipe("f32", "brgconv:avx512_core", "avx512_core_amx"), "fp32.vector");
}

TEST(MatrixPipe, FollowsTheEffectiveIsaWhereTheNameHasNone) {
  EXPECT_EQ(MatrixPipe("bf16", "brgemm", "avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(MatrixPipe("bf16", "brgemm", "avx512_core_bf16"), "bf16.vector");
  EXPECT_EQ(MatrixPipe("bf16", "gemm:jit", "avx512_core_fp16"), "bf16.vector");
  EXPECT_EQ(MatrixPipe("bf16", "ref", "avx512_core_vnni"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("bf16", "ref", "avx2"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("f64", "plain loops", ""), "fp64.vector");
}

TEST(MatrixPipe, PlainLoopsUseNoMatrixUnit) {
  EXPECT_EQ(MatrixPipe("bf16", "ref:any", "avx512_core_amx"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("int8", "ref_int8:any", "avx512_core_amx"), "int8.vector");
}

TEST(MatrixPipe, F16IsWidenedUnlessAmxHasIt) {
  EXPECT_EQ(MatrixPipe("f16", "brgconv:avx512_core_fp16", "avx512_core_fp16"), "fp32.vector");
  EXPECT_EQ(MatrixPipe("f16", "brgconv:avx512_core_amx_fp16", "avx512_core_amx_fp16"),
            "fp16.matrix");
  // bf16 and int8 tiles do not multiply f16.
  EXPECT_EQ(MatrixPipe("f16", "brgemm", "avx512_core_amx"), "fp32.vector");
}

TEST(NamedMatrixPipe, IsAbsentWhereOnlyTheAllowedIsaWouldDecide) {
  EXPECT_EQ(NamedMatrixPipe("bf16", "brgemm:avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(NamedMatrixPipe("int8", "brgemm:avx512_core_vnni"), "int8.vector");
  EXPECT_EQ(NamedMatrixPipe("int8", "ref_int8:any"), "int8.vector");
  for (const char* type : {"bf16", "f16", "int8"})
    for (const char* implementation : {"brgemm", "ref", "gemm:jit", ""})
      EXPECT_FALSE(NamedMatrixPipe(type, implementation)) << type << " by " << implementation;
  EXPECT_EQ(NamedMatrixPipe("f32", "brgemm"), "fp32.vector");
  EXPECT_EQ(NamedMatrixPipe("f64", ""), "fp64.vector");
}

TEST(MatrixPipe, RefusesAnUnknownType) {
  EXPECT_THROW(MatrixPipe("f12", "jit:avx2", "avx2"), std::logic_error);
}

}  // namespace
}  // namespace dlroof::library_rules
