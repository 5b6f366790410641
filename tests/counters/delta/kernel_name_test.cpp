#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "counters/base/error.h"
#include "counters/delta/prediction.h"
#include "tests/counters/delta/brute_force.h"
#include "tests/fakes/refusal.h"
#include "tests/test_data.h"

namespace dlroof::delta {
namespace {

using testing::HasSubstr;

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

TEST(ReadKernelName, HasNoTileWhereTheNameHasNoneAndReadsEveryNameOfAnH200AsAPersonDoes) {
  for (const auto* name :
       {"", "implicit_convolve_sgemm", "winograd3x3Kernel", "x128x", "99999999999999999999x64",
        "winograd_4x4", "gemmSN_TN_kernel<float, 128, 16, 2, 4, 8, 9, false>", "warpsize2x2x1",
        "_Z18sgemm_largek_lds64ILb1ELb0ELi5ELi5ELi4ELi4ELi4ELi34EEvPfPKfS2_iiiiiiS2_S2_ffiiPiS3_",
        "elemWiseRNNcell<__half, __half, float, (cudnnRNNMode_t)2, (cudnnRNNBiasMode_t)2>",
        "600x64", "128x63"})
    EXPECT_EQ(Read(name), "none") << name;
  // Every kernel that one H200 ran in convolutions, LSTMs, matrix products and PyTorch's programs,
  // with what a person read from its name ("none", "MxNxK ...").
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
  const std::tuple<const char*, int64_t, int64_t, std::optional<int64_t>> cases[] = {
      // 110 CTAs: 9 tiles are 10 in clusters of 5, 11 slices.
      {"65 (tile_size 5, tilek 1, tile_cga_m 1, tile_cga_n 5), workspace 1802879 B", 1, 9, 11},
      {"68 (tile_size 5, tilek 0, tile_cga_m 1, tile_cga_n 1), workspace 2065047 B", 1, 9, 14},
      // 64 x 128 channels, 3 x 3: 1 x 9 tiles of 128 x 64, 117 CTAs.
      {"65 (tile_size 1, tilek 1, tile_cga_m 1, tile_cga_n 3), workspace 3834519 B", 1, 9, 13},
      {"65 (tile_size 5, tilek 1, tile_cga_m 2, tile_cga_n 4), workspace 1573407 B", 8, 4, 3},
      {"65 (tile_size 1, tilek 1, tile_cga_m 1, tile_cga_n 3), workspace 131 B", 8, 8, 1},
      // 110 CTAs are no whole number of 4 x 9 tiles.
      {"65 (tile_size 5, tilek 1, tile_cga_m 1, tile_cga_n 1), workspace 1802879 B", 4, 9, {}},
      {"65 (tile_size 5, tilek 1, tile_cga_m 1, tile_cga_n 1)", 1, 9, {}}};
  for (const auto& [engine, tiles_m, tiles_n, slices] : cases) {
    const auto knobs = ReadEngine(std::string("engine ") + engine);
    EXPECT_EQ(SlicesByWorkspace(*knobs, *TilingOf(*knobs), tiles_m, tiles_n), slices) << engine;
  }
}

nlohmann::json V100Text() {
  for (const auto& gpu : BuiltInGpus())
    if (gpu.name == "v100") return nlohmann::json::parse(gpu.text);
  return {};
}

// The refusal of V100's figures with a patch (RFC 7396: null takes away).
std::string Refusal(const nlohmann::json& patch) {
  auto json = V100Text();
  json.merge_patch(patch);
  return fakes::RefusalOf([&] { GpuFromJson(json, "my.json"); });
}

TEST(BuiltInGpus, AreReadAndEveryFigureSaysWhereItIsFromAndPeaksAreThePublishedOnes) {
  std::vector<std::string> names;
  for (const auto& gpu : BuiltInGpus()) {
    names.emplace_back(gpu.name);
    const auto spec = FindGpu(std::string(gpu.name));
    for (const auto& [key, source] : spec.sources) EXPECT_GT(source.size(), 3U) << key;
    EXPECT_GT(MacsPerClock(spec, "f32"), 0);
  }
  EXPECT_THAT(names, testing::ElementsAre("a100", "h100", "h200", "p100", "titan_xp", "v100"));
  // Published peaks [TFLOP/s]: 12.15, 10.6, 15.7, 19.5 in f32, 312 in f16 on A100.
  const auto tflops = [](const char* name, const char* type) {
    const auto gpu = FindGpu(name);
    return 2e-12 * gpu.sms * gpu.clock_hz * MacsPerClock(gpu, type);
  };
  EXPECT_NEAR(tflops("titan_xp", "f32"), 12.15, 0.01);
  EXPECT_NEAR(tflops("p100", "f32"), 10.6, 0.05);
  EXPECT_NEAR(tflops("v100", "f32"), 15.7, 0.05);
  EXPECT_NEAR(tflops("a100", "f32"), 19.5, 0.05);
  EXPECT_NEAR(tflops("a100", "f16"), 312, 0.5);
  EXPECT_NEAR(tflops("h100", "f16"), 989.4, 1);
}

TEST(GpuFromJson, RefusesFiguresOfNoGpuAndPartitionsAndCoalescedSmsMayBeMissing) {
  EXPECT_EQ(Refusal(nlohmann::json::object()), "accepted");
  EXPECT_THAT(Refusal({{"l2_bytes_per_second", nullptr}}),
              HasSubstr("my.json: 'l2_bytes_per_second': expected an object"));
  EXPECT_EQ(Refusal({{"dram_latency_clocks", {{"value", -1}}}}),
            "my.json: dram_latency_clocks: 'value': expected a number above 0, got -1");
  EXPECT_THAT(Refusal({{"sms", {{"source", nullptr}}}}), HasSubstr("my.json: sms: 'source'"));
  EXPECT_EQ(Refusal({{"smss", V100Text()["sms"]}}),
            "my.json: unknown key 'smss', expected one such as 'sms' or 'macs_per_clock_fp32'");
  EXPECT_THAT(Refusal({{"sector_bytes", {{"value", 48}}}}),
              HasSubstr("sector_bytes: expected a power of two"));
  EXPECT_THAT(Refusal({{"macs_per_clock_f32", nullptr}, {"macs_per_clock_f16", nullptr}}),
              HasSubstr("expected at least one 'macs_per_clock_<type>'"));
  EXPECT_THAT(Refusal(nlohmann::json::array()), HasSubstr("expected an object"));
  const auto with = [](const char* key, double value) {
    return Refusal({{key, {{"value", value}}}});
  };
  EXPECT_EQ(with("sms", 80.5), "my.json: sms: expected a whole number from 1 to 65536, got 80.5");
  EXPECT_THAT(with("sms", 1e18), HasSubstr("sms: expected a whole number from 1 to 65536"));
  EXPECT_EQ(with("sms", 65536), "accepted");
  EXPECT_EQ(with("clock_hz", 1e5),
            "my.json: clock_hz: expected 1e+06 to 1e+12 per second, got 100000");
  EXPECT_EQ(with("clock_hz", 1e-300),
            "my.json: clock_hz: 'value': expected 0 or a magnitude from 1e-18 to 1e+18, got "
            "1e-300");
  EXPECT_EQ(FindGpu("v100").l2_partitions, 1);
  EXPECT_EQ(FindGpu("v100").coalesced_sms, 1);
  EXPECT_EQ(FindGpu("h200").l2_partitions, 2);
  EXPECT_EQ(FindGpu("h200").coalesced_sms, 2);
  EXPECT_EQ(FindGpu("a100").coalesced_sms, 1);
  const auto without_some = [](double value) {
    return Refusal({{"l2_partitions", {{"value", value}, {"source", "a book"}}}});
  };
  EXPECT_EQ(without_some(2), "accepted");
  EXPECT_EQ(without_some(17),
            "my.json: l2_partitions: expected a whole number from 1 to 16, got 17");
  EXPECT_THAT(Refusal({{"coalesced_sms", {{"value", 2}}}}), HasSubstr("'source'"));
  // Both are written where they were read.
  EXPECT_EQ(GpuFromJson(ToJson(FindGpu("h200")), "x").l2_partitions, 2);
  EXPECT_FALSE(ToJson(FindGpu("v100")).contains("l2_partitions"));
}

TEST(FindGpu, AnUnknownNameListsThoseThereAre) {
  EXPECT_THAT(fakes::RefusalOf([] { FindGpu("v1000"); }),
              HasSubstr("unknown GPU 'v1000'; expected a100, h100, h200, p100,"));
  EXPECT_THROW(FindGpu("./none.json"), BadInput);
  EXPECT_THROW(MacsPerClock(FindGpu("v100"), "int8"), BadInput);
}

TEST(PlanTile, TheWidestTileThatPadsNoMoreAndWeightGradientsSplitK) {
  const auto gpu = FindGpu("v100");
  const auto columns = [&](int64_t k) {
    return PlanTile(Layer(2, 16, 14, 14, k, 3, 1, 1), gpu).tile.n;
  };
  EXPECT_EQ(columns(32), 32);
  EXPECT_EQ(columns(64), 64);
  EXPECT_EQ(columns(96), 32);  // 96 = 3 x 32; 64 and 128 pad to 128
  EXPECT_EQ(columns(128), 128);
  EXPECT_EQ(columns(728), 128);  // 736, 768, 768: 4 % more
  auto layer = Layer(2, 16, 14, 14, 128, 3, 1, 1);
  EXPECT_EQ(PlanTile(layer, gpu).tile.k, 8);
  layer.element_bytes = 2;
  EXPECT_EQ(PlanTile(layer, gpu).tile.k, 16);
  layer.element_bytes = 4;
  // 65,536 registers hold 256 x 128 sums twice, 512 x 256 not.
  EXPECT_EQ(PlanTile(layer, gpu, 256, 128).ctas_per_sm, 1);
  EXPECT_THROW(PlanTile(layer, gpu, 512, 256), BadInput);
  auto gradient = Layer(256, 64, 56, 56, 64, 1, 1, 0);
  gradient.direction = ProductDirection::kBackwardWeights;
  const auto plan = PlanTile(gradient, FindGpu("v100"));  // one tile: m 64, n 64
  EXPECT_EQ(plan.tile.slices, 80);
}

KernelTiling Tiling(std::string_view name) {
  auto tiling = ReadKernelName(name);
  EXPECT_TRUE(tiling) << name;
  return tiling.value_or(KernelTiling{.m = 128, .n = 64});
}

TEST(PlanTile, OfHoppersKernelsHasTheirClusterAndOthersShareWhatNeighboursMerge) {
  auto layer = Layer(16, 64, 112, 112, 64, 3, 2, 0);
  layer.element_bytes = 2;
  auto tiling = Tiling("sm90_xmma_dgrad_tilesize256x64x32_strided_execute_kernel");
  tiling.cluster_m = 4;
  const auto h200 = FindGpu("h200");
  auto plan = PlanTile(layer, h200, tiling, std::nullopt);
  EXPECT_EQ(plan.loads, LoadPath::kBulk);
  EXPECT_EQ(plan.ctas_per_sm, 1);
  EXPECT_EQ(plan.tile.k, 32);
  EXPECT_EQ(plan.tile.cluster_m, 4);
  EXPECT_EQ(plan.tile.cluster_n, 1);
  EXPECT_EQ(plan.tile.taps, 1);  // forward: all taps
  layer.direction = ProductDirection::kBackwardData;
  EXPECT_EQ(PlanTile(layer, h200, tiling, std::nullopt).tile.taps, 0.25);  // stride 2 x 2
  // 132 SMs hold 33 clusters of 4, and 16 of 8.
  EXPECT_EQ(CachesOf(h200, plan).l2.ctas_per_wave, 132);
  plan.tile.cluster_m = 8;
  EXPECT_EQ(CachesOf(h200, plan).l2.ctas_per_wave, 128);
  layer = Layer(16, 64, 112, 112, 64, 3, 2, 0);
  layer.direction = ProductDirection::kBackwardWeights;
  tiling = Tiling("sm90_xmma_wgrad_tilesize64x64x64_execute_segment_k_on_kernel");
  EXPECT_EQ(PlanTile(layer, FindGpu("h200"), tiling, 11).tile.slices, 11);
  const auto merged = Layer(16, 64, 112, 112, 64, 3, 2, 0);
  const auto simt = Tiling("sm80_xmma_fprop_f32f32_f32f32_f32_tilesize256x64x8_stage3_g1_ffma");
  const auto shared = PlanTile(merged, FindGpu("h200"), simt, std::nullopt);
  EXPECT_EQ(shared.loads, LoadPath::kThroughL1);
  EXPECT_EQ(shared.tile.cluster_m, 2);
  EXPECT_EQ(PlanTile(merged, FindGpu("a100"), simt, std::nullopt).tile.cluster_m, 1);
  const auto matrix = Tiling("cutlass_80_tensorop_s16816_128x128_32x4_nn");
  EXPECT_EQ(PlanTile(merged, FindGpu("a100"), matrix, std::nullopt).loads, LoadPath::kUnknown);
}

// One CTA on one SM, everything but the multiply-adds free: steps x tile / rate, by hand.
TEST(ModelTime, OneCtaByHandTheBottleneckIsScarceOrTheLaunch) {
  GpuSpec gpu = FindGpu("v100");
  gpu.l1_bytes_per_clock = gpu.shared_bytes_per_clock = 1e12;
  gpu.l2_bytes_per_second = gpu.dram_bytes_per_second = 1e30;
  gpu.l1_latency_clocks = gpu.l2_latency_clocks = gpu.dram_latency_clocks = 100;
  gpu.shared_latency_clocks = 20;
  gpu.launch_seconds = 1e-9;
  const auto layer = Layer(1, 64, 8, 16, 64, 1, 1, 0);  // m 128, n 64, k 64
  const auto plan = PlanTile(layer, gpu, 128, 64);
  const auto traffic = ModelTraffic(layer, plan.tile, CachesOf(gpu));
  const auto time = ModelTime(layer, plan, traffic, gpu, "f32");
  // 8 steps of 128 x 64 x 8 / 64 = 1024 clocks, after 100 + 20 of the first load.
  EXPECT_NEAR(time.seconds * gpu.clock_hz, 8 * 1024 + 120, 0.01);
  EXPECT_NEAR(time.lower_bound_seconds * gpu.clock_hz, 8 * 1024, 0.01);
  EXPECT_EQ(time.bottleneck, Bottleneck::kCompute);
  EXPECT_EQ(time.waves, 1);
  const auto bottleneck = [](const char* resource, double factor) {
    ConvQuestion question{.layer = Layer(64, 64, 56, 56, 256, 1, 1, 0)};
    return PredictConv(question, Scaled(FindGpu("v100"), resource, factor)).time.bottleneck;
  };
  EXPECT_EQ(bottleneck("dram", 1.0 / 8), Bottleneck::kDram);
  EXPECT_EQ(bottleneck("l2", 1.0 / 16), Bottleneck::kL2);
  EXPECT_EQ(bottleneck("l1", 1.0 / 64), Bottleneck::kL1);
  EXPECT_EQ(bottleneck("shared", 1.0 / 64), Bottleneck::kShared);
  EXPECT_EQ(bottleneck("mac", 1.0 / 8), Bottleneck::kCompute);
  ConvQuestion question{.layer = Layer(1, 8, 4, 4, 8, 1, 1, 0)};
  EXPECT_EQ(PredictConv(question, FindGpu("h100")).time.bottleneck, Bottleneck::kLaunch);
}

TEST(PredictConv, FasterResourcesNeverMakeALayerSlower) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 30; ++i) {
    ConvQuestion question;
    question.layer =
        Layer(Pick(random, {1, 16, 64}), Pick(random, {3, 64, 256}), 28, 28,
              Pick(random, {32, 128, 512}), Pick(random, {1, 3}), Pick(random, {1, 2}), 1);
    question.layer.direction = static_cast<ProductDirection>(random() % 3);
    const auto gpu = FindGpu("a100");
    const double before = PredictConv(question, gpu).time.seconds;
    for (const char* resource : {"mac", "shared", "l1", "l2", "dram", "clock"})
      EXPECT_LE(PredictConv(question, Scaled(gpu, resource, 2)).time.seconds, before * (1 + 1e-9))
          << resource;
  }
}

