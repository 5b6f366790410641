#include "bench/lstm/types.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace dlroof {
namespace {

TEST(LstmTypes, StoreWhatTheirNameSays) {
  // hidden state in, input, hidden state out, output
  const auto& mixed = LstmTypeOf("f32u8f32u8");
  EXPECT_EQ(mixed.hidden, "f32");
  EXPECT_EQ(mixed.source, "u8");
  EXPECT_EQ(mixed.output, "u8");
  EXPECT_EQ(LstmTypeOf("s8s8s8f32").output, "f32");
  EXPECT_EQ(LstmTypeOf("s8s8s8f32").hidden, "s8");
  EXPECT_EQ(LstmTypeOf("int8").benchdnn, "u8u8u8u8");
  for (const auto& type : LstmTypes())
    if (IsQuantized(type)) {
      // as the name, or benchdnn's, spells them
      const auto digits = [](std::string_view stored) { return std::string(stored); };
      EXPECT_EQ(type.benchdnn, digits(type.hidden) + digits(type.source) + digits(type.hidden) +
                                   digits(type.output));
      EXPECT_EQ(type.weight, "s8");
    }
  EXPECT_THROW(LstmTypeOf("u8u8u8u8"), std::logic_error);  // one benchmark has one name
}

TEST(LstmTypes, BytesOfEachTensor) {
  const auto f32 = ElementBytes(LstmTypeOf("f32"));
  EXPECT_EQ(f32.source + f32.hidden + f32.output + f32.weight, 16);
  const auto bf16 = ElementBytes(LstmTypeOf("bf16")), bf16f32 = ElementBytes(LstmTypeOf("bf16f32"));
  EXPECT_EQ(bf16.bias, 2);
  EXPECT_EQ(bf16.cell, 2);
  EXPECT_EQ(bf16f32.bias, 4);
  EXPECT_EQ(bf16f32.cell, 4);
  EXPECT_EQ(bf16f32.weight, 2);
  const auto mixed = ElementBytes(LstmTypeOf("f32u8f32u8"));
  EXPECT_EQ(mixed.source, 1);
  EXPECT_EQ(mixed.hidden, 4);
  EXPECT_EQ(mixed.output, 1);
  EXPECT_EQ(mixed.weight, 1);
  for (const auto& type : LstmTypes()) {
    EXPECT_EQ(ElementBytes(type).gradient, 4);
    EXPECT_EQ(ElementBytes(type).peephole, 4);
  }
}

TEST(LstmMatrixPipe, OfEachTypeFollowsTheImplementation) {
  const auto pipe = [](std::string_view type, std::string_view implementation) {
    return LstmMatrixPipe(LstmTypeOf(type), "strict", implementation, "avx512_core_vnni");
  };
  EXPECT_EQ(pipe("f32", "brgemm:avx512_core"), "fp32.vector");
  EXPECT_EQ(pipe("int8", "brgemm:avx512_core_vnni"), "int8.vector");
  EXPECT_EQ(pipe("f32u8f32f32", "brgemm:avx512_core_amx"), "int8.matrix");
  EXPECT_EQ(pipe("bf16f32", "brgemm:avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(pipe("bf16", "ref"), "fp32.vector");
}

// The library may ignore an fpmath mode: only AMX in every primitive's name proves that it did not.
TEST(LstmMatrixPipe, OfF32IsBf16OnlyWhereTheNamesProveIt) {
  const auto pipe = [](std::string_view fpmath, std::string_view implementation,
                       std::string_view isa = "avx512_core_amx") {
    return LstmMatrixPipe(LstmTypeOf("f32"), fpmath, implementation, isa);
  };
  EXPECT_EQ(pipe("bf16", "brgemm:avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(pipe("any", "brgemm:avx512_core_amx"), "bf16.matrix");
  EXPECT_EQ(pipe("bf16", "brgemm:avx512_core_amx + brgemm:avx512_core_amx_fp16"), "bf16.matrix");
  EXPECT_EQ(pipe("bf16", "brgemm:avx512_core_amx + brgemm:avx512_core"), "fp32.vector");
  EXPECT_EQ(pipe("bf16", "brgemm:avx512_core + brgemm:avx512_core_amx"), "fp32.vector");
  EXPECT_EQ(pipe("bf16", "brgemm:avx512_core"), "fp32.vector");
  EXPECT_EQ(pipe("bf16", "ref"), "fp32.vector");
  EXPECT_EQ(pipe("strict", "brgemm:avx512_core_amx"), "fp32.vector");
  EXPECT_EQ(pipe("f16", "brgemm:avx512_core_amx"), "fp32.vector");
  EXPECT_EQ(pipe("tf32", "brgemm:avx512_core_amx"), "fp32.vector");
}

}  // namespace
}  // namespace dlroof
