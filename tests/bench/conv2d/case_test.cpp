#include "bench/conv2d/case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::conv2d {
namespace {

using testing::HasSubstr;

Conv2dCase Case(const std::string& name) {
  return ReadConv2dCase(workload::ParseBenchmarkName("Conv2D/cpu/onednn/" + name),
                        {{"f32", "bf16", "f16", "int8"}, true, Conv2dOptions()});
}

std::string CaseRefusal(const std::string& name) {
  return fakes::RefusalOf([&] { Case(name); });
}

void CaseRefuses(const std::string& name, const std::string& why) {
  EXPECT_THAT(CaseRefusal(name), HasSubstr(why)) << name;
}

TEST(Conv2dCase, ReadsEveryOption) {
  const auto one = Case("fwd/u8s8f32/n1c1h8w8k1r3s3/training/bias/relu/scales/nhwc/auto");
  EXPECT_TRUE(one.training && one.bias && one.relu && one.scales);
  EXPECT_EQ(one.layout, Conv2dLayout::kNhwc);
  EXPECT_EQ(one.algorithm, Conv2dAlgorithm::kAuto);
  EXPECT_EQ(one.types, (products::ProductTypes{"u8", "s8", "f32"}));
  const auto plain = Case("bwd_data/f32/n1c1h8w8k1r3s3");
  EXPECT_FALSE(plain.training || plain.bias || plain.relu || plain.scales);
  EXPECT_EQ(plain.layout, Conv2dLayout::kAny);
  EXPECT_EQ(plain.algorithm, Conv2dAlgorithm::kDirect);
  EXPECT_EQ(plain.fpmath, "");
  EXPECT_EQ(Case("fwd/f32/n1c1h8w8k1r3s3/nchw/winograd/fpmath-tf32").fpmath, "tf32");
}

TEST(Conv2dCase, RefusalsCountColumnsInTheWholeName) {
  // Conv2D/cpu/onednn/ is 18 characters long.
  EXPECT_EQ(CaseRefusal("fwd/f32/n1c1h8w8k1r3s3"), "accepted");
  CaseRefuses("bwd/f32/n1c1h8w8k1r3s3", "column 19: expected a direction");
  CaseRefuses("fwd/f8/n1c1h8w8k1r3s3",
              "column 23: expected a type (f32, bf16, f16, int8, or a mix such as "
              "u8s8f32), got 'f8'");
  CaseRefuses("fwd/f32/n1c1h8w8k1r3s3_q", "column 42");
  CaseRefuses("fwd/f32/n1c1h8w8k1r3s3/hot", "column 42: Conv2D/cpu/onednn has no option 'hot'");
  CaseRefuses("fwd/f32/n1c1h8w8k1r3s3/bias/bias", "column 47");
  CaseRefuses("fwd/f32/n1c1h8w8k1r3s3/relu/bias", "column 47");
  CaseRefuses("fwd/f32/n1c1h8w8k1r3s3/nchw/nhwc", "column 47");
}

TEST(Conv2dCase, RefusesWhatADirectionOrATypeCannotHave) {
  CaseRefuses("bwd_data/f32/n1c1h8w8k1r3s3/bias", "column 47: 'bias'");
  EXPECT_EQ(CaseRefusal("bwd_weights/f32/n1c1h8w8k1r3s3/bias"), "accepted");
  CaseRefuses("bwd_weights/f32/n1c1h8w8k1r3s3/training", "'training'");
  CaseRefuses("bwd_weights/f32/n1c1h8w8k1r3s3/bias/relu", "column 55: 'relu'");
  CaseRefuses("fwd/bf16/n1c1h8w8k1r3s3/scales", "'scales'");
}

// 2 images of 4 channels 5x6, 6 filters 3x2 in 2 groups, stride 2, one more row below and one more
// column on the right: P = (6-3)/2+1 = 2, Q = (7-2)/2+1 = 3; source 2*4*5*6 = 240, weights
// 6*2*3*2 = 72, destination 2*6*2*3 = 72 elements.
constexpr const char* kProblem = "n2c4h5w6k6r3s2_s2p0:1x0:1g2";

TEST(Conv2dWork, CountsDenseFlopsAndEachTensorOnce) {
  const auto one = Case(std::string("fwd/bf16/") + kProblem);
  EXPECT_EQ(delta::OutputRows(one.problem), 2);
  EXPECT_EQ(delta::OutputColumns(one.problem), 3);
  const auto work = products::ProductWork(one, "bf16.matrix");
  // 2 * N K P Q (C/g) R S = 2 * 2*6*2*3 * 2*3*2 = 1728
  EXPECT_EQ(work.flops, (std::map<std::string, double>{{"bf16.matrix", 1728}}));
  EXPECT_EQ(work.parts, (std::map<std::string, double>{{"matrix", 1728}}));
  EXPECT_EQ(work.launches, 1);
  EXPECT_EQ(work.bytes.at(Level::kDram), 2 * (240 + 72 + 72));
}

TEST(Conv2dWork, AddsWhatBiasAndReluDo) {
  const auto work =
      products::ProductWork(Case(std::string("fwd/u8s8f32/") + kProblem + "/bias/relu"), "int8.vector");
  EXPECT_EQ(work.flops,
            (std::map<std::string, double>{{"int8.vector", 1728}, {"fp32.vector", 2 * 72}}));
  EXPECT_EQ(work.parts.at("elementwise"), 2 * 72);
  // One byte each for source and weights, four for the destination and for six bias values.
  EXPECT_EQ(work.bytes.at(Level::kDram), 240 + 72 + 4 * 72 + 4 * 6);
  const auto same_pipe =
      products::ProductWork(Case(std::string("bwd_weights/f32/") + kProblem + "/bias"), "fp32.vector");
  EXPECT_EQ(same_pipe.flops, (std::map<std::string, double>{{"fp32.vector", 1728 + 72}}));
}

}  // namespace
}  // namespace dlroof::conv2d