TEST(ModelledWork, IsWorkWithItsOrigin) {
  ConvQuestion question;
  question.layer = Layer(16, 64, 112, 112, 64, 3, 2, 1);
  question.kernel = "volta_scudnn_128x64_relu_interior_nn_v1";
  const auto gpu = FindGpu("v100");
  const auto prediction = PredictConv(question, gpu);
  const auto work = ModelledWork(question, prediction, gpu);
  // Of 56 x 3 pairs of a row and a tap one is above the image, of columns too.
  EXPECT_EQ(work.flops.at("fp32.vector"), 2.0 * 16 * 64 * 64 * 167 * 167);
  EXPECT_GT(work.bytes.at(Level::kL1), work.bytes.at(Level::kL2));
  EXPECT_GT(work.bytes.at(Level::kL2), work.bytes.at(Level::kDram));
  EXPECT_EQ(work.launches, 1);
  EXPECT_EQ(HowModelled(prediction, gpu),
            "DeLTA-style model of NVIDIA Tesla V100-SXM2 (GV100): tile 128x64x8 (kernel name), not "
            "measured");
  question.kernel.clear();
  EXPECT_EQ(PredictConv(question, gpu).tile_from, "rule");
  question.type = "f64";
  EXPECT_THROW(PredictConv(question, gpu), BadInput);
}

