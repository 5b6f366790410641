#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "counters/delta/prediction.h"
#include "tests/test_data.h"

namespace dlroof::delta {
namespace {

std::string Text(const std::optional<KernelTiling>& tiling) {
  if (!tiling) return "none";
  const auto number = [](const auto& value) { return value ? std::to_string(*value) : "?"; };
  std::string text =
      std::to_string(tiling->m) + "x" + std::to_string(tiling->n) + "x" + number(tiling->k);
  if (tiling->cluster_m)
    text += " cluster " + number(tiling->cluster_m) + "x" + number(tiling->cluster_n);
  text += " sm" + number(tiling->architecture);
  if (tiling->matrix_units) text += " matrix";
  if (tiling->valid_taps_only) text += " valid taps";
  return text;
}
std::string Read(std::string_view name) { return Text(ReadKernelName(name)); }

// Names of cuDNN on Hopper and Ampere, of CUTLASS and cuBLAS, of older kernels, and shortened ones,
// which have their complete numbers only. The kernel that adds up the slices of K has the tile of
// the kernel before it.
TEST(ReadKernelName, SaysWhatTheNameSays) {
  const std::string middle = "f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize";
  const std::pair<std::string, const char*> cases[] = {
      {"sm90_xmma_fprop_implicit_gemm_" + middle +
           "128x64x32_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
       "128x64x32 sm90 matrix"},
      {"sm90_xmma_dgrad_implicit_gemm_indexed_" + middle +
           "256x64x32_warpgroupsize1x1x1_g1_strided_execute_kernel__5x_cudnn",
       "256x64x32 sm90 matrix valid taps"},
      {"sm90_xmma_wgrad_indexed_implicit_gemm_" + middle +
           "64x64x64_warpgroupsize1x1x1_g1_execute_split_k_kernel__5x_cudnn",
       "none"},
      {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize256x64x8_stage3_"
       "warpsize2x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn",
       "256x64x8 sm80"},
      {"sm80_xmma_fprop_implicit_gemm_f16_tilesize256x128x32_stage4", "256x128x32 sm80 matrix"},
      {"cutlass_80_tensorop_s1688_128x128_16x3_nn", "128x128x16 sm80 matrix"},
      {"cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nt_align1>", "128x32x8 sm80"},
      {"_ZN7cutlass7Kernel2I41cutlass_80_simt_sgemm_64x64_8x5_nt_align1EEvNT_6ParamsE",
       "64x64x8 sm80"},
      {"cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x256x64_2x1x1_0_tnn_align8",
       "128x256x64 cluster 2x1 sm90 matrix"},
      {"nvjet_sm90_hsh_64x8_64x16_4x2_h_bz_TNT", "64x8x64 cluster 4x2 sm90 matrix"},
      {"ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_nn",
       "64x64x64 sm80 matrix"},
      {"volta_scudnn_128x64_relu_interior_nn_v1", "128x64x? sm70"},
      {"volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_nhwc_tn_v1", "256x64x? sm70 matrix"},
      {"sm90_xmma_fprop_tilesize128x64x...", "128x64x? sm90 matrix"},
      {"sm80_xmma_dgrad_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_tilesize32x32x8...",
       "32x32x? sm80"},
      {"sm90_xmma_fprop_tilesize128x16...", "none"},
      {"sm90_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesiz...", "none"}};
  for (const auto& [name, tiling] : cases) EXPECT_EQ(Read(name), tiling) << name;
}

TEST(ReadKernelName, HasNoTileWhereTheNameHasNone) {
  for (const auto* name :
       {"", "implicit_convolve_sgemm", "winograd3x3Kernel", "x128x", "99999999999999999999x64",
        "winograd_4x4", "gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false>", "warpsize2x2x1",
        "_Z18sgemm_largek_lds64ILb1ELb0ELi5ELi5ELi4ELi4ELi4ELi34EEvPfPKfS2_iiiiiiS2_S2_ffiiPiS3_",
        "elemWiseRNNcell<__half, __half, float, (cudnnRNNMode_t)2, (cudnnRNNBiasMode_t)2>",
        "600x64", "128x63"})
    EXPECT_EQ(Read(name), "none") << name;
}

// Every kernel that one H200 ran in convolutions, LSTMs, matrix products and PyTorch's programs,
// with what a person read from its name ("none", "MxNxK ...").
TEST(ReadKernelName, ReadsEveryNameOfAnH200AsAPersonDoes) {
  std::ifstream file(fakes::TestData("kernel_names_h200.txt"));
  int names = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos) << line;
    EXPECT_EQ(Read(line.substr(tab + 1)), line.substr(0, tab)) << line;
    ++names;
  }
  EXPECT_GT(names, 70);
}

TEST(FindKernelTiling, TakesTheFirstKernelWithATile) {
  EXPECT_EQ(Text(FindKernelTiling("engine 65 (tile_size 5, tile_cga_m 1), workspace 1802879 B: "
                                  "first of heuristic A, nchwToNhwcKernel<float>, "
                                  "sm90_xmma_wgrad_tilesize64x64x64_execute_split_k_kernel, "
                                  "sm90_xmma_wgrad_tilesize64x64x64_execute_segment_k_on_kernel")),
            "64x64x64 sm90 matrix");
  EXPECT_EQ(Text(FindKernelTiling("engine 6, winograd_4x4, workspace 0 B")), "none");
}

