#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "bench/benchdnn/log_line.h"
#include "bench/eltwise/case.h"
#include "bench/eltwise/loops.h"
#include "bench/rows/operator.h"
#include "bench/suites/suite_selection.h"
#include "bench/workload/operator_parts.h"
#include "reporters/logs/primitive.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/outcome.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/rows_result.h"

namespace dlroof::eltwise {
namespace {

using testing::HasSubstr;
using workload::Eltwise;

EltwiseCase CaseOf(const std::string& name) {
  return ReadOnednnCase(workload::ParseBenchmarkName("Eltwise/cpu/onednn/" + name));
}

TEST(EltwiseCase, ReadsEveryPart) {
  EXPECT_EQ(CaseOf("fwd/f32/m2n3"), (EltwiseCase{{{2, 3}, "f32", false}, Eltwise::kRelu}));
  EXPECT_EQ(CaseOf("fwd/bf16/m2n3/training/gelu_tanh"),
            (EltwiseCase{{{2, 3}, "bf16", true}, Eltwise::kGeluTanh}));
  EXPECT_THAT(fakes::RefusalOf([] { CaseOf("fwd/f32/m2n3/relu"); }), HasSubstr("column 33"));
  EXPECT_THAT(fakes::RefusalOf([] { CaseOf("fwd/f32/m2n3/tanh/logistic"); }), HasSubstr("tanh"));
}

// 0.5 * x * (1 + erf(c * x)) is 5 operations of an element.
TEST(EltwiseWork, IsWorkedByHand) {
  const auto work = workload::WorkOfLogged(Logged(CaseOf("fwd/bf16/m3n4/gelu_erf")));
  EXPECT_EQ(work.flops, (std::map<std::string, double>{{"fp32.vector", 12 * 5}}));
  EXPECT_EQ(work.bytes.at(Level::kDram), 2 * (12 + 12));
  EXPECT_EQ(workload::WorkOfLogged(Logged(CaseOf("fwd/f32/m3n4"))).flops.at("fp32.vector"), 12);
}

// gelu(1) = 0.8413447461 and gelu(-2) = -2 x 0.0227501319, from tables of the normal distribution;
// GELU's form with tanh differs by -1.5e-4 at 1; 1 / (1 + 3) and (9 - 1) / (9 + 1) with x = log 3.
TEST(EltwiseLoops, AreTheDefinition) {
  const auto at = [](Eltwise function, double x) {
    std::vector<double> y(1);
    RunLoops({{{1, 1}}, function}, {{x}}, y);
    return y[0];
  };
  EXPECT_EQ(at(Eltwise::kRelu, -2), 0);
  EXPECT_EQ(at(Eltwise::kRelu, 3), 3);
  EXPECT_NEAR(at(Eltwise::kGeluErf, 1), 0.8413447461, 1e-9);
  EXPECT_NEAR(at(Eltwise::kGeluErf, -2), -2 * 0.0227501319, 1e-9);
  EXPECT_NEAR(at(Eltwise::kGeluTanh, 1), 0.8411920, 1e-6);
  EXPECT_NEAR(at(Eltwise::kLogistic, -std::log(3)), 0.25, 1e-15);
  EXPECT_NEAR(at(Eltwise::kTanh, std::log(3)), 0.8, 1e-15);
  for (const auto* function : {"", "/gelu_erf", "/gelu_tanh", "/logistic", "/tanh"})
    EXPECT_EQ(fakes::Outcome(std::string("Eltwise/cpu/reference/fwd/f64/m9n33") + function),
              "ok plain loops");
}

TEST(EltwiseCheck, TakesTheRightResultAndFindsOneWrongElement) {
  for (const std::string type : {"f32", "bf16"})
    for (const auto function : workload::kEltwises)
      for (const rows::Rows rows : {rows::Rows{17, 33}, {1, 5000}, {12000, 1024}})
        fakes::ExpectCheckFindsOneElement(EltwiseCase{{rows, type}, function},
                                          [](float& value) { value = value * 1.02F + 0.05F; });
}

// The two GELUs differ by up to 5e-4.
TEST(EltwiseCheck, FindsTheOtherGelu) {
  const EltwiseCase one{{{8, 100}, "f32"}, Eltwise::kGeluErf};
  auto other = one;
  other.function = Eltwise::kGeluTanh;
  const auto in = SeededTensors(one, 5);
  EXPECT_FALSE(rows::Check(one, in, fakes::RightResult(other, in), 5).ok);
}

constexpr fakes::ForeignLine kForeignLines[] = {
    {"--eltwise 8192x64", "fwd/f32/m8192n64/training"},
    {"--eltwise --dir=FWD_I --alg=gelu_erf --tag=axb 2x3x4x5", "fwd/f32/m24n5/gelu_erf"},
    {"--eltwise --dir=FWD_I --dt=bf16 --alg=eltwise_tanh --alpha=0.5 --mb=5 2x3",
     "fwd/bf16/m5n3/tanh"},
    {"--eltwise --alg=RELU --alpha=0.0 2x3", "fwd/f32/m2n3/training"},
    {"--eltwise --alpha=0.1 2x3", "!relu with a slope"},
    {"--eltwise --alg=swish 2x3", "!algorithm swish"},
    {"--eltwise --dt=f16 2x3", "!type f16"},
    {"--eltwise --dir=BWD_D 2x3", "!direction BWD_D"},
    {"--eltwise --tag=aBx16b 2x3", "!layout aBx16b"},
    {"--eltwise --inplace=true 2x3", "!inplace true"},
};

TEST(EltwiseBenchdnn, ReadsForeignLinesOrSaysWhyNot) {
  fakes::ExpectBenchmarks(kForeignLines, "Eltwise/cpu/onednn/");
}

TEST(EltwiseBenchdnn, WritesTheLineOfALoggedCall) {
  EXPECT_EQ(workload::MakeWorkload("Eltwise/cpu/onednn/fwd/bf16/m3n4/gelu_erf").repro,
            "--eltwise --mode=P --dir=FWD_I --dt=bf16 --tag=ab --alg=gelu_erf 3x4");
  EXPECT_EQ(
      benchdnn::BenchdnnLine(logs::ReadPrimitive({.kind = "eltwise",
                                                  .prop = "forward_training",
                                                  .tensors = "data_f32::blocked:acdb:f0",
                                                  .auxiliary = "alg:eltwise_relu alpha:0.25 beta:0",
                                                  .problem = "4x8x5x5"})),
      "--eltwise --mode=P --dir=FWD_D --tag=acdb --alg=relu --alpha=0.25 4x8x5x5");
}

TEST(EltwiseSuite, HasTheFeedForwardLayersOfItsModels) {
  std::set<std::string> found;
  const auto suites = suites::SelectSuites({"eltwise"});
  for (const auto& layer : suites.at(0).layers)
    found.insert(workload::ParseBenchmarkName(layer.name).problem);
  EXPECT_EQ(found, (std::set<std::string>{"m1024n3072", "m3072n3072", "m3072n4096", "m1n3072"}));
}

}  // namespace
}  // namespace dlroof::eltwise
