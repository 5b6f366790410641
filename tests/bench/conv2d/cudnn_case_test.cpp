#include "bench/conv2d/cudnn_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/workload/workload.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cudnn {
namespace {

using testing::HasSubstr;

CudnnConv2dCase Read(const std::string& rest) {
  return ReadCudnnConv2dCase(ParseBenchmarkName("Conv2D/gpu/cudnn/" + rest));
}

std::string CudnnRefusal(const std::string& rest) {
  return RefusalOf([&] { Read(rest); });
}

TEST(ReadCudnnConv2dCase, ChannelsLastAndTheHeuristicAreTheDefault) {
  const auto plain = Read("fwd/f16/n1c8h8w8k8r3s3");
  EXPECT_EQ(plain.conv.layout, Conv2dLayout::kNhwc);
  EXPECT_EQ(plain.choice, EngineChoice::kHeuristic);
  EXPECT_EQ(plain.conv.types, (ProductTypes{"f16", "f16", "f16"}));
  EXPECT_TRUE(plain.conv.fpmath.empty());
  const auto asked = Read("fwd/f16/n1c8h8w8k8r3s3/bias/relu/nchw/best");
  EXPECT_EQ(asked.conv.layout, Conv2dLayout::kNchw);
  EXPECT_EQ(asked.choice, EngineChoice::kBest);
  EXPECT_TRUE(asked.conv.bias && asked.conv.relu);
}

TEST(ReadCudnnConv2dCase, AnEngineHasANumber) {
  const auto numbered = Read("bwd_data/f32/n1c8h8w8k8r3s3/nchw/engine62");
  EXPECT_EQ(numbered.choice, EngineChoice::kNumbered);
  EXPECT_EQ(numbered.engine, 62);
  EXPECT_EQ(Read("fwd/f32/n1c8h8w8k8r3s3/engine0").engine, 0);
  // "Conv2D/gpu/cudnn/fwd/f32/n1c8h8w8k8r3s3/" is 40 characters, "engine" 6 more.
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engine"), HasSubstr("column 47: "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engine7x"), HasSubstr("column 48: "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engine07"), HasSubstr("column "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/engineN"), HasSubstr("column "));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/best/engine7"), HasSubstr("column 41: 'best' "));
}

TEST(ReadCudnnConv2dCase, Tf32IsF32StoredAndLessMultiplied) {
  const auto one = Read("bwd_weights/tf32/n1c8h8w8k8r3s3").conv;
  EXPECT_EQ(one.types, (ProductTypes{"f32", "f32", "f32"}));
  EXPECT_EQ(one.type, "tf32");
  EXPECT_EQ(one.fpmath, "tf32-truncated");
}

TEST(ReadCudnnConv2dCase, RefusesWhatCannotBe) {
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/nhwc"), HasSubstr("has no option 'nhwc'"));
  EXPECT_THAT(CudnnRefusal("bwd_weights/f32/n1c8h8w8k8r3s3/bias"),
              HasSubstr("'bias' is fused into fwd alone"));
  EXPECT_THAT(CudnnRefusal("bwd_data/f32/n1c8h8w8k8r3s3/bias"), HasSubstr("'bias' "));
  EXPECT_THAT(CudnnRefusal("bwd_data/f32/n1c8h8w8k8r3s3/relu"), HasSubstr("'relu' "));
  EXPECT_THAT(CudnnRefusal("fwd/f64/n1c8h8w8k8r3s3"), HasSubstr("expected a type (f32, tf32, f16"));
  EXPECT_THAT(CudnnRefusal("fwd/f32/n1c8h8w8k8r3s3/training"), HasSubstr("no option 'training'"));
  EXPECT_EQ(CudnnRefusal("fwd/s8s8s8/n1c8h8w8k8r3s3"), "accepted");
  EXPECT_EQ(CudnnRefusal("fwd/fp8/n1c16h8w8k16r3s3/best"), "accepted");
}

// In a program that has not opened the CUDA module.
TEST(MakeWorkload, ReadsTheNamesOfCudnnWithoutCuda) {
  for (const auto& cell : AllCells())
    if (cell.library == "cudnn" && cell.prepare)
      GTEST_SKIP() << "another test opened a module in this process";
  const auto workload =
      MakeWorkload("Conv2D/gpu/cudnn/fwd/f16/n16c64h112w112k64r3s3_s2p1/best/cold");
  EXPECT_EQ(workload.cache, CacheState::kCold);
  EXPECT_THROW(workload.prepare({}), Unsupported);
  EXPECT_THROW(MakeWorkload("LSTM/gpu/cudnn/bwd/tf32/t16n16i32h64/persist-static").prepare({}),
               Unsupported);
  EXPECT_THROW(MakeWorkload("Conv2D/gpu/cudnn/fwd/f16/n16"), BadInput);
  EXPECT_THROW(MakeWorkload("Conv2D/gpu/cudnn/fwd/f16/n1c8h8w8k8r3s3/nhwc"), BadInput);
  EXPECT_THROW(MakeWorkload("LSTM/gpu/cudnn/fwd/f16/t1n1i1h1"), BadInput);
}

}  // namespace
}  // namespace dlroof::cudnn