TEST(ReadEngine, ReadsKnobsAndWorkspace) {
  const auto knobs = ReadEngine(
      "engine 65 (tile_size 5, tilek 1, idx_mode 1, workspace 0, tile_cga_m 1, "
      "tile_cga_n 5), tensor_core, workspace 1802879 B: first of heuristic A");
  ASSERT_TRUE(knobs);
  EngineKnobs wanted{.tile_size = 5, .tilek = 1, .idx_mode = 1};
  wanted.cluster_m = 1;
  wanted.cluster_n = 5;
  wanted.workspace_bytes = 1802879;
  EXPECT_EQ(*knobs, wanted);
  const auto older = ReadEngine("engine 33 (split_k 30, tile_size 7, kblock 3,)");
  ASSERT_TRUE(older);
  EXPECT_EQ(older->split_k, 30);
  EXPECT_FALSE(older->cluster_m);
  EXPECT_FALSE(ReadEngine("engine 0, strict_nan_prop, workspace 0 B (x 1)"));
  EXPECT_FALSE(ReadEngine("volta_scudnn_128x64_relu"));
  EXPECT_FALSE(ReadEngine("engine 6 (tile_size 1"));
}

TEST(TilingOf, KnowsTheTilesThatWereSeenOnly) {
  const auto of = [](std::string_view text) {
    const auto knobs = ReadEngine(text);
    return Text(knobs ? TilingOf(*knobs) : std::nullopt);
  };
  EXPECT_EQ(of("engine 62 (tile_size 1, tilek 0, idx_mode 0, tile_cga_m 8, tile_cga_n 1)"),
            "128x64x32 cluster 8x1 sm90 matrix");
  EXPECT_EQ(of("engine 73 (tile_size 4, tilek 0, idx_mode 1, tile_cga_m 4, tile_cga_n 1)"),
            "256x64x32 cluster 4x1 sm90 matrix valid taps");
  EXPECT_EQ(of("engine 65 (tile_size 5, tilek 1, idx_mode 1, tile_cga_m 1, tile_cga_n 5)"),
            "64x64x64 cluster 1x5 sm90 matrix valid taps");
  for (const auto* unknown :
       {"engine 62 (tile_size 0, tilek 1, idx_mode 0, tile_cga_m 4, tile_cga_n 1)",
        "engine 45 (tile_size 5, kblock 4,)", "engine 70 (tile_size 4, idx_mode 0)",
        "engine 62 (tile_size 1, tilek 2, tile_cga_m 4, tile_cga_n 1)"})
    EXPECT_EQ(of(unknown), "none") << unknown;
}

// Workspaces that cuDNN 9.14 asked for on an H200: a tile of sums per CTA, and some 600 byte.
TEST(SlicesByWorkspace, AreCompleteClustersOfTiles) {
  const auto slices = [](const char* engine, int64_t tiles_m, int64_t tiles_n) {
    const auto knobs = ReadEngine(engine);
    return SlicesByWorkspace(*knobs, *TilingOf(*knobs), tiles_m, tiles_n);
  };
  // 110 CTAs: 9 tiles are 10 in clusters of 5, 11 slices.
  EXPECT_EQ(slices("engine 65 (tile_size 5, tilek 1, tile_cga_m 1, tile_cga_n 5), workspace "
                   "1802879 B",
                   1, 9),
            11);
  EXPECT_EQ(slices("engine 68 (tile_size 5, tilek 0, tile_cga_m 1, tile_cga_n 1), workspace "
                   "2065047 B",
                   1, 9),
            14);
  // 64 x 128 channels, 3 x 3: 1 x 9 tiles of 128 x 64, 117 CTAs.
  EXPECT_EQ(slices("engine 65 (tile_size 1, tilek 1, tile_cga_m 1, tile_cga_n 3), workspace "
                   "3834519 B",
                   1, 9),
            13);
  EXPECT_EQ(slices("engine 65 (tile_size 5, tilek 1, tile_cga_m 2, tile_cga_n 4), workspace "
                   "1573407 B",
                   8, 4),
            3);
  EXPECT_EQ(
      slices("engine 65 (tile_size 1, tilek 1, tile_cga_m 1, tile_cga_n 3), workspace 131 B", 8, 8),
      1);
  // 110 CTAs are no whole number of 4 x 9 tiles.
  EXPECT_EQ(slices("engine 65 (tile_size 5, tilek 1, tile_cga_m 1, tile_cga_n 1), workspace "
                   "1802879 B",
                   4, 9),
            std::nullopt);
  EXPECT_EQ(slices("engine 65 (tile_size 5, tilek 1, tile_cga_m 1, tile_cga_n 1)", 1, 9),
            std::nullopt);
}

}  // namespace
}  // namespace dlroof::delta
