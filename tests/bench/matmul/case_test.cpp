#include "bench/matmul/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/refusal.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

std::string ProblemRefusal(std::string_view text) {
  return fakes::RefusalOf([&] { ParseMatmul(text, 10); });
}

TEST(MatmulProblem, ReadsWhatItWrites) {
  std::mt19937 random(1);
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 3000); };
  for (int i = 0; i < 2000; ++i) {
    const MatmulProblem problem{i % 2 == 0 ? 1 : size(), size(),           size(), size(),
                                random() % 2 == 0,       random() % 2 == 0};
    ASSERT_EQ(ParseMatmul(ToText(problem)), problem) << ToText(problem);
  }
  EXPECT_EQ(ToText(MatmulProblem{12, 128, 64, 128, false, true}), "b12m128n64k128_tB");
  EXPECT_EQ(ToText(MatmulProblem{1, 1, 2, 3, true, true}), "m1n2k3_tAtB");
}

TEST(MatmulProblem, RefusesWithTheColumn) {
  EXPECT_EQ(ProblemRefusal("m1n2k3"), "accepted");
  EXPECT_THAT(ProblemRefusal("n2m1k3"), HasSubstr("column 11: expected 'm', got 'n'"));
  EXPECT_THAT(ProblemRefusal("m1n2"), HasSubstr("column 15: expected 'k', got the end"));
  EXPECT_THAT(ProblemRefusal("m1n0k3"), HasSubstr("column 14: expected the size n"));
  EXPECT_THAT(ProblemRefusal("m1n02k3"), HasSubstr("column 14"));
  EXPECT_THAT(ProblemRefusal("b1m1n2k3"),
              HasSubstr("column 12: expected a batch, an integer from 2"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_"), HasSubstr("column 18: expected tA, tB or tAtB"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_tBtA"), HasSubstr("column 20: expected the end, got 't'"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_tAx"), HasSubstr("column 20: expected the end or tB"));
  EXPECT_THAT(ProblemRefusal("m1n2k3x"), HasSubstr("column 17"));
  EXPECT_THAT(ProblemRefusal("m2147483648n1k1"), HasSubstr("column 12"));
}

TEST(MatmulProblem, RefusesWhatLeaves64Bits) {
  EXPECT_THAT(ProblemRefusal("b2147483647m2147483647n1k2147483647"), HasSubstr("A's size in byte"));
  EXPECT_THAT(ProblemRefusal("m2147483647n2147483647k2147483647"), HasSubstr("A's size in byte"));
  EXPECT_THAT(ProblemRefusal("m1000000000n1000000000k1000000000"), HasSubstr("column 11: "));
  EXPECT_THAT(ProblemRefusal("m500000000n500000000k500000000"), HasSubstr("column 11: "));
}

TEST(MatmulProblem, CountsByClosedForm) {
  const auto problem = ParseMatmul("b5m2n3k4");
  EXPECT_EQ(CountA(problem), 5 * 2 * 4);
  EXPECT_EQ(CountB(problem), 5 * 4 * 3);
  EXPECT_EQ(CountC(problem), 5 * 2 * 3);
  EXPECT_EQ(Flops(problem), 2 * 5 * 2 * 3 * 4);
}

}  // namespace
namespace {

using testing::HasSubstr;

MatmulCase Case(const std::string& name) {
  return ReadMatmulCase(workload::ParseBenchmarkName("Matmul/cpu/onednn/" + name),
                        {{"f32", "bf16", "f16", "int8"}, true, MatmulOptions()});
}

std::string Refusal(const std::string& name) {
  return fakes::RefusalOf([&] { Case(name); });
}

TEST(MatmulCase, ReadsEveryOption) {
  const auto one = Case("fwd/u8s8f32/m1n2k3/ip/training/bias/relu/scales/fpmath-bf16");
  EXPECT_TRUE(one.ip && one.training && one.bias && one.eltwise == workload::Eltwise::kRelu &&
              one.scales && !one.any);
  EXPECT_EQ(one.types, (products::ProductTypes{"u8", "s8", "f32"}));
  EXPECT_EQ(one.fpmath, "bf16");
  EXPECT_TRUE(Case("fwd/f32/m1n2k3/any").any);
  const auto fused = Case("fwd/bf16/m1n2k3/bias/sum/gelu_tanh");
  EXPECT_TRUE(fused.sum && fused.eltwise == workload::Eltwise::kGeluTanh);
  const auto plain = Case("bwd_data/f32/m1n2k3");
  EXPECT_FALSE(plain.ip || plain.training || plain.bias || plain.sum || plain.eltwise ||
               plain.scales || plain.any);
}

TEST(MatmulCase, RefusalsCountColumnsInTheWholeName) {
  // Matmul/cpu/onednn/ is 18 characters long.
  EXPECT_EQ(Refusal("fwd/f32/m1n2k3"), "accepted");
  EXPECT_THAT(Refusal("bwd/f32/m1n2k3"), HasSubstr("column 19: expected a direction"));
  EXPECT_THAT(Refusal("fwd/f8/m1n2k3"), HasSubstr("column 23: expected a type (f32, bf16, f16, "));
  EXPECT_THAT(Refusal("fwd/u8s8u8/m1n2k3"), HasSubstr("column 23"));  // int8 is its name
  EXPECT_THAT(Refusal("fwd/f32/m1n2"), HasSubstr("column 31: expected 'k', got the end"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/nhwc"),
              HasSubstr("column 34: Matmul/cpu/onednn has no option 'nhwc'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/relu/bias"), HasSubstr("column 39: 'bias' cannot come"));
}

TEST(MatmulCase, RefusesWhatAVariantCannotHave) {
  EXPECT_THAT(Refusal("fwd/f32/b2m1n2k3/ip"), HasSubstr("column 36: 'ip'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3_tB/ip"), HasSubstr("'ip'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/training"), HasSubstr("'training'"));
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/ip/training"), HasSubstr("'training'"));
  EXPECT_THAT(Refusal("bwd_weights/f32/m1n2k3/bias"), HasSubstr("'bias'"));
  EXPECT_EQ(Refusal("bwd_weights/f32/m1n2k3/ip/bias"), "accepted");
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/ip/bias"), HasSubstr("'bias'"));
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/relu"), HasSubstr("'relu'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/scales"), HasSubstr("'scales'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3/ip/any"), HasSubstr("'any'"));
  EXPECT_THAT(Refusal("fwd/f32/m1n2k3_tA/any"), HasSubstr("'any'"));
  EXPECT_THAT(Refusal("bwd_data/f32/m1n2k3/any"), HasSubstr("'any'"));
}

TEST(MatmulTypes, SayWhatEachMatrixStores) {
  const products::ProductTypes mix{"f32", "bf16", "f16"};
  EXPECT_EQ(TypeOf(mix, Matrix::kA), "f32");
  EXPECT_EQ(TypeOf(mix, Matrix::kB), "bf16");
  EXPECT_EQ(TypeOf(mix, Matrix::kC), "f16");
}

TEST(MatmulWork, CountsFlopsAndEachMatrixOnce) {
  const auto work = products::ProductWork(Case("fwd/bf16/b2m3n4k5"), "bf16.matrix");
  EXPECT_EQ(work.flops, (std::map<std::string, double>{{"bf16.matrix", 2 * 2 * 3 * 4 * 5}}));
  EXPECT_EQ(work.bytes.at(Level::kDram), 2 * 2 * (3 * 5 + 5 * 4 + 3 * 4));
  EXPECT_EQ(work.launches, 1);
}

TEST(MatmulWork, AddsWhatBiasAndReluDo) {
  const auto work = products::ProductWork(Case("fwd/u8s8f32/m3n4k5/bias/relu"), "int8.vector");
  EXPECT_EQ(work.flops, (std::map<std::string, double>{{"int8.vector", 2 * 3 * 4 * 5},
                                                       {"fp32.vector", 2 * 3 * 4}}));
  EXPECT_EQ(work.parts.at("elementwise"), 2 * 3 * 4);
  // A byte each of A and B, four of C and of four bias values.
  EXPECT_EQ(work.bytes.at(Level::kDram), 15 + 20 + 4 * 12 + 4 * 4);
}

}  // namespace
}  // namespace dlroof::matmul
