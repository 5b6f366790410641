#include "bench/lstm/case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <stdexcept>

#include "counters/base/error.h"
#include "tests/bench/random_problems.h"
#include "tests/fakes/refusal.h"

namespace dlroof::lstm {
namespace {

using testing::HasSubstr;

constexpr LstmDirection kInference = LstmDirection::kForwardInference;
constexpr LstmDirection kTraining = LstmDirection::kForwardTraining;
constexpr LstmDirection kBackward = LstmDirection::kBackward;

std::string Refusal(const std::string& text, int column_offset = 0) {
  return fakes::RefusalOf([&] { ParseLstmProblem(text, column_offset); });
}

// There are two operations per multiply-add, independent of how the products are split.
TEST(LstmProducts, HaveTheMatrixFlops) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const auto problem = fakes::RandomLstm(random, 9);
    for (const auto direction : {kInference, kTraining, kBackward})
      for (const bool merged : {false, true}) {
        int64_t flops = 0;
        for (const auto& [m, n, k, count] : Products(problem, direction, merged))
          flops += 2 * m * n * k * count;
        EXPECT_EQ(flops, Flops(problem, direction).matrix) << ToText(problem);
      }
  }
}

TEST(LstmProducts, AreOneOfAllStepsWhereMerged) {
  const LstmProblem problem{.t = 16, .n = 8, .i = 32, .h = 64};
  using Products = std::vector<LstmProduct>;
  EXPECT_EQ(dlroof::lstm::Products(problem, kInference, false),
            (Products{{8, 256, 32, 16}, {8, 256, 64, 16}}));
  EXPECT_EQ(dlroof::lstm::Products(problem, kInference, true),
            (Products{{128, 256, 32, 1}, {8, 256, 64, 16}}));
}

TEST(LstmText, IsInverseOfParsingForRandomProblems) {
  std::mt19937 random(7);
  for (int k = 0; k < 10'000; ++k) {
    const LstmProblem problem = fakes::RandomLstm(random, k % 2 == 0 ? 9 : 500);
    EXPECT_EQ(ParseLstmProblem(ToText(problem)), problem) << ToText(problem);
  }
}

// Every text is either refused or the only spelling of its problem.
TEST(LstmText, AcceptsNothingButItsOwnSpelling) {
  std::mt19937 random(11);
  const std::string letters = "tnihlpbisum0123456789_x ";
  int accepted = 0;
  for (int k = 0; k < 20'000; ++k) {
    std::string text = ToText(fakes::RandomLstm(random, 20));
    const size_t at = random() % text.size();
    const char letter = letters[random() % letters.size()];
    if (k % 3 == 0)
      text[at] = letter;
    else if (k % 3 == 1)
      text.insert(at, 1, letter);
    else
      text.erase(at, 1);
    try {
      EXPECT_EQ(ToText(ParseLstmProblem(text)), text);
      ++accepted;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr("column "));
    }
  }
  EXPECT_GT(accepted, 1000);  // a changed digit is another problem
  EXPECT_LT(accepted, 19'000);
}

TEST(LstmText, RefusesWithTheColumnOfTheFirstBadCharacter) {
  EXPECT_THAT(Refusal(""), HasSubstr("column 1: expected 't', got the end"));
  EXPECT_THAT(Refusal("t16n16i32"), HasSubstr("column 10: expected 'h'"));
  EXPECT_THAT(Refusal("t16n0i32h64"), HasSubstr("column 5: expected batch size"));
  EXPECT_THAT(Refusal("t16n016i32h64"), HasSubstr("column 5: "));
  EXPECT_THAT(Refusal("t16n16i32h64l1"), HasSubstr("column 14: expected layers"));
  EXPECT_THAT(Refusal("t16n16i32h64p0"), HasSubstr("column 14: expected projection size"));
  EXPECT_THAT(Refusal("t16n16i32h64p8l2"), HasSubstr("column 15: "));
  EXPECT_THAT(Refusal("t16n16i32h64bix"), HasSubstr("column 15: "));
  EXPECT_THAT(Refusal("t16n16i32h64bisumbi"), HasSubstr("column 18: "));
  EXPECT_THAT(Refusal("t16n16i32h64 "), HasSubstr("column 13: "));
  EXPECT_THAT(Refusal("t1n1i1hx", 10), HasSubstr("column 18: expected hidden units"));
}

TEST(LstmText, RefusesWorkBeyond64Bits) {
  EXPECT_THAT(Refusal("t2147483647n2147483647i2147483647h2147483647"),
              HasSubstr("the work of this LSTM overflows 64 bits"));
  // 64 * 2^20 * 2^20 * h * (i + h + 1) with h = 64, i = 64: 2^46 * 64 * 129 < 2^60; h = 4096:
  // above.
  EXPECT_EQ(Refusal("t1048576n1048576i64h64"), "accepted");
  EXPECT_THAT(Refusal("t1048576n1048576i64h4096"), HasSubstr("overflows"));
  EXPECT_THAT(Refusal("t2147483648n1i1h1"), HasSubstr("column 2: expected time steps"));
}

