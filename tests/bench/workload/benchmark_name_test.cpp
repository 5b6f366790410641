#include "bench/workload/benchmark_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof {
namespace {

std::string NameRefusal(const std::string& text) {
  return RefusalOf([&] { ParseBenchmarkName(text); });
}

TEST(BenchmarkName, TextAndPartsAreInverse) {
  for (const std::string text : {"Conv2D/cpu/onednn/fwd/f32/n16c64h112w112k64r3s3_s2p1",
                                 "LSTM/gpu/cudnn/fwd_training/bf16/t16n16i32h64/cold/nhwc"})
    EXPECT_EQ(ToText(ParseBenchmarkName(text)), text);
  const auto name = ParseBenchmarkName("LSTM/cpu/onednn/bwd/f32/t1n1i1h1/cold");
  EXPECT_EQ(name.direction, "bwd");
  EXPECT_THAT(name.options, testing::ElementsAre("cold"));
}

TEST(BenchmarkName, RefusalsNameTheColumn) {
  EXPECT_THAT(NameRefusal("LSTM/cpu/onednn"), testing::HasSubstr("column 16"));
  EXPECT_THAT(NameRefusal("LSTM//onednn/bwd/f32/t1"), testing::HasSubstr("column 6"));
  EXPECT_THAT(NameRefusal("LSTM/cpu/onednn/bwd/f32/"), testing::HasSubstr("column 25"));
  EXPECT_THAT(NameRefusal("LSTM/c pu/onednn/bwd/f32/t1"), testing::HasSubstr("column 7"));
}

}  // namespace
}  // namespace dlroof
