#include "bench/conv2d/gpu_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::conv2d {
namespace {

using testing::HasSubstr;

struct Modelled {
  std::map<Level, double> bytes;
  std::string how;
};
Modelled OnH200(const std::string& type, const std::string& algorithm) {
  const auto name =
      workload::ParseBenchmarkName("Conv2D/gpu/cudnn/fwd/" + type + "/n16c64h56w56k64r3s3_p1");
  const auto model = DeltaModel(name, algorithm, "NVIDIA H200");
  Modelled modelled;
  if (model) modelled.bytes = model(modelled.how).bytes;
  return modelled;
}

TEST(BuiltInGpuOf, KnowsWhatDriversCallThem) {
  EXPECT_EQ(BuiltInGpuOf("NVIDIA H200 NVL"), "h200");
  EXPECT_EQ(BuiltInGpuOf("NVIDIA TITAN Xp"), "titan_xp");
  EXPECT_FALSE(BuiltInGpuOf("NVIDIA GeForce RTX 4090"));
}

// cuDNN's engine, as a record has it, and the name of its kernel.
constexpr const char* kKnobs =
    "engine 62 (tile_size 1, tilek 0, idx_mode 0, workspace 1, tile_cga_m 8, tile_cga_n 1), "
    "tensor_core, workspace 131 B: first of heuristic A, 42 proposed";
constexpr const char* kKernel = "sm90_xmma_fprop_implicit_gemm_nhwc_tilesize128x64x64_execute";

TEST(DeltaModel, PredictsCudnnsIntegerConvolutions) {
  const auto narrow = OnH200("s8s8s8", kKernel);
  ASSERT_EQ(narrow.bytes.size(), 2U) << narrow.how;
  EXPECT_FALSE(narrow.bytes.contains(Level::kL1));
  EXPECT_THAT(narrow.how, HasSubstr("DeLTA-style model of NVIDIA H200"));
  // 16 x 56 x 56 outputs of 64 filters, 4 byte each instead of 1; what is read is the same.
  const auto wide = OnH200("s8s8f32", kKernel);
  EXPECT_NEAR(wide.bytes.at(Level::kDram) - narrow.bytes.at(Level::kDram), 3.0 * 16 * 56 * 56 * 64,
              1);
  // u8 and s8 are one byte each.
  EXPECT_EQ(OnH200("u8s8s8", kKernel).bytes, narrow.bytes);
  EXPECT_EQ(OnH200("int8", kKernel).bytes, narrow.bytes);
}

TEST(DeltaModel, TakesTheTileFromTheEngineOrTheKernel) {
  EXPECT_THAT(OnH200("f16", kKnobs).how,
              HasSubstr("tile 128x64x32, cluster 8x1 (engine), not measured"));
  EXPECT_THAT(OnH200("f16", std::string(kKnobs) + ", " + kKernel).how,
              HasSubstr("tile 128x64x64, cluster 8x1 (kernel name), not measured"));
}

TEST(DeltaModel, WithoutAKnownTileHasAReasonAndNoBytes) {
  for (const char* algorithm : {"", "engine 1", "engine 45 (tile_size 5, kblock 4, stages 4)",
                                "engine 62 (tile_size 0, tilek 1, tile_cga_m 4, tile_cga_n 1)"}) {
    const auto none = OnH200("f16", algorithm);
    EXPECT_TRUE(none.bytes.empty()) << algorithm;
    EXPECT_THAT(none.how, HasSubstr("neither its engine nor a kernel's name says which tile"))
        << algorithm;
  }
}

TEST(DeltaModel, HasNoL2BytesWhereThePathOfTheLoadsIsNotKnown) {
  const auto half = OnH200("f16", "sm80_xmma_fprop_implicit_gemm_f16f16_tilesize128x128x32_stage4");
  EXPECT_FALSE(half.bytes.contains(Level::kL2)) << half.how;
  EXPECT_TRUE(half.bytes.contains(Level::kDram)) << half.how;
}

TEST(DeltaModel, ATypeThatItLacksHasAReasonAndNoBytes) {
  for (const char* type : {"f64", "s8s8f64", "s8s8"}) {
    const auto none = OnH200(type, "engine 1");
    EXPECT_TRUE(none.bytes.empty()) << type;
    EXPECT_THAT(none.how,
                HasSubstr("the DeLTA-style model does not cover it: the model has no type '"))
        << type;
  }
}

TEST(DeltaModel, AWinogradKernelHasAReasonAndNoBytes) {
  const auto none = OnH200("f32", "engine 6, winograd, workspace 0 B: first of heuristic A");
  EXPECT_TRUE(none.bytes.empty());
  EXPECT_THAT(none.how,
              HasSubstr("the DeLTA-style model does not cover it: its kernel uses Winograd"));
}

}  // namespace
}  // namespace dlroof::conv2d