TEST(LstmShape, ConcatenationWidensTheNextLayersInput) {
  const auto bi = ParseLstmProblem("t3n2i5h7l2bi");
  EXPECT_EQ(InputWidth(bi, 0), 5);
  EXPECT_EQ(InputWidth(bi, 1), 14);
  EXPECT_EQ(OutputWidth(ParseLstmProblem("t3n2i5h7l2p4bi")), 8);
  EXPECT_EQ(InputWidth(ParseLstmProblem("t3n2i5h7l2bisum"), 1), 7);
  EXPECT_EQ(InputWidth(ParseLstmProblem("t3n2i5h7l2"), 1), 7);
}

TEST(LstmShape, ElementsOfAProjectedBidirectionalStack) {
  const auto e = Elements(ParseLstmProblem("t3n2i5h7l2p4bi"));
  EXPECT_EQ(e.source, 3 * 2 * 5);
  EXPECT_EQ(e.output, 3 * 2 * 8);
  EXPECT_EQ(e.hidden, 2 * 2 * 2 * 4);
  EXPECT_EQ(e.cell, 2 * 2 * 2 * 7);
  // per pass: layer 0 reads 5, layer 1 reads 8; state 4; gates 4 * 7; projection 7 x 4
  EXPECT_EQ(e.weights, 2 * ((5 + 4) * 28 + 7 * 4) + 2 * ((8 + 4) * 28 + 7 * 4));
  EXPECT_EQ(e.bias, 2 * 2 * 28);
}

TEST(LstmFlopCount, OfThePapersBasePointByHand) {
  const auto problem = ParseLstmProblem("t16n16i32h16");
  // 16 steps x 16 samples x (2 * 64 * (32 + 16)) and 13 * 16 elementwise
  EXPECT_EQ(Flops(problem, kInference), (LstmFlops{256L * 6144, 256L * 208}));
  EXPECT_EQ(Flops(problem, kTraining), Flops(problem, kInference));
  EXPECT_EQ(Flops(problem, kBackward), (LstmFlops{2L * 256 * 6144, 256L * (27 * 16 + 16)}));
}

TEST(LstmFlopCount, OfPeepholesByHand) {
  auto problem = ParseLstmProblem("t2n3i5h7");
  problem.peephole = true;
  // 6 cells of 7 units: 13 + 3 products with their adds; matrix part as without
  EXPECT_EQ(Flops(problem, kInference), (LstmFlops{6L * 2 * 28 * 12, 6L * 7 * 19}));
  // 27 + 12 for each unit and 1 for each of 7 state channels
  EXPECT_EQ(Flops(problem, kBackward), (LstmFlops{2L * 6 * 2 * 28 * 12, 6L * (7 * 39 + 7)}));
}

TEST(LstmBytes, CountEveryTensorOnce) {
  auto problem = ParseLstmProblem("t2n3i5h7");
  // 30 in, 42 out, hidden states 2 x 21; cell states 2 x 21; weights (5 + 7) * 28; bias 28
  const LstmType type{.source = "bf16",
                      .hidden = "f32",
                      .output = "f64",
                      .weight = "s8",
                      .bias = "f64",
                      .cell = "f16",
                      .peephole = "bf16"};
  const double forward = 2 * 30 + 8 * 42 + 4 * 42 + 2 * 42 + 336 + 8 * 28;
  EXPECT_EQ(CompulsoryBytes(problem, kInference, type), forward);
  EXPECT_EQ(CompulsoryBytes(problem, kTraining, type), forward);
  const double gradients = 4 * (30 + 42 + 42 + 42 + 336 + 28);
  EXPECT_EQ(CompulsoryBytes(problem, kBackward, type), forward + gradients);
  problem.peephole = true;  // 3 x 7 more, and their gradients
  EXPECT_EQ(CompulsoryBytes(problem, kInference, type), forward + 2 * 21);
  EXPECT_EQ(CompulsoryBytes(problem, kBackward, type), forward + gradients + (2 + 4) * 21);
}

TEST(LstmWork, KeepsThePartsApartAndAddsThemOnOnePipe) {
  const auto problem = ParseLstmProblem("t1n1i1h1");
  const auto f32 = UniformLstmType("f32");
  const Work both = ModelledWork(problem, kInference, f32, "fp32.vector", "fp32.vector", 1);
  EXPECT_EQ(both.flops, (std::map<std::string, double>{{"fp32.vector", 16 + 13}}));
  const Work apart = ModelledWork(problem, kInference, f32, "bf16.matrix", "fp32.vector", 2);
  EXPECT_EQ(apart.flops, (std::map<std::string, double>{{"bf16.matrix", 16}, {"fp32.vector", 13}}));
  EXPECT_EQ(apart.parts, (std::map<std::string, double>{{"matrix", 16}, {"elementwise", 13}}));
  EXPECT_EQ(apart.launches, 2);
}

