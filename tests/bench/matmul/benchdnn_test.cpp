#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "bench/matmul/case.h"
#include "bench/suites/suite.h"
#include "tests/fakes/foreign_lines.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

MatmulCase OnednnCase(const std::string& name) {
  return ReadOnednnMatmulCase(workload::ParseBenchmarkName("Matmul/cpu/onednn/" + name));
}

std::string Line(const std::string& name) { return MatmulBenchdnn(OnednnCase(name)).value_or(""); }

TEST(MatmulBenchdnn, RepeatsTheCallAndLeavesDefaultsOut) {
  EXPECT_EQ(Line("fwd/f32/m128n768k64"),
            "--matmul --mode=P --stag=ab --wtag=ab --dtag=ab 128x64:64x768");
  EXPECT_EQ(Line("fwd/f32/m128n768k64/any"), "--matmul --mode=P 128x64:64x768");
  EXPECT_EQ(Line("fwd/int8/b12m128n64k32_tAtB/bias/relu/scales/fpmath-any"),
            "--matmul --mode=P --dt=u8:s8:u8 --stag=acb --wtag=acb --dtag=abc --bia_dt=f32 "
            "--bia_mask=4 --attr-scales=src:common:0.5+wei:per_oc:0.5+dst:common:0.5 "
            "--attr-post-ops=relu --attr-fpmath=any 12x128x32:12x32x64");
  EXPECT_EQ(Line("fwd/bf16/m2n3k4/bias"),
            "--matmul --mode=P --dt=bf16 --stag=ab --wtag=ab --dtag=ab --bia_dt=bf16 2x4:4x3");
  EXPECT_EQ(Line("fwd/u8s8s32/m2n3k4/scales"),
            "--matmul --mode=P --dt=u8:s8:s32 --stag=ab --wtag=ab --dtag=ab "
            "--attr-scales=src:common:0.5+wei:per_oc:0.5 2x4:4x3");
}

TEST(MatmulBenchdnn, WritesAGradientAsTheProductThatItIs) {
  // dA (2x4) = dC (2x3) B^T (3x4); dB (4x3) = A^T (4x2) dC (2x3)
  EXPECT_EQ(Line("bwd_data/f32/m2n3k4"), "--matmul --mode=P --stag=ab --wtag=ba --dtag=ab 2x3:3x4");
  EXPECT_EQ(Line("bwd_weights/f32/m2n3k4"),
            "--matmul --mode=P --stag=ba --wtag=ab --dtag=ab 4x2:2x3");
  EXPECT_EQ(Line("bwd_weights/bf16f32bf16/m2n3k4"),
            "--matmul --mode=P --dt=bf16:bf16:f32 --stag=ba --wtag=ab --dtag=ab 4x2:2x3");
}

TEST(MatmulBenchdnn, HasInnerProducts) {
  EXPECT_EQ(Line("fwd/f32/m16n1000k2048/ip"), "--ip --mode=P --dir=FWD_I mb16ic2048oc1000");
  EXPECT_EQ(Line("fwd/int8/m2n3k4/ip/training/bias/relu/scales"),
            "--ip --mode=P --dir=FWD_B --dt=u8:s8:u8 "
            "--attr-scales=src:common:0.5+wei:per_oc:0.5+dst:common:0.5 --attr-post-ops=relu "
            "mb2ic4oc3");
  EXPECT_EQ(Line("bwd_data/bf16/m2n3k4/ip"), "--ip --mode=P --dir=BWD_D --dt=bf16 mb2ic4oc3");
  EXPECT_EQ(Line("bwd_weights/f32/m2n3k4/ip/bias"), "--ip --mode=P --dir=BWD_WB mb2ic4oc3");
  EXPECT_EQ(Line("fwd/f32/m2n3k4/ip/bias"), "") << "FWD_I has no bias";
  EXPECT_EQ(Line("bwd_data/int8/m2n3k4/scales"), "");
}

