#include "bench/benchdnn/log_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bench/suites/benchdnn_suite.h"
#include "reporters/logs/primitive.h"
#include "tests/fakes/primitives/logs.h"

namespace dlroof::benchdnn {
namespace {

using logs::PrimitiveText;
using logs::ReadPrimitive;

PrimitiveText Conv(const std::string& prop, const std::string& bias) {
  return {.kind = "convolution",
          .prop = prop,
          .tensors = "src:f32::blocked:acdb::f0 wei:f32:a:blocked:Acdb16a::f0 bia:" + bias +
                     "::blocked:a::f0 dst:f32::blocked:acdb::f0",
          .attributes = "attr-scratchpad:user attr-post-ops:eltwise_relu",
          .auxiliary = "alg:convolution_direct",
          .problem = "mb8_ic64oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0"};
}

TEST(BenchdnnLine, ALineForEachDirection) {
  EXPECT_EQ(BenchdnnLine(ReadPrimitive(Conv("forward_inference", "undef"))),
            "--conv --mode=P --dir=FWD_I --stag=acdb --dtag=acdb --attr-post-ops=eltwise_relu "
            "mb8_ic64oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0");
  EXPECT_THAT(BenchdnnLine(ReadPrimitive(Conv("forward_training", "f32"))).value(),
              testing::HasSubstr("--dir=FWD_B "));
  EXPECT_THAT(BenchdnnLine(ReadPrimitive(Conv("backward_weights", "f32"))).value(),
              testing::HasSubstr("--dir=BWD_WB "));
  EXPECT_THAT(BenchdnnLine(ReadPrimitive(Conv("backward_data", "undef"))).value(),
              testing::HasSubstr("--dir=BWD_D "));
}

TEST(BenchdnnLine, OtherDrivers) {
  EXPECT_EQ(BenchdnnLine(ReadPrimitive({.kind = "reorder",
                                        .tensors = "src:f32::blocked:abcd::f0 "
                                                   "dst:bf16::blocked:aBcd8b::f0",
                                        .problem = "8x64x56x56"})),
            "--reorder --mode=P --sdt=f32 --ddt=bf16 --stag=abcd --dtag=aBcd8b 8x64x56x56");
  EXPECT_EQ(
      BenchdnnLine(ReadPrimitive(
          {.kind = "gemm_api",
           .tensors = "src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0",
           .problem = "16x256:256x192"})),
      "--matmul --mode=P --stag=ab --wtag=ab --dtag=ab 16x256:256x192");
  EXPECT_FALSE(BenchdnnLine(ReadPrimitive({.kind = "zero_pad"})));
}

// The calls of a real program that dlroof has as benchmarks.
TEST(BenchdnnLine, BertsCallsAreBenchmarks) {
  std::set<std::string> found;
  for (const auto& text : fakes::FromLog("pt_bert_graph_inf.onednn.log").primitives) {
    const auto line = BenchdnnLine(ReadPrimitive(text));
    if (!line) continue;
    try {
      for (const auto& one : suites::ReadBenchdnn(*line, "line"))
        if (one.name) found.insert(*one.name);
    } catch (const BadInput&) {
      continue;  // a driver that dlroof lacks
    }
  }
  EXPECT_THAT(found,
              testing::IsSupersetOf({"LayerNorm/cpu/onednn/fwd/f32/m512n768/scale/shift",
                                     "Matmul/cpu/onednn/fwd/f32/m128n64k128",
                                     "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/any",
                                     "Matmul/cpu/onednn/fwd/f32/m512n768k768/bias/sum/any",
                                     "Matmul/cpu/onednn/fwd/f32/m512n768k3072/bias/sum/any",
                                     "Matmul/cpu/onednn/fwd/f32/m512n3072k768/bias/gelu_erf/any",
                                     "Softmax/cpu/onednn/fwd/f32/m128n128"}));
}

}  // namespace
}  // namespace dlroof::benchdnn
