#include "bench/lstm/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/fakes/refusal.h"

namespace dlroof::lstm {
namespace {

using testing::HasSubstr;

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

TEST(LstmCase, NamesTheColumnOfWhatItRefuses) {
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf([&] {
      ReadLstmCase(workload::ParseBenchmarkName(text), {"f32", "bf16"}, {{"peephole"}, {"ldigo"}});
    });
  };
  EXPECT_EQ(refusal("LSTM/cpu/onednn/fwd_inference/f32/t1n1i1h1"), "accepted");
  EXPECT_THAT(refusal("LSTM/cpu/onednn/fwd/f32/t1n1i1h1"), HasSubstr("column 17: "));
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f8/t1n1i1h1"),
              HasSubstr("column 21: LSTM/cpu/onednn has no type 'f8'; there are f32, bf16"));
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f32/t1n1i1g1"), HasSubstr("column 31: expected 'h'"));
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/relu"),
              HasSubstr("column 34: LSTM/cpu/onednn has no option 'relu' (peephole ldigo)"));
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/ldigo/peephole"),
              HasSubstr("column 40: 'peephole' cannot come after 'ldigo'"));
}

TEST(LstmCase, HoldsTheOptionsOfTheName) {
  const auto parse = [](const std::string& options) {
    return ReadLstmCase(workload::ParseBenchmarkName("LSTM/cpu/onednn/bwd/f32/t1n2i3h4" + options), {"f32"},
                        {{"peephole"}, {"ldigo"}, {"fpmath-bf16", "fpmath-any"}});
  };
  LstmCase expected{.direction = LstmDirection::kBackward, .problem = ParseLstmProblem("t1n2i3h4")};
  EXPECT_EQ(parse(""), expected);
  expected.fpmath = "bf16";
  EXPECT_EQ(parse("/fpmath-bf16"), expected);
  expected.problem.peephole = true;
  expected.plain_weights = true;
  expected.fpmath = "any";
  EXPECT_EQ(parse("/peephole/ldigo/fpmath-any"), expected);
  expected.fpmath = "strict";
  EXPECT_EQ(parse("/peephole/ldigo"), expected);
}

}  // namespace
}  // namespace dlroof::lstm