TEST(LstmTwin, HalvesStepsThenSamplesThenChannels) {
  const auto problem = ParseLstmProblem("t64n32i128h64l2p16bi");
  EXPECT_EQ(Twin(problem, 1e18), problem);
  EXPECT_EQ(ToText(Twin(ParseLstmProblem("t16n16i32h16"), 800e3)), "t8n16i32h16");
  EXPECT_EQ(ToText(Twin(ParseLstmProblem("t16n16i32h16"), 100e3)), "t2n8i32h16");
  EXPECT_EQ(ToText(Twin(problem, 1)), "t2n2i1h1l2p1bi");
  EXPECT_EQ(ToText(Twin(ParseLstmProblem("t1n1i1024h1024l2"), 1e6)), "t1n1i128h128l2");
  auto peephole = problem;
  peephole.peephole = true;
  EXPECT_TRUE(Twin(peephole, 1).peephole);
}

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
      // as benchdnn spells them
      EXPECT_EQ(type.benchdnn, fmt::format("{0}{1}{0}{2}", type.hidden, type.source, type.output));
      EXPECT_EQ(type.weight, "s8");
    }
  EXPECT_THROW(LstmTypeOf("u8u8u8u8"), std::logic_error);  // one benchmark has one name
}

// The library may ignore an fpmath mode. Only AMX in every primitive's name shows that it did not.
TEST(LstmMatrixPipe, FollowsTypeModeAndImplementation) {
  constexpr std::array<std::string_view, 4> kRows[] = {
      {"f32", "strict", "brgemm:avx512_core", "fp32.vector"},
      {"int8", "strict", "brgemm:avx512_core_vnni", "int8.vector"},
      {"f32u8f32f32", "strict", "brgemm:avx512_core_amx", "int8.matrix"},
      {"bf16f32", "strict", "brgemm:avx512_core_amx", "bf16.matrix"},
      {"bf16", "strict", "ref", "fp32.vector"},
      {"f32", "bf16", "brgemm:avx512_core_amx", "bf16.matrix"},
      {"f32", "any", "brgemm:avx512_core_amx", "bf16.matrix"},
      {"f32", "bf16", "brgemm:avx512_core_amx + brgemm:avx512_core_amx_fp16", "bf16.matrix"},
      {"f32", "bf16", "brgemm:avx10_1_512_amx", "bf16.matrix"},  // since oneDNN 3.13
      {"f32", "bf16", "brgemm:avx10_1_512", "fp32.vector"},
      {"f32", "bf16", "brgemm:avx512_core_amx + brgemm:avx512_core", "fp32.vector"},
      {"f32", "bf16", "brgemm:avx512_core + brgemm:avx512_core_amx", "fp32.vector"},
      {"f32", "bf16", "brgemm:avx512_core", "fp32.vector"},
      {"f32", "bf16", "ref", "fp32.vector"},
      {"f32", "strict", "brgemm:avx512_core_amx", "fp32.vector"},
      {"f32", "f16", "brgemm:avx512_core_amx", "fp32.vector"},
      {"f32", "tf32", "brgemm:avx512_core_amx", "fp32.vector"}};
  for (const auto& [type, fpmath, implementation, pipe] : kRows)
    EXPECT_EQ(LstmMatrixPipe(LstmTypeOf(type), fpmath, implementation, "avx512_core_vnni"), pipe)
        << type << ' ' << fpmath << ' ' << implementation;
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
              HasSubstr("column 21: LSTM/cpu/onednn has no type 'f8'; it has f32, bf16"));
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f32/t1n1i1g1"), HasSubstr("column 31: expected 'h'"));
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/relu"),
              HasSubstr("column 34: LSTM/cpu/onednn has no option 'relu' (peephole ldigo)"));
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/ldigo/peephole"),
              HasSubstr("column 40: 'peephole' cannot come after 'ldigo'"));
}

TEST(LstmCase, HoldsTheOptionsOfTheName) {
  const auto parse = [](const std::string& options) {
    return ReadLstmCase(workload::ParseBenchmarkName("LSTM/cpu/onednn/bwd/f32/t1n2i3h4" + options),
                        {"f32"}, {{"peephole"}, {"ldigo"}, {"fpmath-bf16", "fpmath-any"}});
  };
  LstmCase expected{.direction = kBackward, .problem = ParseLstmProblem("t1n2i3h4")};
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
