#include "baselines/programs/program_pair.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "counters/base/error.h"
#include "tests/fakes/primitives/logs.h"

namespace dlroof::programs {
namespace {

ProgramPrimitive Calls(std::string kind, std::string prop, std::string tensors, std::string problem,
                       double calls, double seconds) {
  ProgramPrimitive primitive;
  primitive.text = {.kind = std::move(kind),
                    .implementation = "jit",
                    .prop = std::move(prop),
                    .tensors = std::move(tensors),
                    .problem = std::move(problem)};
  primitive.step_calls = calls;
  primitive.step_seconds = seconds;
  primitive.calls = 10 * calls;
  primitive.seconds = 10 * seconds;
  primitive.times = {.least = 0.9 * seconds / calls,
                     .lower_quarter = 0.95 * seconds / calls,
                     .median = seconds / calls,
                     .upper_quarter = 1.05 * seconds / calls,
                     .most = 1.1 * seconds / calls};
  return primitive;
}

constexpr const char* kPlain =
    "src:f32::blocked:abcd::f0 wei:f32::blocked:abcd::f0 dst:f32::blocked:abcd::f0";
constexpr const char* kChannelsLast =
    "src:f32::blocked:acdb::f0 wei:f32::blocked:abcd::f0 bia:f32::blocked:a::f0 "
    "dst:f32::blocked:acdb::f0";
constexpr const char* kNarrow =
    "src:bf16::blocked:abcd::f0 wei:bf16::blocked:abcd::f0 dst:bf16::blocked:abcd::f0";
constexpr const char* kMoved = "src:f32::blocked:abcd::f0 dst:f32::blocked:acdb::f0";
constexpr const char* kProblem = "mb8_ic64oc64_ih56oh56kh3sh1dh0ph1_iw56ow56kw3sw1dw0pw1";

ComparedProgram Program(const char* where, std::vector<ProgramPrimitive> primitives) {
  ComparedProgram program{.where = where};
  program.summary.primitives = std::move(primitives);
  program.summary.steps.count = 10;
  program.summary.steps.wall_seconds = 1;
  program.summary.wall_seconds = 12;
  return program;
}

TEST(PairPrograms, OneProblemIsOneRowWhateverItsLayouts) {
  // Two layouts in A, 2 + 1 calls of 0.3 + 0.1 s; B has a bias and 3 calls of 0.2 s.
  const auto a = Program("a", {Calls("convolution", "forward_training", kPlain, kProblem, 2, 0.3),
                               Calls("convolution", "forward_training", kChannelsLast,
                                     std::string("g1") + kProblem, 1, 0.1)});
  const auto b =
      Program("b", {Calls("convolution", "forward_inference", kChannelsLast, kProblem, 3, 0.2)});
  const auto pair = PairPrograms(a, b);
  ASSERT_EQ(pair.rows.size(), 1u);
  const auto& row = pair.rows[0];
  EXPECT_EQ(row.direction, "forward");
  EXPECT_EQ(row.types, "f32");
  EXPECT_EQ(row.problem, kProblem);
  EXPECT_EQ(row.a.sum.calls, 3);
  EXPECT_DOUBLE_EQ(row.a.sum.seconds, 0.4);
  EXPECT_DOUBLE_EQ(*RatioOf(row.a.sum, row.b.sum), 0.5);
  // 0.95 x 0.2 / (1.05 x 0.4) and 1.05 x 0.2 / (0.95 x 0.4)
  EXPECT_DOUBLE_EQ(row.ratio_between->first, 0.19 / 0.42);
  EXPECT_DOUBLE_EQ(row.ratio_between->second, 0.21 / 0.38);
  EXPECT_EQ(row.differences,
            (std::vector<std::string>{"layout of src: abcd + acdb | acdb",
                                      "layout of dst: abcd + acdb | acdb", "bias: no + yes | yes",
                                      "prop_kind: forward_training | forward_inference"}));
  EXPECT_TRUE(pair.only_a.empty() && pair.only_b.empty());
}

TEST(PairPrograms, TypesMayDifferWhereNothingElseIsThePartner) {
  const auto a = Program("a", {Calls("convolution", "forward", kPlain, kProblem, 1, 0.4),
                               Calls("convolution", "forward", kNarrow, kProblem, 1, 0.3)});
  const auto b = Program("b", {Calls("convolution", "forward", kNarrow, kProblem, 1, 0.2)});
  const auto exact = PairPrograms(a, b);
  ASSERT_EQ(exact.rows.size(), 1u);
  EXPECT_EQ(exact.rows[0].types, "bf16");
  ASSERT_EQ(exact.only_a.size(), 1u);
  EXPECT_EQ(exact.only_a[0].types, "f32");
  const auto c = Program("c", {Calls("convolution", "forward", kPlain, kProblem, 1, 0.4)});
  const auto other = PairPrograms(c, b);
  ASSERT_EQ(other.rows.size(), 1u);
  EXPECT_EQ(other.rows[0].differences, std::vector<std::string>{"types: f32 | bf16"});
}

TEST(PairPrograms, PaddingMayBeOutside) {
  const auto inside = Calls("convolution", "forward", kPlain,
                            "mb4_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3", 1, 0.1);
  const auto outside = Calls("convolution", "forward", kPlain,
                             "mb4_ic3oc64_ih230oh112kh7sh2dh0ph0_iw230ow112kw7sw2dw0pw0", 1, 0.1);
  const auto larger = Calls("convolution", "forward", kPlain,
                            "mb4_ic3oc64_ih230oh112kh5sh2dh0ph0_iw230ow112kw5sw2dw0pw0", 1, 0.1);
  const auto pair = PairPrograms(Program("a", {inside}), Program("b", {outside}));
  ASSERT_EQ(pair.rows.size(), 1u);
  EXPECT_EQ(pair.rows[0].differences, std::vector<std::string>{"sizes: " + inside.text.problem +
                                                               " | " + outside.text.problem});
  EXPECT_TRUE(PairPrograms(Program("a", {inside}), Program("b", {larger})).rows.empty());
}

TEST(PairPrograms, AnAlgorithmThatIsAnotherOperationIsNoPartner) {
  auto relu = Calls("eltwise", "forward", kMoved, "8x64", 1, 0.1);
  auto tanh = relu;
  relu.text.auxiliary = "alg:eltwise_relu alpha:0 beta:0";
  tanh.text.auxiliary = "alg:eltwise_tanh alpha:0 beta:0";
  EXPECT_TRUE(PairPrograms(Program("a", {relu}), Program("b", {tanh})).rows.empty());
  auto leaky = relu;
  leaky.text.auxiliary = "alg:eltwise_relu alpha:0.1 beta:0";
  EXPECT_EQ(PairPrograms(Program("a", {relu}), Program("b", {leaky})).rows.size(), 1u);
}

TEST(PairPrograms, WhatMovesDataIsCountedNotMatched) {
  auto reorder = Calls("reorder", "undef", kMoved, "8x64x56x56", 4, 0.2);
  reorder.moves_data = true;
  const auto convolution = Calls("convolution", "forward", kPlain, kProblem, 1, 0.3);
  const auto pair =
      PairPrograms(Program("a", {convolution, reorder}), Program("b", {convolution, reorder}));
  EXPECT_EQ(pair.rows.size(), 1u);
  EXPECT_EQ(pair.a.moving.calls, 4);
  EXPECT_DOUBLE_EQ(pair.a.computing.seconds, 0.3);
  EXPECT_DOUBLE_EQ(pair.a.matched.seconds, 0.3);
  EXPECT_DOUBLE_EQ(*pair.a.outside_seconds, 0.5);
  ASSERT_EQ(pair.kinds.size(), 2u);
  EXPECT_TRUE(pair.kinds[1].moves_data);
}

TEST(PairPrograms, WithoutStepsTheWholeProgramsAreCompared) {
  const auto convolution = Calls("convolution", "forward", kPlain, kProblem, 1, 0.3);
  const auto a = Program("a", {convolution});
  auto b = a;
  b.where = "b.json";
  b.summary.steps = {.reason = Reason{"no steady steps found"}};
  const auto pair = PairPrograms(a, b);
  EXPECT_FALSE(pair.per_step);
  EXPECT_DOUBLE_EQ(pair.rows[0].a.sum.seconds, 3);
  EXPECT_DOUBLE_EQ(*pair.a.wall_seconds, 12);
  ASSERT_EQ(pair.remarks.size(), 1u);
  EXPECT_TRUE(pair.remarks[0].starts_with("b.json has no steps (no steady steps found)"));
}

ComparedProgram FromRealLog(const std::string& name) {
  return {.where = name,
          .summary = SummarizeProgram(fakes::FromLog(name), StepsOf(fakes::FromLog(name)))};
}

TEST(PairPrograms, ARealProgramIsItsOwnPartner) {
  for (const char* name : {"pt_r50_inf.onednn.log", "pt_lstm_trn.onednn.log",
                           "tf_r50_inf_dnn.onednn.log", "pt_bert_inf.onednn.log"}) {
    const auto program = FromRealLog(name);
    const auto pair = PairPrograms(program, program);
    EXPECT_FALSE(pair.rows.empty()) << name;
    EXPECT_TRUE(pair.only_a.empty() && pair.only_b.empty() && pair.remarks.empty()) << name;
    for (const auto& row : pair.rows) {
      EXPECT_TRUE(row.differences.empty()) << name << ": " << row.problem;
      EXPECT_EQ(row.a.sum.seconds, row.b.sum.seconds);
    }
  }
}

TEST(PairPrograms, EverySecondOfRealProgramsIsInOnePlace) {
  const auto a = FromRealLog("pt_r50_inf.onednn.log"), b = FromRealLog("tf_r50_inf_dnn.onednn.log");
  const auto pair = PairPrograms(a, b);
  EXPECT_TRUE(pair.per_step);
  double seconds_a = 0, seconds_b = 0, kinds_a = 0, kinds_b = 0;
  for (const auto* rows : {&pair.rows, &pair.only_a, &pair.only_b})
    for (const auto& row : *rows) {
      seconds_a += row.a.sum.seconds;
      seconds_b += row.b.sum.seconds;
    }
  for (const auto& kind : pair.kinds) {
    kinds_a += kind.a.seconds;
    kinds_b += kind.b.seconds;
  }
  for (const auto& [seconds, kinds, totals] :
       {std::tuple(seconds_a, kinds_a, &pair.a), {seconds_b, kinds_b, &pair.b}}) {
    EXPECT_NEAR(seconds, totals->computing.seconds + totals->unknown.seconds, 1e-9 * seconds);
    EXPECT_NEAR(kinds, seconds + totals->moving.seconds, 1e-9 * kinds);
    EXPECT_GT(totals->matched.seconds, 0.5 * seconds);
    EXPECT_LE(totals->matched.seconds, seconds * (1 + 1e-9));
  }
}

TEST(ComparedProgramOf, ARunWithoutAProgramIsRefused) {
  EXPECT_THROW(ComparedProgramOf("x.json", roofline::PlaceRun({})), BadInput);
}

}  // namespace
}  // namespace dlroof::programs
