#include "bench/lstm_onednn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "bench/onednn_support.h"

namespace dlroof::onednn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr LstmDirection kInference = LstmDirection::kForwardInference;
constexpr LstmDirection kBackward = LstmDirection::kBackward;

// Small problems, each with something that is easy to get wrong.
constexpr std::string_view kProblems[] = {
    "t1n1i1h1",         // nothing smaller
    "t4n3i5h7",         // odd sizes, input unlike hidden
    "t3n2i16h16l3",     // three layers in one primitive
    "t3n2i5h7l3",       // the first layer apart: its input is narrower
    "t5n2i5h7bi",       // both passes, one primitive
    "t5n2i5h7bisum",    // added
    "t4n3i5h7l3bi",     // the passes meet after each layer
    "t4n3i7h7l2bisum",  // as wide as the input, and still two primitives
    "t3n2i5h8p4",       // projection
    "t3n2i5h8l2p4bi",   // all at once
};

// Prepares and verifies; a reason instead when it cannot run here.
std::string Outcome(const std::string& name, int threads) {
  try {
    const auto call = MakeWorkload(name).prepare({.threads = threads, .seed = 7});
    call.run();
    const auto found = call.verify();
    if (!found.ok) return "wrong: " + std::to_string(found.max_error) + ", " + found.how;
    return "ok " + call.algorithm;
  } catch (const Unsupported& error) {
    return std::string("unsupported: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("failed: ") + error.what();
  }
}

class LstmDirectionAndType : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

// One thread: a second one spins at every step of a problem this small.
TEST_P(LstmDirectionAndType, AgreesWithTheLoops) {
  const auto& [direction, type] = GetParam();
  for (const auto problem : kProblems) {
    const auto name = fmt::format("LSTM/cpu/onednn/{}/{}/{}", direction, type, problem);
    const auto outcome = Outcome(name, 1);
    // f32 runs wherever oneDNN does; other types may be refused here, but never wrong.
    const bool ok = outcome.rfind("ok ", 0) == 0;
    if (type == "f32" || outcome.rfind("wrong", 0) == 0) {
      EXPECT_TRUE(ok) << name << ' ' << outcome;
    } else if (!ok) {
      EXPECT_THAT(outcome, HasSubstr(type)) << name << ": the reason names no type";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LstmOnednn, LstmDirectionAndType,
                         testing::Combine(testing::Values("fwd_inference", "fwd_training", "bwd"),
                                          testing::Values("f32", "bf16", "f16", "int8")),
                         [](const auto& one) {
                           return std::get<0>(one.param) + '_' + std::get<1>(one.param);
                         });

TEST(LstmOnednn, AgreesWithTheLoopsOnTwoThreads) {
  EXPECT_THAT(Outcome("LSTM/cpu/onednn/fwd_inference/f32/t3n8i16h32", 2),
              testing::StartsWith("ok "));
  EXPECT_THAT(Outcome("LSTM/cpu/onednn/bwd/f32/t3n8i16h32", 2), testing::StartsWith("ok "));
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

struct Inputs {
  LstmProblem problem;
  LstmInput<float> input;
  LstmOutput<float> d_output;
};
Inputs Seeded(const std::string& text) {
  const auto problem = ParseLstmProblem(text);
  return {problem, SeededLstmInput(problem, 3, "f32"), SeededLstmGradient(problem, 3)};
}

// The library is given one number that differs from the loops': each must be noticed.
TEST(LstmOnednn, OnePlantedErrorInAnyInputIsWrong) {
  SetThreads(1);
  for (const auto direction : {kInference, kBackward}) {
    Inputs right = Seeded("t3n2i5h8l2p4bi");
    Inputs planted = right;
    ForEachInput(
        [&](auto& values) {
          const float kept = values.back();
          values.back() += 0.01F;
          LstmCall call(right.problem, direction, "f32", planted.input, planted.d_output);
          const auto found = CompareWithLoops(call, "f32", right.input, right.d_output);
          EXPECT_FALSE(found.ok) << Key(direction) << ' ' << found.max_error;
          values.back() = kept;
        },
        planted.input);
    LstmCall call(right.problem, direction, "f32", planted.input, planted.d_output);
    EXPECT_TRUE(CompareWithLoops(call, "f32", right.input, right.d_output).ok);
  }
}

TEST(LstmOnednn, WeightGradientsAddUpUntilTheyAreCleared) {
  SetThreads(1);
  const Inputs inputs = Seeded("t2n2i3h4");
  LstmCall call(inputs.problem, kBackward, "f32", inputs.input, inputs.d_output);
  call.ClearWeightGradients();
  call.Run();
  const auto once = call.Gradients();
  call.Run();
  const auto twice = call.Gradients();
  for (size_t k = 0; k < once.layers[0].input.size(); ++k)
    EXPECT_NEAR(twice.layers[0].input[k], 2 * once.layers[0].input[k], 1e-5);
  EXPECT_EQ(twice.source, once.source);
}

TEST(LstmOnednn, SaysWhatTheLibraryChoseAndWhatItDoes) {
  const auto call =
      MakeWorkload("LSTM/cpu/onednn/fwd_inference/f32/t2n3i5h7").prepare({.threads = 1});
  EXPECT_FALSE(call.algorithm.empty());
  EXPECT_FALSE(call.isa.empty());
  // 6 x 2 * 28 * 12 in products, 6 x 13 * 7 elementwise, on one pipe in f32
  EXPECT_EQ(call.modelled.flops, (std::map<std::string, double>{{"fp32.vector", 4032 + 546}}));
  EXPECT_EQ(call.modelled.parts,
            (std::map<std::string, double>{{"matrix", 4032}, {"elementwise", 546}}));
  // 30 in, 42 out, 2 x 21 hidden and cell states each, 12 * 28 weights, 28 bias
  EXPECT_EQ(call.modelled.bytes.at(Level::kDram), 4 * (30 + 42 + 42 + 42 + 336 + 28));
  EXPECT_EQ(call.modelled.launches, 1);
  EXPECT_EQ(MakeWorkload("LSTM/cpu/onednn/bwd/f32/t2n1i5h7l2bi").prepare({}).modelled.launches, 2);
}

TEST(LstmOnednn, ALargeProblemIsCheckedOnItsTwin) {
  const auto call =
      MakeWorkload("LSTM/cpu/onednn/fwd_inference/f32/t64n32i64h64").prepare({.threads = 1});
  const auto found = call.verify();
  EXPECT_TRUE(found.ok) << found.max_error;
  // 2 * 64 * 32 * 256 * 128 = 134 MFLOP; two halvings of t are below 50
  EXPECT_THAT(found.how, HasSubstr("outputs of the twin t16n32i64h64 ("));
}

TEST(LstmOnednn, Int8HasNoSumOfPasses) {
  EXPECT_THAT(Outcome("LSTM/cpu/onednn/fwd_inference/int8/t1n1i1h1bisum", 1),
              HasSubstr("unsupported: oneDNN adds the stored u8 values"));
}

TEST(LstmOnednn, WhatCannotFitIsUnsupportedAndNotTried) {
  EXPECT_THAT(Outcome("LSTM/cpu/onednn/bwd/bf16/t1000000n1000000i64h64", 1),
              HasSubstr("GB of memory"));
}

TEST(LstmOnednn, RefusesWhatCannotExist) {
  for (const std::string bad :
       {"fwd/f32/t1n1i1h1", "bwd/f64/t1n1i1h1", "bwd/f32/t1n1i1", "bwd/f32/t1n1i1h1/relu"})
    EXPECT_THROW(MakeWorkload("LSTM/cpu/onednn/" + bad), BadInput) << bad;
}

}  // namespace
}  // namespace dlroof::onednn
