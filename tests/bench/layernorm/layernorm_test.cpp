#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bench/benchdnn/log_line.h"
#include "bench/layernorm/case.h"
#include "bench/layernorm/loops.h"
#include "bench/rows/operator.h"
#include "bench/suites/suite_selection.h"
#include "bench/workload/operator_parts.h"
#include "reporters/logs/primitive.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/outcome.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/rows_result.h"

namespace dlroof::layernorm {
namespace {

using testing::HasSubstr;

LayerNormCase CaseOf(const std::string& name) {
  return ReadOnednnCase(workload::ParseBenchmarkName("LayerNorm/cpu/onednn/" + name));
}

TEST(LayerNormCase, ReadsEveryPart) {
  EXPECT_EQ(CaseOf("fwd/f32/m2n3"), (LayerNormCase{{{2, 3}, "f32", false}, false, false}));
  EXPECT_EQ(CaseOf("fwd/bf16/m2n3/training/scale/shift"),
            (LayerNormCase{{{2, 3}, "bf16", true}, true, true}));
  EXPECT_THAT(fakes::RefusalOf([] { CaseOf("fwd/f32/m2n3/shift/scale"); }),
              HasSubstr("'scale' cannot come after 'shift'"));
  EXPECT_THAT(fakes::RefusalOf([] { CaseOf("fwd/f16/m2n3"); }),
              HasSubstr("column 26: expected a type (f32, bf16)"));
}

// 3 rows of 4: mean 4 (3 additions, a division), variance 12, 1/sqrt(variance + epsilon) 3,
// normalization 8; scale 4, shift 4.
TEST(LayerNormWork, IsWorkedByHand) {
  const auto plain = workload::WorkOfLogged(Logged(CaseOf("fwd/f32/m3n4")));
  EXPECT_EQ(plain.flops, (std::map<std::string, double>{{"fp32.vector", 3 * 27}}));
  EXPECT_EQ(plain.bytes.at(Level::kDram), 4 * (12 + 12));
  const auto all = workload::WorkOfLogged(Logged(CaseOf("fwd/bf16/m3n4/training/scale/shift")));
  EXPECT_EQ(all.flops.at("fp32.vector"), 3 * 35);
  EXPECT_EQ(all.bytes.at(Level::kDram), 2 * (12 + 12) + 4 * (3 + 3) + 4 * (4 + 4));
}

// Mean 2, variance 2/3; scale 2 and shift 1 per column.
TEST(LayerNormLoops, AreTheDefinition) {
  std::vector<double> y(3);
  RunLoops({{{1, 3}}, true, true}, {{1, 2, 3}, {{2, 2, 2}, {1, 1, 1}}}, y);
  const double away = 2 / std::sqrt(2.0 / 3 + double{kEpsilon});
  EXPECT_NEAR(y[0], 1 - away, 1e-13);
  EXPECT_NEAR(y[1], 1, 1e-13);
  EXPECT_NEAR(y[2], 1 + away, 1e-13);
  EXPECT_EQ(fakes::Outcome("LayerNorm/cpu/reference/fwd/f64/m9n33/scale/shift"), "ok plain loops");
  EXPECT_EQ(fakes::Outcome("LayerNorm/cpu/reference/fwd/f64/m9n1"), "ok plain loops");
}

TEST(LayerNormCheck, TakesTheRightResultAndFindsOneWrongElement) {
  for (const std::string type : {"f32", "bf16"})
    for (const rows::Rows rows : {rows::Rows{17, 33}, {1, 5000}, {12000, 768}})
      fakes::ExpectCheckFindsOneElement(LayerNormCase{{rows, type}, true, true},
                                        [](float& value) { value += 0.05F; });
}

// The variance with n - 1 in the place of n is 0.1 % larger for 1024 elements.
TEST(LayerNormCheck, FindsAVarianceOfOneElementLess) {
  const LayerNormCase norm{{{2, 1024}, "f32"}};
  const auto in = SeededTensors(norm, 5);
  auto wrong = fakes::RightResult(norm, in);
  for (float& value : wrong) value *= std::sqrt(1023.0F / 1024);
  EXPECT_FALSE(rows::Check(norm, in, wrong, 5).ok);
}

constexpr fakes::ForeignLine kForeignLines[] = {
    {"--lnorm 8192x64", "fwd/f32/m8192n64/training"},
    {"--lnorm --dir=FWD_I --flags=CH --tag=abx 8x128x768", "fwd/f32/m1024n768/scale/shift"},
    {"--lnorm --dir=FWD_I --dt=bf16 --flags=C 2x3", "fwd/bf16/m2n3/scale"},
    {"--lnorm --dir=FWD_I --tag=abc:any 2x3x4", "fwd/f32/m6n4"},
    {"--lnorm --dt=bf16:f32 2x3", "!types bf16:f32"},
    {"--lnorm --dir=BWD_DW 2x3", "!direction BWD_DW"},
    {"--lnorm --flags=G 2x3", "!global statistics"},
    {"--lnorm --tag=ba 2x3", "!layout ba"},
    {"--lnorm --inplace=true 2x3", "!inplace true"},
};

TEST(LayerNormBenchdnn, ReadsForeignLinesOrSaysWhyNot) {
  fakes::ExpectBenchmarks(kForeignLines, "LayerNorm/cpu/onednn/");
}

TEST(LayerNormBenchdnn, WritesTheLineOfALoggedCall) {
  EXPECT_EQ(workload::MakeWorkload("LayerNorm/cpu/onednn/fwd/bf16/m3n4/scale/shift").repro,
            "--lnorm --mode=P --dir=FWD_I --dt=bf16:bf16 --tag=ab --flags=CH 3x4");
  // oneDNN 2 has scale and shift in one tensor, and one tensor for source and destination.
  EXPECT_EQ(benchdnn::BenchdnnLine(
                logs::ReadPrimitive({.kind = "layer_normalization",
                                     .prop = "forward_training",
                                     .tensors = "data_f32::blocked:abc:f0 stats_f32::blocked:ab:f0",
                                     .auxiliary = "flags:S",
                                     .problem = "4x128x768"})),
            "--lnorm --mode=P --dir=FWD_D --dt=f32:f32 --tag=abc --flags=CH 4x128x768");
}

TEST(LayerNormSuite, HasTheRowsOfItsModels) {
  std::set<std::string> expected = {"m1024n1600", "m1n768", "m3072n1024"};
  for (const int64_t tokens : {128, 384}) expected.insert(ToText(rows::Rows{8 * tokens, 768}));
  std::set<std::string> found;
  const auto suites = suites::SelectSuites({"layernorm"});
  for (const auto& layer : suites.at(0).layers)
    found.insert(workload::ParseBenchmarkName(layer.name).problem);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace dlroof::layernorm
