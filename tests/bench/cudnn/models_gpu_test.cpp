// What models are made of, by cuDNN on a GPU: every result is compared with sums in double.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <tuple>
#include <vector>

#include "bench/cudnn/support.h"
#include "counters/cuda/device.h"
#include "tests/fakes/no_gpu.h"
#include "tests/fakes/outcome.h"

namespace dlroof {
namespace {

class ModelsOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const auto status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0)
      GTEST_SKIP() << fakes::NeedsGpu(std::string("no GPU here: ") + cudaGetErrorString(status));
    if (cuda::ComputeCapability() < 80)
      GTEST_SKIP() << fakes::NeedsGpu("cuDNN's attention needs a GPU of 8.0");
  }

  static void ExpectRight(const std::string& name) {
    EXPECT_THAT(fakes::Outcome(name), testing::StartsWith("ok ")) << name;
  }
};

TEST_F(ModelsOnGpu, AttentionAgreesWithTheLoops) {
  std::vector<std::string> names = {"fwd/f16/b2h8q1k1000d128_kv2/page16",
                                    "fwd/bf16/b2h8q64k1000d128_kv2br/page128",
                                    "fwd/f16/b2h8q1k1000d128_l3:1000/training/page64"};
  if (cuda::ComputeCapability() >= 90)
    names.insert(names.end(), {"fwd/fp8/b2h8q512k512d128_kv2", "fwd/fp8/b2h8q512k512d128_tl",
                               "fwd/fp8/b2h8q512k512d128_l100:512"});
  for (const std::string mask :
       {"b2h8q512k512d128", "b2h8q512k512d128_kv2tl", "b2h8q512k512d128_kv1w128tl",
        "b2h8q128k512d128_br", "b2h8q128k512d64_kv2w100br", "b2h8q500k500d128_l100:500",
        "b2h8q100k300d64_l101:300br", "b2h8q1k1000d128_kv2", "b2h8q1k1000d128_kv2l10:1000"})
    for (const auto* way : {"fwd/f16/", "fwd/bf16/", "bwd/f16/", "bwd/bf16/"})
      names.push_back(way + mask);
  for (const auto& name : names) ExpectRight("Attention/gpu/cudnn/" + name);
}

TEST_F(ModelsOnGpu, ConvolutionsOfVolumesAgreeWithTheLoops) {
  for (const auto* problem : {"n1c64d5h16w16k96t3r3s3_p2:0x1:1x1:1", "n2c64d8h14w14k128t3r3s3_s2p1",
                              "n1c64d6h9w11k64t3r1s1_p1x0x0g2"})
    for (const auto* way :
         {"fwd/f16/{}", "fwd/bf16/{}/bias", "bwd_data/bf16/{}", "bwd_weights/f16/{}"})
      ExpectRight("Conv3D/gpu/cudnn/" + fmt::format(fmt::runtime(way), problem));
}

TEST_F(ModelsOnGpu, GroupedProductsAgreeWithTheLoops) {
  for (const std::string problem :
       {"g8m64n128k256", "g8m20n64k32_zipf7", "g128m16n768k2048", "g16m256n48k64_zipf1"})
    for (const std::string type : {"f32", "tf32", "f16", "bf16"})
      ExpectRight("GroupedMatmul/gpu/cublaslt/fwd/" + type + "/" + problem);
  for (const std::string problem : {"g8m64n128k256", "g128m16n768k2048", "g16m256n48k64_zipf1"})
    for (const std::string type : {"f16", "bf16"})
      ExpectRight("GroupedMatmul/gpu/cudnn/fwd/" + type + "/" + problem);
}

TEST_F(ModelsOnGpu, ScaledProductsAgreeWithTheLoops) {
  const int capability = cuda::ComputeCapability();
  if (capability < 89) GTEST_SKIP() << fakes::NeedsGpu("fp8 products need a GPU of 8.9");
  for (const std::string problem : {"m64n256k512_tB", "m1000n1024k1040_tB", "m4096n2112k7168_tB"})
    for (const auto& [type, scales, first, last] : {std::tuple("e4m3e4m3bf16", "", 89, 999),
                                                    {"e4m3e4m3bf16", "/scales-tensor", 89, 999},
                                                    {"e4m3e4m3bf16", "/scales-rows", 90, 90},
                                                    {"e4m3e4m3bf16", "/scales-blocks", 90, 90},
                                                    {"e4m3e4m3bf16", "/scales-mx", 100, 999},
                                                    {"e2m1e2m1bf16", "/scales-nv", 100, 999}}) {
      const auto name = fmt::format("Matmul/gpu/cublaslt/fwd/{}/{}{}", type, problem, scales);
      const bool exists = capability >= first && capability <= last;
      EXPECT_THAT(fakes::Outcome(name), testing::StartsWith(exists ? "ok " : "unsupported: "))
          << name;
    }
}

TEST_F(ModelsOnGpu, RowsAgreeWithTheLoops) {
  for (const std::string type : {"f32", "f16"})
    for (const std::string rows : {"m64n768", "m1000n1000", "m2048n4096"})
      for (const auto& [op, options] : {std::pair("Softmax", ""),
                                        {"LayerNorm", "/training/scale/shift"},
                                        {"RmsNorm", "/scale"},
                                        {"SwiGlu", ""},
                                        {"Eltwise", "/gelu_tanh"},
                                        {"Eltwise", "/gelu_erf"}})
        ExpectRight(fmt::format("{}/gpu/cudnn/fwd/{}/{}{}", op, type, rows, options));
  for (const std::string type : {"f32", "bf16"})
    for (const auto* call : {"LayerNorm/gpu/cudnn/bwd/{}/m1000n1024/scale/shift",
                             "RmsNorm/gpu/cudnn/bwd/{}/m1000n1024/scale"})
      ExpectRight(fmt::format(fmt::runtime(call), type));
  ExpectRight("RmsNorm/gpu/cudnn/fwd/bf16/m2048n4096/residual/scale");
}

}  // namespace
}  // namespace dlroof