std::string RandomForward(std::mt19937& random) {
  const auto size = [&] { return 1 + random() % 40; };
  const auto of = [&](const std::vector<std::string>& choices) {
    return choices[random() % choices.size()];
  };
  const auto type = of({"f32", "bf16", "f16", "int8", "u8s8s8", "u8s8s32", "u8s8f32", "s8s8s8",
                        "s8s8u8", "s8s8f32", "bf16bf16f32", "f32bf16bf16"});
  const bool ip = random() % 3 == 0;
  const auto order = ip ? "" : of({"", "", "_tA", "_tB", "_tAtB"});
  auto name = fmt::format("fwd/{}/{}m{}n{}k{}{}", type,
                          ip || random() % 2 == 0 ? "" : fmt::format("b{}", 1 + size()), size(),
                          size(), size(), order);
  if (ip) name += of({"/ip", "/ip/training", "/ip/training/bias"});
  if (!ip) name += of({"", "/bias"});
  name += of({"", "/relu"});
  if (type.find("s8") != std::string::npos || type == "int8") name += of({"", "/scales"});
  if (!ip && order.empty()) name += of({"", "/any"});
  return name + of({"", "/fpmath-bf16", "/fpmath-f16", "/fpmath-tf32", "/fpmath-any"});
}

TEST(MatmulBenchdnn, ForwardLinesReadBackAsTheSameBenchmark) {
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    const auto name = RandomForward(random);
    const auto line = Line(name);
    ASSERT_NE(line, "") << name;
    const auto read = suites::ReadBenchdnn(line, "line");
    ASSERT_EQ(read.size(), 1U) << line;
    ASSERT_EQ(read[0].name, "Matmul/cpu/onednn/" + name) << line << ": " << read[0].reason;
  }
}

TEST(MatmulBenchdnn, GradientsReadBackAsTheSameProduct) {
  for (const std::string direction : {"bwd_data", "bwd_weights"})
    for (const std::string order : {"", "_tA", "_tB", "_tAtB"}) {
      const auto matmul = OnednnCase(direction + "/f32/b3m4n5k6" + order);
      const auto read = suites::ReadBenchdnn(MatmulBenchdnn(matmul).value(), "line");
      ASSERT_EQ(read.size(), 1U);
      auto expected = ProductOf(matmul);
      expected.left.matrix = Matrix::kA;
      expected.right.matrix = Matrix::kB;
      expected.result = Matrix::kC;
      EXPECT_EQ(ProductOf(ReadOnednnMatmulCase(workload::ParseBenchmarkName(read[0].name.value()))),
                expected)
          << *read[0].name;
    }
  for (const std::string name : {"bwd_data/f32/m2n3k4/ip", "bwd_weights/bf16/m2n3k4/ip/bias"})
    EXPECT_EQ(suites::ReadBenchdnn(Line(name), "line").at(0).name, "Matmul/cpu/onednn/" + name);
}

