#include "bench/conv2d/case.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "reporters/roofline/roofline.h"
#include "tests/bench/random_problems.h"
#include "tests/fakes/foreign_lines.h"
#include "tests/fakes/refusal.h"

namespace dlroof::conv2d {
namespace {

using testing::HasSubstr;

std::string ProblemRefusal(const std::string& text, int column_offset = 0) {
  return fakes::RefusalOf(ParseConv2d, text, column_offset);
}

void Refuses(const std::string& text, const std::string& reason) {
  EXPECT_THAT(ProblemRefusal(text), HasSubstr(reason)) << text;
}

constexpr fakes::ConvLimits kLargeLimits = {.groups = 9,
                                            .images = 200,
                                            .channels = 300,
                                            .taps = 11,
                                            .places = 300,
                                            .steps = 4,
                                            .padding = 12};

TEST(Conv2dText, ProblemAndTextAreInverseAndChangedBytesAreRefusedOrTheirOwnProblem) {
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const auto problem = fakes::RandomConv2d(random, kLargeLimits);
    const auto text = ToText(problem);
    ASSERT_EQ(ParseConv2d(text), problem) << text;
  }
  fakes::ExpectOneTextEach(
      "0129:_xnspdg",
      [](auto& changes) { return ToText(fakes::RandomConv2d(changes, kLargeLimits)); },
      [](const auto& text) { return ToText(ParseConv2d(text)); });
}

TEST(Conv2dText, OptionsKeepTheirOrderAndRefusalsNameTheColumn) {
  Conv2dProblem p{.n = 16, .c = 64, .h = 112, .w = 112, .k = 64, .r = 3, .s = 3};
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3");
  p.stride_h = 2;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2x1");
  p.stride_w = 2;
  p.pad_bottom = p.pad_right = 1;
  p.dilation_w = 2;
  p.groups = 4;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p0:1x0:1d1x2g4");
  p.pad_top = 1;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p1:1x0:1d1x2g4");
  p.pad_left = 1;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p1d1x2g4");
  p.pad_left = p.pad_right = 0;
  EXPECT_EQ(ToText(p), "n16c64h112w112k64r3s3_s2p1x0d1x2g4");
  Refuses("", "column 1: expected 'n', got the end");
  Refuses("n1c1h8w8k1r3", "column 13: expected 's', got the end");
  Refuses("n1c1h8w8k1r3s3x", "column 15: expected '_', got 'x'");
  Refuses("n1c1h8w8k1r3s3_", "column 16: expected one of s p d g");
  Refuses("n1c1h8w8k1r3s3_p1s2", "column 18: expected the end");
  Refuses("n1c0h8w8k1r3s3", "column 4: expected the size c");
  Refuses("n01c1h8w8k1r3s3", "column 2");
  Refuses("n1c1h8w8k1r3s3_s-1", "column 17: expected a stride");
  Refuses("n1c1h8w8k1r3s3_s99999999999", "column 17");
  Refuses("n1c1h8w8k1r3s3_p0:1", "column 20: expected 'x'");
  Refuses("n1c1h8w8k1r3s3_s1", "column 15: write this problem as n1c1h8");
}

TEST(Conv2dShape, ImpossibleOnesAreRefusedWithTheReasonAndNothingLeaves64Bits) {
  Refuses("n1c1h3w8k1r5s3", "the filter spans 5 rows but the padded image has 3");
  Refuses("n1c1h8w3k1r3s3_d1x2", "spans 5 columns");
  EXPECT_EQ(ProblemRefusal("n1c1h3w3k1r5s5_p1"), "accepted");  // 3 + 2 = 5 rows
  Refuses("n1c6h8w8k4r3s3_g4", "6 channels do not divide into 4 groups");
  Refuses("n1c4h8w8k6r3s3_g4", "6 filters do not divide into 4 groups");
  const std::string most = "2147483647";
  Refuses("n" + most + "c" + most + "h2w2k1r1s1", "overflows 64 bits");
  Refuses("n1c1h" + most + "w" + most + "k1r1s1", "overflows");
  Refuses("n1c1h1w1k1r1s1_p" + most, "overflows");
  // Tensors fit (c = k = 2^29: 8 x 2^58 byte of weights), the FLOPs of 16 images do not.
  EXPECT_EQ(ProblemRefusal("n1c536870912h1w1k536870912r1s1"), "accepted");
  Refuses("n16c536870912h1w1k536870912r1s1", "number of FLOPs overflows");
}

TEST(Conv2dWork, IsThePapersCountForItsBaseCase) {
  // 2*16*56*56*64*64*9: TensorFlow's SAME padding gives 56x56 outputs.
  const auto p = ParseConv2d("n16c64h112w112k64r3s3_s2p0:1x0:1");
  EXPECT_EQ(delta::OutputRows(p), 56);
  EXPECT_EQ(DenseFlops(p), 3699376128);
  // One of 56 x 3 (row, tap) pairs reads padding, also in columns: 167 x 167 are left.
  EXPECT_EQ(Flops(p), 2LL * 16 * 64 * 64 * 167 * 167);
}

Conv2dCase Case(const std::string& name) {
  return ReadOnednnConv2dCase(workload::ParseBenchmarkName("Conv2D/cpu/onednn/" + name));
}

std::string CaseRefusal(const std::string& name) { return fakes::RefusalOf(Case, name); }

void CaseRefuses(const std::string& name, const std::string& reason) {
  EXPECT_THAT(CaseRefusal(name), HasSubstr(reason)) << name;
}

TEST(Conv2dFlops, AreThoseOfTapsInsideTheImageAndReportsKnowTheDenseCountToo) {
  // A row of two taps beside the only row: no product at all, so 0 FLOPs and not unknown ones.
  EXPECT_EQ(Flops(ParseConv2d("n1c1h1w1k1r2s1_p1x0d2x1")), 0);
  EXPECT_EQ(Flops(ParseConv2d("n1c3h24w24k8r1s1_s2")), 2 * 3 * 8 * 144) << "skipped, not padded";
  const auto* words = roofline::FindWords("Conv2D", {});
  ASSERT_NE(words, nullptr);
  const auto both = words->product_flops("n1c256h14w14k256r3s3_p1").value();
  EXPECT_EQ(both.useful, 2. * 256 * 256 * 40 * 40);
  EXPECT_EQ(both.dense, 2. * 256 * 256 * 42 * 42);
  EXPECT_FALSE(words->product_flops("m3n4k5"));
  // Large sizes need no loop: 1e9 + 1 results with 1e9 taps each.
  EXPECT_EQ(words->product_flops("n1c1h2000000000w1k1r1000000000s1")->useful, 2 * (1e9 + 1) * 1e9);
}

TEST(Conv2dCase, ReadsEveryOptionAndRefusesWithTheColumnInTheWholeName) {
  const auto conv = Case("fwd/u8s8f32/n1c1h8w8k1r3s3/training/bias/relu/scales/nhwc/auto");
  EXPECT_TRUE(conv.training && conv.bias && conv.eltwise == workload::Eltwise::kRelu &&
              conv.scales);
  EXPECT_EQ(conv.layout, Conv2dLayout::kNhwc);
  EXPECT_EQ(conv.algorithm, Conv2dAlgorithm::kAuto);
  EXPECT_EQ(conv.types, (workload::ProductTypes{"u8", "s8", "f32"}));
  const auto plain = Case("bwd_data/f32/n1c1h8w8k1r3s3");
  EXPECT_FALSE(plain.training || plain.bias || plain.eltwise || plain.scales);
  EXPECT_EQ(plain.layout, Conv2dLayout::kAny);
  EXPECT_EQ(plain.algorithm, Conv2dAlgorithm::kDirect);
  EXPECT_FALSE(plain.fpmath);
  EXPECT_EQ(Case("fwd/f32/n1c1h8w8k1r3s3/nchw/winograd/fpmath-tf32").fpmath, "tf32");
  // Conv2D/cpu/onednn/ is 18 characters long.
  EXPECT_EQ(CaseRefusal("fwd/f32/n1c1h8w8k1r3s3"), "accepted");
  CaseRefuses("bwd/f32/n1c1h8w8k1r3s3", "column 19: expected a direction");
  CaseRefuses("fwd/f8/n1c1h8w8k1r3s3",
              "column 23: expected a type (f32, bf16, f16, int8, or a mix such as "
              "u8s8f32), got 'f8'");
  CaseRefuses("fwd/f32/n1c1h8w8k1r3s3_q", "column 42");
  CaseRefuses("fwd/f32/n1c1h8w8k1r3s3/nchw/nhwc", "column 47");
  CaseRefuses("bwd_data/f32/n1c1h8w8k1r3s3/bias", "column 47: 'bias'");
  EXPECT_EQ(CaseRefusal("bwd_weights/f32/n1c1h8w8k1r3s3/bias"), "accepted");
  CaseRefuses("bwd_weights/f32/n1c1h8w8k1r3s3/training", "'training'");
  CaseRefuses("bwd_weights/f32/n1c1h8w8k1r3s3/bias/relu", "column 55: 'relu'");
  CaseRefuses("fwd/bf16/n1c1h8w8k1r3s3/scales", "'scales'");
}

std::optional<double> Executed(const std::string& problem, ProductDirection direction,
                               const std::string& implementation) {
  Conv2dCase conv;
  conv.problem = ParseConv2d(problem);
  conv.direction = direction;
  return ExecutedOverUseful(conv, implementation, "avx512_core");
}

TEST(ExecutedOverUseful, CountsTheLastVectorOfChannelsWhole) {
  constexpr auto kForward = ProductDirection::kForward;
  const std::string full = "n1c64h28w28k32r3s3_p1", image = "n1c3h112w112k64r7s7_s2p3";
  for (const auto* implementation : {"jit:avx512_core", "brgconv:avx2", "jit_1x1:avx512_core"})
    EXPECT_EQ(Executed(full, kForward, implementation), 1);
  EXPECT_EQ(Executed(image, kForward, "jit:avx512_core"), 1) << "three channels are read alone";
  // 20 filters: two vectors of 16 lanes, three of 8. 24 channels: two, three.
  const std::string part = "n1c24h28w28k20r3s3_p1";
  EXPECT_EQ(Executed(part, kForward, "brgconv:avx512_core"), 32 / 20.0);
  EXPECT_EQ(Executed(part, kForward, "brgconv:avx2"), 24 / 20.0);
  EXPECT_EQ(Executed(part, kForward, "jit:avx512_core"), 32 / 20.0 * (32 / 24.0));
  EXPECT_EQ(Executed(part, ProductDirection::kBackwardData, "brgconv:avx512_core"), 32 / 24.0);
  // Vectors of depthwise kernels hold groups.
  EXPECT_EQ(Executed("n1c72h28w28k72r3s3_p1g72", kForward, "jit_dw:avx512_core"), 80 / 72.0);
  for (const auto* unknown : {"brgconv:avx512_core_amx", "brgconv:avx10_1_512_amx",
                              "jit_1x1:avx512_core_amx_bf16", "ref:any", "gemm:jit"})
    EXPECT_FALSE(Executed(part, kForward, unknown)) << unknown;
}

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

TEST(DeltaModel, PredictsCudnnsIntegerConvolutionsAndTakesTheTileFromTheEngineOrTheKernel) {
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
  EXPECT_THAT(OnH200("f16", kKnobs).how,
              HasSubstr("tile 128x64x32, cluster 8x1 (engine), not measured"));
  EXPECT_THAT(OnH200("f16", std::string(kKnobs) + ", " + kKernel).how,
              HasSubstr("tile 128x64x64, cluster 8x1 (kernel name), not measured"));
}

TEST(DeltaModel, WhatItDoesNotCoverOrKnowHasAReasonAndNoBytes) {
  for (const char* algorithm : {"", "engine 1", "engine 45 (tile_size 5, kblock 4, stages 4)",
                                "engine 62 (tile_size 0, tilek 1, tile_cga_m 4, tile_cga_n 1)"}) {
    const auto none = OnH200("f16", algorithm);
    EXPECT_TRUE(none.bytes.empty()) << algorithm;
    EXPECT_THAT(none.how,
                HasSubstr("neither cuDNN's engine nor the kernel's name tells the kernel's tile"))
        << algorithm;
  }
  const auto half = OnH200("f16", "sm80_xmma_fprop_implicit_gemm_f16f16_tilesize128x128x32_stage4");
  EXPECT_FALSE(half.bytes.contains(Level::kL2)) << half.how;
  EXPECT_TRUE(half.bytes.contains(Level::kDram)) << half.how;
  const auto winograd = OnH200("f32", "engine 6, winograd, workspace 0 B: first of heuristic A");
  EXPECT_TRUE(winograd.bytes.empty());
  EXPECT_THAT(winograd.how,
              HasSubstr("the DeLTA-style model does not cover it: its kernel uses Winograd"));
}

TEST(ConvBenchdnn, WhatIsNoProblemHasAReason) {
  for (const auto& [text, reason] : {std::pair("mb1ic4ih8oc4kh3xy1", "got 'xy1'"),
                                     {"mb1ic", "expected the value of 'ic'"},
                                     {"mb-1ic4", "expected the value of 'mb'"},
                                     {"ic99999999999999999999ih1oc1kh1", "from 0 to 2147483647"},
                                     {"ic4oc4", "no image"},
                                     {"ih8oc4kh3", "lacks ic"},
                                     {"ic4ih8kh3", "lacks oc"},
                                     {"ic4ih8oc4", "lacks kh"},
                                     {"ic4kh3oc4", "lacks ih"},
                                     {"ic4ih8iw8oc4kh3", "lacks kw"},
                                     {"g0ic4ih8oc4kh3", "lacks g"},
                                     {"ic4ih8oc4kh3sh0", "lacks sh"},
                                     {"ic4ih2oc4kh5", "oh would be -2"},
                                     {"ic4id5ih5oc4kd1kh1", "both ih and iw, or none"},
                                     {"_ic4", "got '_ic4'"}})
    EXPECT_THAT(fakes::BenchmarkOf(fmt::format("--conv {}", text)), HasSubstr(reason)) << text;
}

constexpr auto kForward = ProductDirection::kForward;
constexpr auto kBackwardData = ProductDirection::kBackwardData;
constexpr auto kBackwardWeights = ProductDirection::kBackwardWeights;

// Returns the arguments of a name's rest, or "" if there are none.
std::string Line(const std::string& rest) { return ConvBenchdnn(Case(rest)).value_or(""); }

TEST(ConvBenchdnn, RepeatsTheCallWithoutDefaultsAndIsEmptyWhereBenchdnnHasNoSuchCall) {
  const std::string problem = "n16c64h112w112k64r3s3_s2p0:1x0:1";
  EXPECT_EQ(Line("fwd/f32/" + problem),
            "--conv --mode=P --dir=FWD_I mb16ic64ih112iw112oc64oh56ow56kh3kw3sh2sw2ph0pw0");
  EXPECT_EQ(Line("fwd/int8/n1c4h9w8k6r3s1_p2x0d2g2/training/bias/relu/scales/nhwc/auto/fpmath-any"),
            "--conv --mode=P --dir=FWD_B --dt=u8:s8:u8 --attr-post-ops=relu "
            "--attr-scales=src:common:0.5+wei:per_oc:0.5+dst:common:0.5 --stag=axb --dtag=axb "
            "--alg=auto --attr-fpmath=any g2mb1ic4ih9iw8oc6oh9ow8kh3kw1ph2pw0dh1dw1");
  EXPECT_EQ(Line("bwd_weights/bf16/" + problem + "/bias/nchw/winograd"),
            "--conv --mode=P --dir=BWD_WB --dt=bf16 --stag=abx --dtag=abx --alg=wino "
            "mb16ic64ih112iw112oc64oh56ow56kh3kw3sh2sw2ph0pw0");
  EXPECT_EQ(Line("fwd/u8s8s32/" + problem + "/scales"),
            "--conv --mode=P --dir=FWD_I --dt=u8:s8:s32 "
            "--attr-scales=src:common:0.5+wei:per_oc:0.5 "
            "mb16ic64ih112iw112oc64oh56ow56kh3kw3sh2sw2ph0pw0");
  EXPECT_EQ(Line("fwd/f32/n1c1h1w1k1r1s1/bias"), "");  // FWD_I has no bias
  const auto line_of = [](std::string_view type, ProductDirection direction,
                          const std::function<void(Conv2dCase&)>& add) {
    Conv2dCase conv;
    conv.type = type;
    conv.types = workload::ProductTypesFromKey(type);
    conv.direction = direction;
    add(conv);
    return ConvBenchdnn(conv).value_or("");
  };
  const auto relu = [](Conv2dCase& conv) { conv.eltwise = workload::Eltwise::kRelu; };
  const auto bias = [](Conv2dCase& conv) { conv.bias = true; };
  const auto scales = [](Conv2dCase& conv) { conv.scales = true; };
  const auto training = [](Conv2dCase& conv) { conv.training = true; };
  EXPECT_NE(line_of("f32", kForward, relu), "");
  EXPECT_EQ(line_of("f64", kForward, relu), "");
  EXPECT_EQ(line_of("tf32", kForward, relu), "");
  EXPECT_EQ(line_of("f32", kBackwardData, bias), "");
  EXPECT_EQ(line_of("f32", kBackwardData, relu), "");
  EXPECT_EQ(line_of("f32", kBackwardData, scales), "");
  EXPECT_EQ(line_of("f32", kBackwardWeights, training), "");
}

workload::BenchmarkName RandomBenchmark(std::mt19937& random) {
  const auto of = [&](const std::vector<std::string>& choices) {
    return choices[random() % choices.size()];
  };
  const auto problem = fakes::RandomConv2d(
      random,
      {.groups = 3, .images = 4, .channels = 5, .taps = 5, .places = 20, .steps = 3, .padding = 5});
  workload::BenchmarkName name{
      "Conv2D",
      "cpu",
      "onednn",
      of({"fwd", "fwd", "bwd_data", "bwd_weights"}),
      of({"f32", "bf16", "f16", "int8", "u8s8s8", "u8s8s32", "s8s8s8", "s8s8u8", "s8s8f32",
          "bf16bf16f32", "bf16f32bf16", "f32bf16bf16"}),
      ToText(problem),
      {}};
  const auto maybe = [&](bool possible, const std::vector<std::string>& choices) {
    if (possible && random() % 2 == 0) name.options.push_back(of(choices));
  };
  const bool forward = name.direction == "fwd";
  const bool bytes = name.type == "int8" || name.type.find("s8") != std::string::npos;
  maybe(forward, {"training"});
  maybe(!name.options.empty() || name.direction == "bwd_weights", {"bias"});
  maybe(forward, {"relu"});
  maybe(forward && bytes, {"scales"});
  maybe(true, {"nchw", "nhwc"});
  maybe(true, {"auto", "winograd"});
  maybe(true, {"fpmath-bf16", "fpmath-f16", "fpmath-tf32", "fpmath-any"});
  return name;
}

// Places of a filter along one direction of an image, padding included; counted.
int64_t Places(int64_t padded, int64_t taps, int64_t stride, int64_t dilation) {
  int64_t places = 0;
  while (places * stride + (taps - 1) * dilation < padded) ++places;
  return places;
}

// The name of all problems that differ in padding that no filter reads alone: symmetric if there is
// such a one, else with the least padding behind the image.
Conv2dProblem Representative(Conv2dProblem p) {
  const auto far = [](int64_t size, int64_t near, int64_t own, auto places) {
    const int64_t wanted = places(size + near + own);
    if (places(size + near + near) == wanted) return near;
    int64_t least = 0;
    while (places(size + near + least) != wanted) ++least;
    return least;
  };
  p.pad_bottom = far(p.h, p.pad_top, p.pad_bottom,
                     [&](int64_t padded) { return Places(padded, p.r, p.stride_h, p.dilation_h); });
  p.pad_right = far(p.w, p.pad_left, p.pad_right,
                    [&](int64_t padded) { return Places(padded, p.s, p.stride_w, p.dilation_w); });
  return p;
}

TEST(ConvBenchdnn, ReadsBackAsTheSameBenchmark) {
  std::mt19937 random(7);
  for (int i = 0; i < 8000; ++i) {
    auto name = RandomBenchmark(random);
    const auto problem = ParseConv2d(name.problem);
    const auto line = ConvBenchdnn(ReadOnednnConv2dCase(name)).value_or("");
    ASSERT_NE(line, "") << workload::ToText(name);
    name.problem = ToText(Representative(problem));
    ASSERT_EQ(fakes::BenchmarkOf(line), workload::ToText(name)) << line;
    const auto again = ReadOnednnConv2dCase(name);
    ASSERT_EQ(delta::OutputRows(again.problem), delta::OutputRows(problem));
    ASSERT_EQ(delta::OutputColumns(again.problem), delta::OutputColumns(problem));
    // The name of what was read is the name of its own line.
    ASSERT_EQ(ConvBenchdnn(again), line);
  }
}

}  // namespace
}  // namespace dlroof::conv2d
