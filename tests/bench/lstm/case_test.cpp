#include "bench/lstm/case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <random>
#include <stdexcept>

#include "bench/lstm/cudnn_case.h"
#include "bench/lstm/loops.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "tests/bench/random_problems.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/refusal.h"

namespace dlroof::lstm {
namespace {

using testing::ElementsAre, testing::HasSubstr;

constexpr LstmDirection kInference = LstmDirection::kForwardInference;
constexpr LstmDirection kTraining = LstmDirection::kForwardTraining;
constexpr LstmDirection kBackward = LstmDirection::kBackward;

std::string Refusal(const std::string& text, int column_offset = 0) {
  return fakes::RefusalOf(ParseLstmProblem, text, column_offset);
}

// There are two operations per multiply-add, independent of how the products are split.
TEST(LstmProducts, HaveTheMatrixFlopsAndAreOneOfAllStepsWhereMerged) {
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
  const LstmProblem problem{.t = 16, .n = 8, .i = 32, .h = 64};
  using Products = std::vector<workload::MatrixProducts>;
  EXPECT_EQ(dlroof::lstm::Products(problem, kInference, false),
            (Products{{8, 256, 32, 16}, {8, 256, 64, 16}}));
  EXPECT_EQ(dlroof::lstm::Products(problem, kInference, true),
            (Products{{128, 256, 32, 1}, {8, 256, 64, 16}}));
}

TEST(LstmText, IsInverseOfParsingAndAcceptsNothingButItsOwnSpelling) {
  std::mt19937 random(7);
  for (int k = 0; k < 10'000; ++k) {
    const LstmProblem problem = fakes::RandomLstm(random, k % 2 == 0 ? 9 : 500);
    EXPECT_EQ(ParseLstmProblem(ToText(problem)), problem) << ToText(problem);
  }
  fakes::ExpectOneTextEach(
      "tnihlpbisum0123456789_x ",
      [](auto& changes) { return ToText(fakes::RandomLstm(changes, 20)); },
      [](const auto& text) { return ToText(ParseLstmProblem(text)); });
}

TEST(LstmText, RefusesWithTheColumnOfTheFirstBadCharacterAndWorkBeyond64Bits) {
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
  EXPECT_THAT(Refusal("t2147483647n2147483647i2147483647h2147483647"),
              HasSubstr("the work of this LSTM overflows 64 bits"));
  // 64 * 2^20 * 2^20 * h * (i + h + 1) with h = 64, i = 64: 2^46 * 64 * 129 < 2^60; h = 4096:
  // above.
  EXPECT_EQ(Refusal("t1048576n1048576i64h64"), "accepted");
  EXPECT_THAT(Refusal("t1048576n1048576i64h4096"), HasSubstr("overflows"));
  EXPECT_THAT(Refusal("t2147483648n1i1h1"), HasSubstr("column 2: expected time steps"));
}

TEST(LstmShape, ConcatenationWidensTheNextLayersInputAndAProjectionNarrowsIt) {
  const auto bi = ParseLstmProblem("t3n2i5h7l2bi");
  EXPECT_EQ(InputWidth(bi, 0), 5);
  EXPECT_EQ(InputWidth(bi, 1), 14);
  EXPECT_EQ(OutputWidth(ParseLstmProblem("t3n2i5h7l2p4bi")), 8);
  EXPECT_EQ(InputWidth(ParseLstmProblem("t3n2i5h7l2bisum"), 1), 7);
  EXPECT_EQ(InputWidth(ParseLstmProblem("t3n2i5h7l2"), 1), 7);
  const auto e = Elements(ParseLstmProblem("t3n2i5h7l2p4bi"));
  EXPECT_EQ(std::tuple(e.source, e.output, e.hidden, e.cell),
            std::tuple(3 * 2 * 5, 3 * 2 * 8, 2 * 2 * 2 * 4, 2 * 2 * 2 * 7));
  // per pass: layer 0 reads 5, layer 1 reads 8; state 4; gates 4 * 7; projection 7 x 4
  EXPECT_EQ(e.weights, 2 * ((5 + 4) * 28 + 7 * 4) + 2 * ((8 + 4) * 28 + 7 * 4));
  EXPECT_EQ(e.bias, 2 * 2 * 28);
}

TEST(LstmFlopCount, OfThePapersBasePointAndOfPeepholesByHand) {
  const auto problem = ParseLstmProblem("t16n16i32h16");
  // 16 steps x 16 samples x (2 * 64 * (32 + 16)) and 13 * 16 elementwise
  EXPECT_EQ(Flops(problem, kInference), (LstmFlops{256L * 6144, 256L * 208}));
  EXPECT_EQ(Flops(problem, kTraining), Flops(problem, kInference));
  EXPECT_EQ(Flops(problem, kBackward), (LstmFlops{2L * 256 * 6144, 256L * (27 * 16 + 16)}));
  auto peepholes = ParseLstmProblem("t2n3i5h7");
  peepholes.peephole = true;
  // 6 cells of 7 units: 13 + 3 products with their adds; matrix part as without
  EXPECT_EQ(Flops(peepholes, kInference), (LstmFlops{6L * 2 * 28 * 12, 6L * 7 * 19}));
  // 27 + 12 for each unit and 1 for each of 7 state channels
  EXPECT_EQ(Flops(peepholes, kBackward), (LstmFlops{2L * 6 * 2 * 28 * 12, 6L * (7 * 39 + 7)}));
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

TEST(LstmCase, HoldsTheOptionsOfTheNameOrNamesTheColumnOfWhatItRefuses) {
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
  EXPECT_THAT(refusal("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/ldigo/peephole"),
              HasSubstr("column 40: 'peephole' cannot come after 'ldigo'"));
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

std::string LineOf(const std::string& rest) {
  const auto name =
      workload::ParseBenchmarkName(rest.starts_with("LSTM") ? rest : "LSTM/cpu/onednn/" + rest);
  const auto lstm = ReadLstmCase(
      name, LstmTypeNames(),
      {{"peephole"}, {"ldigo"}, {"fpmath-bf16", "fpmath-f16", "fpmath-tf32", "fpmath-any"}});
  return LstmBenchdnn(lstm).value_or("");
}

// Written from benchdnn's grammar; each was run through benchdnn 3.2.
TEST(LstmBenchdnn, SaysTheSameCallIfBenchdnnCanExpressItAndReadsBackAsTheSame) {
  const std::pair<std::string, std::string> pairs[] = {
      {"fwd_inference/f32/t16n16i32h16",
       "--rnn --mode=P --alg=VANILLA_LSTM --trivial-strides=true l1t16mb16sic16slc32dhc16dic16"},
      {"fwd_training/f32/t16n16i16h16l4",
       "--rnn --mode=P --prop=FWD_D --alg=VANILLA_LSTM --trivial-strides=true "
       "l4t16mb16sic16slc16dhc16dic16"},
      {"bwd/bf16/t2n3i5h7bi",
       "--rnn --mode=P --prop=BWD_DW --cfg=bf16 --alg=VANILLA_LSTM --direction=concat "
       "--trivial-strides=true l1t2mb3sic7slc5dhc7dic7"},
      {"fwd_inference/bf16f32/t2n3i5h7bisum",
       "--rnn --mode=P --cfg=bf16f32 --alg=VANILLA_LSTM --direction=sum --trivial-strides=true "
       "l1t2mb3sic7slc5dhc7dic7"},
      {"fwd_inference/int8/t2n3i32h64p32",
       "--rnn --mode=P --cfg=u8u8u8u8 --alg=VANILLA_LSTM --with-projection=true "
       "--trivial-strides=true l1t2mb3sic32slc32dhc64dic32"},
      {"fwd_inference/f32u8f32u8/t2n3i32h32l2",
       "--rnn --mode=P --cfg=f32u8f32u8 --alg=VANILLA_LSTM --trivial-strides=true "
       "l2t2mb3sic32slc32dhc32dic32"},
      {"bwd/f32/t2n3i4h8p4/peephole/fpmath-bf16",
       "--rnn --mode=P --prop=BWD_DW --alg=VANILLA_LSTM --with-peephole=true "
       "--with-projection=true --trivial-strides=true --attr-fpmath=bf16 l1t2mb3sic4slc4dhc8dic4"}};
  for (const auto& [name, line] : pairs) EXPECT_EQ(LineOf(name), line) << name;
  EXPECT_EQ(LineOf("fwd_inference/f32/t2n3i5h7l2"), "");      // two primitives: widths differ
  EXPECT_EQ(LineOf("fwd_inference/f32/t2n3i7h7l2bi"), "");    // passes join after each layer
  EXPECT_EQ(LineOf("fwd_inference/f32/t2n3i7h7/ldigo"), "");  // no option for weights' layout
  EXPECT_EQ(LineOf("fwd_inference/bf16/t2n3i7h7p3"), "");     // skipped there
  // Over random names: what benchdnn's line says is read as the benchmark that it came from.
  std::mt19937 random(5);
  const auto pick = [&](const auto& choices) {
    return *(std::begin(choices) +
             static_cast<std::ptrdiff_t>(random() % static_cast<size_t>(std::size(choices))));
  };
  const std::vector<std::string> directions = {"fwd_inference", "fwd_training", "bwd"};
  const std::vector<std::string> widths = {"i5h7",     "i7h7",   "i7h7l3",   "i5h9p4",
                                           "i5h9l2p5", "i4h4bi", "i5h7bisum"};
  const std::vector<std::string> peepholes = {"", "/peephole"};
  const std::vector<std::string> modes = {"", "/fpmath-bf16", "/fpmath-f16", "/fpmath-tf32",
                                          "/fpmath-any"};
  int lines = 0;
  for (int k = 0; k < 3000; ++k) {
    const auto name = fmt::format("LSTM/cpu/onednn/{}/{}/t{}n{}{}{}{}", pick(directions),
                                  pick(LstmTypeNames()), 1 + random() % 40, 1 + random() % 40,
                                  pick(widths), pick(peepholes), pick(modes));
    const auto line = LineOf(name);
    if (line.empty()) continue;  // bf16 with a projection
    ASSERT_EQ(fakes::BenchmarkOf(line), name) << line;
    ++lines;
  }
  EXPECT_GT(lines, 2500);
}

TEST(LstmStages, OnePrimitiveWhereTheLibrarysStackIsTheSame) {
  const auto stages = [](const char* text) { return LstmStages(ParseLstmProblem(text)); };
  EXPECT_THAT(stages("t1n1i5h7"), ElementsAre(LstmStage{0, 1}));
  EXPECT_THAT(stages("t1n1i5h7bi"), ElementsAre(LstmStage{0, 1}));
  EXPECT_THAT(stages("t1n1i7h7l4"), ElementsAre(LstmStage{0, 4}));
  EXPECT_THAT(stages("t1n1i7h9l4p7"), ElementsAre(LstmStage{0, 4}));
  EXPECT_THAT(stages("t1n1i5h7l4"), ElementsAre(LstmStage{0, 1}, LstmStage{1, 3}));
  EXPECT_THAT(stages("t1n1i14h7l2bi"), ElementsAre(LstmStage{0, 1}, LstmStage{1, 1}));
  EXPECT_THAT(stages("t1n1i7h7l2bisum"), ElementsAre(LstmStage{0, 1}, LstmStage{1, 1}));
}

CudnnLstmCase Read(const std::string& rest) {
  return ReadCudnnLstmCase(workload::ParseBenchmarkName("LSTM/gpu/cudnn/" + rest));
}

std::string CudnnRefusal(const std::string& rest) { return fakes::RefusalOf(Read, rest); }

TEST(ReadCudnnLstmCase, NamesAlgorithmAndTypeAndRefusesWhatCannotBe) {
  const auto plain = Read("fwd_inference/f32/t16n16i32h64");
  EXPECT_EQ(plain.algorithm, RnnAlgorithm::kStandard);
  EXPECT_EQ(plain.type, "f32");
  EXPECT_EQ(Read("bwd/bf16/t16n16i32h64/persist-static").algorithm, RnnAlgorithm::kPersistStatic);
  EXPECT_EQ(Read("bwd/tf32/t16n16i32h64/persist-small-h").algorithm, RnnAlgorithm::kPersistSmallH);
  EXPECT_EQ(Read("fwd_training/f16/t16n16i32h64l2p32bi/persist-dynamic").algorithm,
            RnnAlgorithm::kPersistDynamic);
  EXPECT_THAT(CudnnRefusal("fwd_inference/int8/t1n1i1h1"),
              HasSubstr("it has f32, tf32, f16, bf16"));
  EXPECT_THAT(CudnnRefusal("fwd/f32/t1n1i1h1"), HasSubstr("no direction 'fwd'"));
  EXPECT_THAT(CudnnRefusal("bwd/f32/t1n1i1h1/peephole"), HasSubstr("has no option 'peephole'"));
  EXPECT_THAT(CudnnRefusal("bwd/f32/t1n1i1h1/standard"), HasSubstr("has no option 'standard'"));
  EXPECT_THAT(CudnnRefusal("bwd/f32/t1n1i1h1/persist-static/persist-dynamic"),
              HasSubstr("column "));
}

TEST(RequireRnnProblem, RefusesWhatCudnnLacksAndF32AndTf32DifferInTheMathAlone) {
  EXPECT_EQ(MathOf("f32"), RnnMath::kFma);
  EXPECT_EQ(MathOf("tf32"), RnnMath::kDefault);
  EXPECT_EQ(MathOf("f16"), RnnMath::kTensorCores);
  EXPECT_EQ(StorageType("tf32"), "f32");
  EXPECT_NO_THROW(RequireRnnProblem(ParseLstmProblem("t1n1i8h8p7bi")));
  for (const auto* problem : {"t1n1i8h8bisum", "t1n1i8h8p8", "t1n1i8h8p9"})
    EXPECT_THROW(RequireRnnProblem(ParseLstmProblem(problem)), Unsupported) << problem;
}

TEST(RequireRnnType, Bf16IsThereFromVersion913OnAndWhatWouldSilentlyBeAnotherTypeIsRefused) {
  EXPECT_NO_THROW(RequireRnnType("f32", 90800));
  EXPECT_NO_THROW(RequireRnnType("f16", 90800));
  EXPECT_NO_THROW(RequireRnnType("bf16", 91300));
  EXPECT_EQ(fakes::RefusalOf<Unsupported>(RequireRnnType, "bf16", 91200),
            "LSTMs in bf16 need cuDNN 9.13.0 or newer, this is 9.12.0");
  EXPECT_NO_THROW(RequireRnnUnit("f32", 60));
  EXPECT_NO_THROW(RequireRnnUnit("f16", 75));
  EXPECT_NO_THROW(RequireRnnUnit("tf32", 80));
  EXPECT_THROW(RequireRnnUnit("f16", 61), Unsupported);
  EXPECT_THROW(RequireRnnUnit("bf16", 75), Unsupported);
  EXPECT_EQ(fakes::RefusalOf<Unsupported>(RequireRnnUnit, "tf32", 75),
            "tf32 needs compute capability 8.0, this GPU has 7.5");
}

TEST(GpuLstmTolerance, TellsF32FromTf32) {
  const auto f32 = GpuLstmTolerance(Read("bwd/f32/t1n1i8h8"));
  EXPECT_LT(f32, std::exp2(-11));  // one rounding to tf32
  EXPECT_GT(GpuLstmTolerance(Read("bwd/tf32/t1n1i8h8")), std::exp2(-10));
  // 64 x 128 terms are 4 x 2048: twice as much.
  EXPECT_DOUBLE_EQ(GpuLstmTolerance(Read("bwd/f32/t64n128i8h8")), 2 * f32);
}

TEST(DescribeRnn, SaysWhatMayMultiply) {
  EXPECT_EQ(DescribeRnn(Read("bwd/f32/t1n1i8h8"), 12, 34),
            "standard, no tensor cores, workspace 12 B, reserve 34 B");
  EXPECT_EQ(DescribeRnn(Read("fwd_inference/f16/t1n1i8h8/persist-small-h"), 12, 0),
            "persist-small-h, tensor cores allowed and expected where FLOPs are not counted, "
            "workspace 12 B");
}

// Layer 1 of two, second pass of two, forget gate on the hidden state: pseudo-layer 3, matrix 5.
TEST(RnnParts, NumbersLayersPassesAndMatricesAsCudnnDoes) {
  const auto parts = RnnParts(ParseLstmProblem("t1n1i3h4l2p2bi"));
  ASSERT_EQ(parts.size(), 2U * 2 * 9);
  EXPECT_EQ(parts[27 + 5], (RnnPart{1, 1, 3, 5, 4, 2}));
  EXPECT_EQ(parts[27 + 0], (RnnPart{1, 1, 3, 0, 4, 4}));  // reads both passes of the layer below
  EXPECT_EQ(parts[0], (RnnPart{0, 0, 0, 0, 4, 3}));
  EXPECT_EQ(parts[8], (RnnPart{0, 0, 0, 8, 2, 4}));  // the projection
  EXPECT_EQ(RnnParts(ParseLstmProblem("t1n1i3h4")).size(), 8U);
}

TEST(HalfBiasOf, TwoHalvesMakeABias) {
  const auto problem = ParseLstmProblem("t1n1i2h3l2bi");
  const auto input = SeededLstmInput(problem, 5, "f16");
  auto sum = ZeroWeights(problem);
  for (const auto& part : RnnParts(problem)) {
    auto twice = HalfBiasOf(part, input);
    for (float& value : twice) value *= 2;
    AddHalfBias(part, twice, sum);
  }
  for (size_t layer = 0; layer < 2; ++layer)
    EXPECT_EQ(sum.layers[layer].bias, input.layers[layer].bias);
}

TEST(PutMatrix, IsTheInverseOfMatrixOf) {
  const auto problem = ParseLstmProblem("t1n1i5h4l2p3bi");
  const auto input = SeededLstmInput(problem, 5, "f32");
  auto copy = ZeroWeights(problem);
  for (const auto& part : RnnParts(problem)) PutMatrix(part, MatrixOf(part, input), copy);
  for (size_t layer = 0; layer < 2; ++layer) {
    EXPECT_EQ(copy.layers[layer].input, input.layers[layer].input);
    EXPECT_EQ(copy.layers[layer].state, input.layers[layer].state);
    EXPECT_EQ(copy.layers[layer].projection, input.layers[layer].projection);
  }
  EXPECT_THROW(PutMatrix(RnnParts(problem)[0], {1, 2}, copy), std::logic_error);
}

// One step as cuDNN's documentation of cudnnRNNMode_t writes it, with its matrices and both biases:
// i = s(W_i x + R_i h + b_Wi + b_Ri), f, o alike, c' = tanh(W_c x + R_c h + b_Wc + b_Rc),
// c = f c + i c', h = o tanh(c), with a projection h = P (o tanh(c)).
struct CudnnStep {
  const LstmInput<float>& input;
  std::vector<RnnPart> parts;  // of one pseudo-layer

  double Sum(int gate, int64_t row, const std::vector<double>& x,
             const std::vector<double>& h) const {
    double sum = 0;
    for (const int linear : {gate, gate + 4}) {
      const auto& part = parts[static_cast<size_t>(linear)];
      const auto matrix = MatrixOf(part, input);
      const auto& read = linear < 4 ? x : h;
      for (int64_t c = 0; c < part.columns; ++c)
        sum += matrix[static_cast<size_t>(row * part.columns + c)] * read[static_cast<size_t>(c)];
      sum += HalfBiasOf(part, input)[static_cast<size_t>(row)];
    }
    return sum;
  }

  void Run(const std::vector<double>& x, std::vector<double>& h, std::vector<double>& c) const {
    const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
    std::vector<double> exposed(c.size());
    for (size_t u = 0; u < c.size(); ++u) {
      const auto row = static_cast<int64_t>(u);
      c[u] = sigmoid(Sum(1, row, x, h)) * c[u] +
             sigmoid(Sum(0, row, x, h)) * std::tanh(Sum(2, row, x, h));
      exposed[u] = sigmoid(Sum(3, row, x, h)) * std::tanh(c[u]);
    }
    if (parts.size() == 8) {
      h = exposed;
      return;
    }
    const auto matrix = MatrixOf(parts[8], input);
    for (size_t k = 0; k < h.size(); ++k) {
      h[k] = 0;
      for (size_t u = 0; u < c.size(); ++u) h[k] += matrix[k * c.size() + u] * exposed[u];
    }
  }
};

TEST(RnnParts, MakeOurLstmByCudnnsFormula) {
  for (const char* text : {"t3n1i5h4", "t3n1i5h4p3", "t2n1i3h3l2"}) {
    const auto problem = ParseLstmProblem(text);
    const auto input = SeededLstmInput(problem, 11, "f32");
    LstmForwardResult<double> ours;
    LstmForward(problem, ToDouble(input), ours);
    const auto parts = RnnParts(problem);
    const auto each = static_cast<int64_t>(parts.size()) / problem.l;
    std::vector<std::vector<double>> rows;  // what a layer reads, by step
    for (int64_t t = 0; t < problem.t; ++t)
      rows.emplace_back(input.source.begin() + t * problem.i,
                        input.source.begin() + (t + 1) * problem.i);
    for (int64_t layer = 0; layer < problem.l; ++layer) {
      const CudnnStep step{input,
                           {parts.begin() + layer * each, parts.begin() + (layer + 1) * each}};
      const int64_t width = StateWidth(problem);
      std::vector<double> h(input.initial_hidden.begin() + layer * width,
                            input.initial_hidden.begin() + (layer + 1) * width);
      std::vector<double> c(input.initial_cell.begin() + layer * problem.h,
                            input.initial_cell.begin() + (layer + 1) * problem.h);
      for (auto& row : rows) {
        step.Run(row, h, c);
        row = h;
      }
      for (int64_t u = 0; u < problem.h; ++u)
        EXPECT_NEAR(c[static_cast<size_t>(u)],
                    ours.outputs.final_cell[static_cast<size_t>(layer * problem.h + u)], 1e-7)
            << text;
      for (int64_t k = 0; k < width; ++k)
        EXPECT_NEAR(h[static_cast<size_t>(k)],
                    ours.outputs.final_hidden[static_cast<size_t>(layer * width + k)], 1e-7)
            << text;
    }
  }
}

}  // namespace
}  // namespace dlroof::lstm
