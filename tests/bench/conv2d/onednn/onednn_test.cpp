#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "bench/workload/workload.h"
#include "tests/fakes/outcome.h"

namespace dlroof::conv2d {
namespace {

using testing::HasSubstr;

// Small problems, each with a property that is easy to get wrong.
constexpr std::string_view kProblems[] = {
    "n2c16h10w10k16r3s3_p1",         // usual
    "n2c3h11w13k5r5s3_s2p2x1",       // odd channels, different height and width
    "n1c8h9w12k6r2s3_s2x1p0:1x2:0",  // padding and strides differ at every side
    "n2c8h12w12k8r3s3_p2d2",         // dilation
    "n1c4h10w9k4r3s2_p1d1x2",        // dilation in one direction
    "n2c12h8w8k18r3s3_p1g3",         // groups of unequal width
    "n2c16h9w9k16r3s3_s2p1g16",      // depthwise
    "n3c32h7w7k48r1s1",              // 1x1
    "n1c1h1w1k1r1s1",                // the smallest problem
    "n1c64h20w20k64r3s3_s3p1",       // no filter uses the last rows
};

TEST(Conv2dOnednn, AgreesWithTheReference) {
  for (const auto* direction : {"fwd", "bwd_data", "bwd_weights"})
    for (const auto* type : {"f32", "bf16", "f16", "int8"})
      for (const auto problem : kProblems)
        fakes::ExpectAgrees(fmt::format("Conv2D/cpu/onednn/{}/{}/{}", direction, type, problem),
                            type);
}

// Direction, type and options, with @ for the problem.
TEST(Conv2dOnednn, VariantsAgreeWithTheReference) {
  const std::string variants =
      "fwd/f32/@/training fwd/f32/@/bias fwd/f32/@/training/bias fwd/f32/@/relu "
      "fwd/f32/@/bias/relu fwd/f32/@/nchw fwd/f32/@/nhwc bwd_data/f32/@/nhwc "
      "bwd_weights/f32/@/nchw bwd_weights/f32/@/bias bwd_weights/f32/@/bias/nhwc fwd/f32/@/auto "
      "fwd/f32/@/fpmath-bf16 fwd/f32/@/fpmath-any bwd_weights/f32/@/fpmath-tf32 fwd/int8/@/scales "
      "fwd/int8/@/bias fwd/int8/@/bias/relu/scales fwd/u8s8s8/@/bias/relu fwd/s8s8f32/@ "
      "fwd/s8s8f32/@/relu/scales fwd/s8s8s8/@ fwd/s8s8u8/@/bias/scales fwd/u8s8s32/@ "
      "fwd/bf16/@/bias/relu fwd/bf16bf16f32/@ bwd_data/f32bf16bf16/@ "
      "bwd_weights/bf16f32bf16/@/bias";
  const int ran = fakes::ExpectVariantsAgree("Conv2D/cpu/onednn/", variants,
                                             {"n2c16h10w10k16r3s3_p1", "n2c3h11w13k5r5s3_s2p2x1",
                                              "n2c12h8w8k18r3s3_p1g3", "n2c16h9w9k16r3s3_s2p1g16"});
  EXPECT_GE(ran, 60);
}

TEST(Conv3dOnednn, AgreesWithTheReference) {
  const std::string variants =
      "fwd/f32/@ fwd/f32/@/training/bias/relu fwd/bf16/@ fwd/f16/@ fwd/int8/@ "
      "fwd/int8/@/bias/relu/scales bwd_data/f32/@ bwd_data/bf16/@ bwd_weights/f32/@/bias "
      "bwd_weights/bf16/@";
  const int ran = fakes::ExpectVariantsAgree(
      "Conv3D/cpu/onednn/", variants,
      {"n2c16d5h10w10k16t3r3s3_p1", "n1c3d4h11w13k5t2r5s3_s1x2x2p0x2x1",
       "n1c8d6h7w5k12t3r3s1_p2:0x1:1x0:0", "n2c12d5h8w8k18t3r1s3_s2p1d2x1x1g3"});
  EXPECT_GE(ran, 24);
}

TEST(Conv2dOnednn, WhatTheLibraryLacksIsSaidInItsWords) {
  const auto outcome = fakes::Outcome("Conv2D/cpu/onednn/fwd/f32/n1c16h8w8k16r3s3_p1/winograd", 1);
  if (outcome.starts_with("ok ")) GTEST_SKIP() << "this oneDNN has Winograd convolutions";
  EXPECT_THAT(outcome, testing::AllOf(testing::StartsWith("unsupported: oneDNN 3."),
                                      HasSubstr("primitive descriptor")));
}

TEST(Conv2dOnednn, SaysHowBenchdnnRepeatsItWhereItsTensorsLieAndWhatCannotRun) {
  const std::string name = "Conv2D/cpu/onednn/fwd/f32/n2c16h10w10k16r3s3_p1/training/bias";
  const auto line = workload::MakeWorkload(name).repro.value();
  EXPECT_THAT(line, HasSubstr("mb2ic16ih10"));
  EXPECT_EQ(workload::MakeWorkload(name + "/threads2").repro, line)
      << "threads are the environment's";
  EXPECT_FALSE(workload::MakeWorkload(name + "/cold").repro) << "benchdnn would time a warm call";
  const auto call = fakes::Prepared("Conv2D/cpu/onednn/fwd/f32/n2c16h10w10k16r3s3_p1/bias/nchw");
  const auto [weights, rest] = fakes::BytesOf(call);
  EXPECT_EQ(rest, 4 * (3200 + 3200));   // source and destination, plain
  EXPECT_GE(weights, 4 * (2304 + 16));  // the library may pad its own layout
  EXPECT_LE(weights, 8 * (2304 + 16));
  EXPECT_THAT(fakes::Outcome("Conv2D/cpu/onednn/bwd_data/int8/n1c1h1w1k1r1s1", 1),
              HasSubstr("no backward pass"));
  EXPECT_THAT(fakes::Outcome("Conv2D/cpu/onednn/fwd/f32/n2147483647c64h64w64k64r1s1", 1),
              HasSubstr("GB of memory"));
}

TEST(Conv2dOnednn, OnFoldedTensorsItRunsTheSameKernelAndLeavesItsOwnAlone) {
  for (const auto* name : {"Conv2D/cpu/onednn/fwd/f32/n2c64h56w56k64r3s3_p1",
                           "Conv2D/cpu/onednn/bwd_data/f32/n2c64h56w56k64r3s3_p1",
                           "Conv2D/cpu/onednn/bwd_weights/f32/n2c64h56w56k64r3s3_p1"}) {
    const auto call = fakes::Prepared(name);
    ASSERT_TRUE(call.explain.folded) << name;
    for (const double bytes : {64e3, std::numeric_limits<double>::infinity()}) {
      const auto folded = call.explain.folded(bytes);
      EXPECT_EQ(folded.algorithm, call.algorithm);
      folded.run();
    }
    call.run();
    EXPECT_TRUE(call.verify().ok) << name;
  }
}

}  // namespace
}  // namespace dlroof::conv2d