// Lines of benchdnn's own inputs (tests/benchdnn/inputs/matmul and ip of oneDNN 3.2), and others.
constexpr fakes::ForeignLine kForeign[] = {
    {"--matmul 12x128x64:12x64x128:12x128x128_n\"encoder:QK_matmul:12\"",
     "fwd/f32/b12m128n128k64/any"},
    {"--matmul --stag=ab --wtag=ba --dtag=ab 10x30:30x20", "fwd/f32/m10n20k30_tB"},
    {"--matmul --stag=abx --wtag=abx --dtag=abx 2x10x30:2x30x20", "fwd/f32/b2m10n20k30"},
    {"--matmul --bia_dt=f32 --bia_mask=4 2x10x30:2x30x20", "fwd/f32/b2m10n20k30/bias/any"},
    {"--matmul --dt=u8:s8:s32 10x30:30x20", "fwd/u8s8s32/m10n20k30/any"},
    {"--matmul --bia_dt=f32 --bia_mask=2 2x10x30:2x30x20", "!bias mask 2"},
    {"--matmul --bia_dt=s8 10x30:30x20", "!bias of type s8"},
    {"--matmul --stag=ab --wtag=any --dtag=ab 10x30:30x20", "fwd/f32/m10n20k30/any"},
    {"--matmul --stag=any --wtag=ab --dtag=ab 10x30:30x20", "!layout any of some matrices"},
    {"--matmul --stag=ab --wtag=ab --dtag=ba 10x30:30x20", "!transposed result"},
    {"--matmul --stag=ab --wtag=BA16a64b2a --dtag=ab 10x30:30x20", "!layout BA16a64b2a"},
    {"--matmul --runtime_dims_masks=3:3 10x30:30x20", "!--runtime-dims-masks=3:3: not supported"},
    {"--matmul --strides=8x1:6x1:7x1 2x4:4x3", "!--strides=8x1:6x1:7x1: not supported"},
    {"--matmul --attr-post-ops=sum:1 10x30:30x20", "fwd/f32/m10n20k30/sum/any"},
    {"--matmul --attr-post-ops=sum+eltwise_gelu_erf --bia_dt=f32 10x30:30x20",
     "fwd/f32/m10n20k30/bias/sum/gelu_erf/any"},
    {"--ip --dir=FWD_I --attr-post-ops=gelu_tanh:0:0 mb4ic8oc3", "fwd/f32/m4n3k8/ip/gelu_tanh"},
    {"--matmul --attr-post-ops=sum:0.5 10x30:30x20", "!post-ops sum:0.5"},
    {"--matmul --attr-post-ops=sum:1:3 10x30:30x20", "!post-ops sum:1:3"},
    {"--matmul --attr-post-ops=gelu_erf+sum 10x30:30x20", "!post-ops gelu_erf+sum"},
    {"--matmul --attr-post-ops=tanh 10x30:30x20", "!post-ops tanh"},
    {"--matmul --dt=u8:s8:u8 --attr-post-ops=sum 10x30:30x20", "!post-ops sum of integers"},
    {"--matmul --attr-zero-points=src:common:1 10x30:30x20",
     "!--attr-zero-points=src:common:1: not supported"},
    {"--matmul --dt=f64 10x30:30x20", "!types f64:f64:f64"},
    {"--matmul 2x3x4x5:2x3x5x6", "!4-D matmul"},
    {"--matmul 1x4x5:3x5x6", "!broadcast batch"},
    {"--matmul 96x8:8x512:96:512", "!result of other sizes"},
    {"--matmul 10x30:30x20:10x30", "!result of other sizes"},
    {"--matmul --encoding=csr+0.5: 10x30:30x20", "!--encoding=csr+0.5:: not supported"},
    {"--matmul 2x4:4x3\"name\"", "fwd/f32/m2n3k4/any"},
    {"--ip ic2048oc1000n\"resnet:ip1\"", "fwd/f32/m2n1000k2048/ip/training/bias"},
    {"--ip --mb=112 --dir=FWD_I ic2048oc1000", "fwd/f32/m112n1000k2048/ip"},
    {"--ip --cfg=u8s8f32 --dir=FWD_I mb4ic8oc3", "fwd/u8s8f32/m4n3k8/ip"},
    {"--ip --cfg=bf16bf16bf16 --dir=BWD_D mb4ic8oc3", "bwd_data/bf16/m4n3k8/ip"},
    {"--ip mb16ic256ih6oc4096", "!inner product of images"},
    {"--ip --wtag=ba mb16ic256oc4096", "!--wtag=ba: not supported"},
    {"--ip --dir=BWD_DW mb16ic256oc4096", "!--dir=BWD_DW: not supported"},
};

TEST(MatmulBenchdnn, ReadsForeignLinesOrGivesTheReason) {
  fakes::ExpectBenchmarks(kForeign, "Matmul/cpu/onednn/");
}

std::string BenchdnnReason(const std::string& line) {
  return suites::ReadBenchdnn(line, "line").at(0).reason;
}

TEST(MatmulBenchdnn, WhatIsNoProblemHasAReason) {
  EXPECT_THAT(BenchdnnReason("--matmul 10x30"), HasSubstr("expected MxK:KxN"));
  EXPECT_THAT(BenchdnnReason("--matmul 10x30:20x20"), HasSubstr("the factors do not match"));
  EXPECT_THAT(BenchdnnReason("--matmul 10x:30x20"), HasSubstr("expected a size"));
  EXPECT_THAT(BenchdnnReason("--matmul 10x0:0x20"), HasSubstr("expected a size"));
  EXPECT_THAT(BenchdnnReason("--matmul 2x10x30:30x20"), HasSubstr("the same number of dimensions"));
  EXPECT_THAT(BenchdnnReason("--matmul 10x30:30x20q"), HasSubstr("expected the name"));
  EXPECT_THAT(BenchdnnReason("--matmul --dir=FWD_I 1x1:1x1"),
              HasSubstr("benchdnn's driver matmul"));
  EXPECT_THAT(BenchdnnReason("--ip ic3"), HasSubstr("this problem lacks oc"));
}

}  // namespace
}  // namespace dlroof::matmul
