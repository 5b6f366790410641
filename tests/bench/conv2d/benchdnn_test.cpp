#include "bench/suites/benchdnn.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "tests/bench/random_problems.h"

namespace dlroof::conv2d {
namespace {

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
    EXPECT_THAT(suites::ReadBenchdnn(fmt::format("--conv {}", text), "line").at(0).reason,
                testing::HasSubstr(reason))
        << text;
}

constexpr auto kForward = ProductDirection::kForward;
constexpr auto kBackwardData = ProductDirection::kBackwardData;
constexpr auto kBackwardWeights = ProductDirection::kBackwardWeights;

// Returns the arguments of a name's rest, or "" if there are none.
std::string Line(const std::string& rest) {
  const auto line =
      ConvBenchdnn(ReadOnednnConv2dCase(workload::ParseBenchmarkName("Conv2D/cpu/onednn/" + rest)));
  return line.value_or("");
}

TEST(ConvBenchdnn, RepeatsTheCallAndLeavesDefaultsOut) {
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
}

TEST(ConvBenchdnn, IsEmptyWhereBenchdnnHasNoSuchCall) {
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
    const auto read = suites::ReadBenchdnn(line, "line");
    ASSERT_EQ(read.size(), 1) << line;
    name.problem = ToText(Representative(problem));
    ASSERT_EQ(read[0].name, workload::ToText(name)) << line << ": " << read[0].reason;
    const auto again = ReadOnednnConv2dCase(workload::ParseBenchmarkName(read[0].name.value()));
    ASSERT_EQ(delta::OutputRows(again.problem), delta::OutputRows(problem));
    ASSERT_EQ(delta::OutputColumns(again.problem), delta::OutputColumns(problem));
    // The name of what was read is the name of its own line.
    ASSERT_EQ(ConvBenchdnn(again), line);
  }
}

}  // namespace
}  // namespace dlroof::conv2d
