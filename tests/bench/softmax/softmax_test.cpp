#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/benchdnn/log_line.h"
#include "bench/rows/operator.h"
#include "bench/softmax/case.h"
#include "bench/softmax/loops.h"
#include "bench/suites/benchdnn_suite.h"
#include "bench/suites/suite_selection.h"
#include "bench/workload/operator_parts.h"
#include "reporters/logs/primitive.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/outcome.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/rows_result.h"

namespace dlroof::softmax {
namespace {

using testing::HasSubstr;

SoftmaxCase CaseOf(const std::string& name) {
  return ReadOnednnCase(workload::ParseBenchmarkName("Softmax/cpu/onednn/" + name));
}

TEST(SoftmaxCase, ReadsEveryPart) {
  EXPECT_EQ(CaseOf("fwd/f32/m2n3"), (SoftmaxCase{{{2, 3}, "f32", false}}));
  EXPECT_EQ(CaseOf("fwd/bf16/m2n3/training"), (SoftmaxCase{{{2, 3}, "bf16", true}}));
}

TEST(SoftmaxCase, RefusalsCountColumnsInTheWholeName) {
  // Softmax/cpu/onednn/ is 19 characters long.
  const auto refusal = [](const std::string& name) {
    return fakes::RefusalOf([&] { CaseOf(name); });
  };
  EXPECT_THAT(refusal("bwd/f32/m1n2"), HasSubstr("column 20: expected a direction (fwd)"));
  EXPECT_THAT(refusal("fwd/int8/m1n2"), HasSubstr("column 24: expected a type (f32, bf16)"));
  EXPECT_THAT(refusal("fwd/f32/m1k2"), HasSubstr("column 30: expected 'n', got 'k'"));
  EXPECT_THAT(refusal("fwd/f32/m1n2/relu"), HasSubstr("column 33: Softmax/cpu/onednn has no"));
}

// 3 rows of 4: 3 comparisons, 4 subtractions, 4 exponentials, 3 additions, 4 divisions each.
TEST(SoftmaxWork, IsWorkedByHand) {
  const auto work = workload::WorkOfLogged(Logged(CaseOf("fwd/bf16/m3n4")));
  EXPECT_EQ(work.flops, (std::map<std::string, double>{{"fp32.vector", 3 * 18}}));
  EXPECT_EQ(work.bytes.at(Level::kDram), 2 * (12 + 12));
  EXPECT_EQ(work.launches, 1);
  const auto wide = workload::WorkOfLogged(Logged({{{3, 4}, "f64"}}));
  EXPECT_EQ(wide.flops, (std::map<std::string, double>{{"fp64.vector", 3 * 18}}));
  EXPECT_EQ(wide.bytes.at(Level::kDram), 8 * (12 + 12));
}

TEST(SoftmaxLoops, AreTheDefinition) {
  std::vector<double> y(6);
  RunLoops({{{2, 3}}}, {{0, std::log(2), std::log(5), 1000, 1000, 1000 - std::log(2)}}, y);
  const std::vector<double> expected = {1.0 / 8, 2.0 / 8, 5.0 / 8, 0.4, 0.4, 0.2};
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-13);
  EXPECT_EQ(fakes::Outcome("Softmax/cpu/reference/fwd/f64/m9n33"), "ok plain loops");
}

TEST(SoftmaxCheck, TakesTheRightResultAndFindsOneWrongElement) {
  for (const std::string type : {"f32", "bf16"})
    for (const rows::Rows rows : {rows::Rows{17, 33}, {1, 5000}, {300, 1}, {12000, 1024}})
      fakes::ExpectCheckFindsOneElement(SoftmaxCase{{rows, type}},
                                        [](float& value) { value *= 1.02F; });
}

// A row whose sum lacks the largest of 1024 terms.
TEST(SoftmaxCheck, FindsATermThatTheSumLacks) {
  const SoftmaxCase softmax{{{2, 1024}, "f32"}};
  const auto in = SeededTensors(softmax, 5);
  auto wrong = fakes::RightResult(softmax, in);
  const float lost = *std::max_element(wrong.begin(), wrong.begin() + 1024);
  for (size_t i = 0; i < 1024; ++i) wrong[i] /= 1 - lost;
  EXPECT_FALSE(rows::Check(softmax, in, wrong, 5).ok) << lost;
}

constexpr fakes::ForeignLine kForeignLines[] = {
    {"--softmax 8192x64", "fwd/f32/m8192n64/training"},
    {"--softmax --dir=FWD_I --axis=3 --stag=abx 8x12x128x128", "fwd/f32/m12288n128"},
    {"--softmax --dir=FWD_I --stag=ab --alg=softmax_accurate --mb=5 2x3n\"x\"", "fwd/f32/m5n3"},
    {"--softmax --sdt=bf16 --ddt=bf16 2x3", "fwd/bf16/m2n3/training"},
    {"--softmax --sdt=f32 --ddt=bf16 2x3", "!types f32:bf16"},
    {"--softmax --dir=BWD_D 2x3", "!direction BWD_D"},
    {"--softmax --alg=LOGSOFTMAX 2x3", "!LOGSOFTMAX"},
    {"--softmax --axis=1 2x3x4x5", "!axis 1 of 4 dimensions"},
    {"--softmax --dtag=ba 2x3", "!layout ba"},
    {"--softmax --inplace=true 2x3", "!inplace true"},
    {"--softmax --attr-post-ops=relu 2x3", "!attr-post-ops relu"},
    {"--softmax --axis=2 2147483647x2147483647x2147483647", "!impossible shape"},
};

TEST(SoftmaxBenchdnn, ReadsForeignLinesOrSaysWhyNot) {
  fakes::ExpectBenchmarks(kForeignLines, "Softmax/cpu/onednn/");
}

// Words that are no problem are counted with their reason, and never refuse the file.
TEST(SoftmaxBenchdnn, CountsWhatIsNoProblem) {
  for (const auto* unknown : {"--softmax 10", "--softmax 10x0", "--softmax 10x3q"})
    EXPECT_EQ(fakes::RefusalOf([&] { suites::ReadBenchdnn(unknown, "line"); }), "accepted")
        << unknown;
}

std::string LineOf(const logs::PrimitiveText& text) {
  return benchdnn::BenchdnnLine(logs::ReadPrimitive(text)).value_or("none");
}

TEST(SoftmaxBenchdnn, WritesTheLineOfALoggedCall) {
  EXPECT_EQ(
      workload::MakeWorkload("Softmax/cpu/onednn/fwd/bf16/m3n4").repro,
      "--softmax --mode=P --dir=FWD_I --axis=1 --sdt=bf16 --ddt=bf16 --stag=ab --dtag=ab 3x4");
  EXPECT_FALSE(workload::MakeWorkload("Softmax/cpu/onednn/fwd/f32/m3n4/cold").repro);
  // oneDNN 2 has one tensor for source and destination.
  EXPECT_EQ(LineOf({.kind = "softmax",
                    .prop = "forward_inference",
                    .tensors = "data_bf16::blocked:ba:f0",
                    .auxiliary = "axis:1",
                    .problem = "12x1024"}),
            "--softmax --mode=P --dir=FWD_I --axis=1 --sdt=bf16 --ddt=bf16 --stag=ba --dtag=ba "
            "12x1024");
  EXPECT_THAT(LineOf({.kind = "logsoftmax", .auxiliary = "axis:1", .problem = "1x2"}),
              HasSubstr("--alg=LOGSOFTMAX"));
}

TEST(SoftmaxSuite, HasTheScoresOfItsModels) {
  std::set<std::string> expected = {"m12288n1024", "m12n1024", "m1n50257"};
  for (const int64_t tokens : {128, 384}) expected.insert(ToText(rows::Rows{96 * tokens, tokens}));
  std::set<std::string> found;
  const auto suites = suites::SelectSuites({"softmax"});
  for (const auto& layer : suites.at(0).layers)
    found.insert(workload::ParseBenchmarkName(layer.name).problem);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace dlroof::softmax