// A Winograd kernel moves other bytes than the product that it replaces.
TEST(PredictConv, RefusesKernelsThatAreNoImplicitGemm) {
  ConvQuestion question{.layer = Layer(16, 64, 56, 56, 64, 3, 1, 1)};
  const auto reason = [&](const char* kernel) {
    question.kernel = kernel;
    return RefusalReason(question, FindGpu("v100"));
  };
  EXPECT_EQ(reason("volta_scudnn_128x64_relu_interior_nn_v1"), std::nullopt);
  EXPECT_EQ(reason("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"),
            Reason{"its kernel uses Winograd, but the model covers only implicit GEMMs"});
  EXPECT_EQ(reason("engine 6, winograd_4x4, workspace 0 B: first of heuristic A, 9 proposed"),
            reason("winograd3x3Kernel"));
  EXPECT_EQ(reason("fft2d_r2c_32x32"),
            Reason{"its kernel uses FFT, but the model covers only implicit GEMMs"});
  EXPECT_THROW(PredictConv(question, FindGpu("v100")), BadInput);
  // 256 x 256 sums are 1,024 threads of 128 registers: 131,072, and an SM has 65,536.
  EXPECT_TRUE(reason("sm80_xmma_fprop_256x256x8"));
}

TEST(PipeOf, MatrixUnitsWhereTheGpuHasThem) {
  EXPECT_EQ(PipeOf("f16", FindGpu("p100")), "fp16.vector");
  EXPECT_EQ(PipeOf("f16", FindGpu("v100")), "fp16.matrix");
  EXPECT_EQ(PipeOf("f32", FindGpu("h200")), "fp32.vector");
}

}  // namespace
}  // namespace dlroof::delta
