#include <gtest/gtest.h>

#include <random>

#include "bench/conv2d/benchdnn.h"
#include "bench/suites/benchdnn_suite.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

constexpr auto kForward = ProductDirection::kForward;
constexpr auto kBackwardData = ProductDirection::kBackwardData;
constexpr auto kBackwardWeights = ProductDirection::kBackwardWeights;

// The arguments of a name's rest.
std::string Line(const std::string& rest) {
  return ConvBenchdnn(ReadOnednnConv2dCase(ParseBenchmarkName("Conv2D/cpu/onednn/" + rest)));
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
                          bool ProductCase::*option) {
    Conv2dCase one;
    one.type = type;
    one.types = ProductTypesFromKey(type);
    one.direction = direction;
    one.*option = true;
    return ConvBenchdnn(one);
  };
  EXPECT_NE(line_of("f32", kForward, &ProductCase::relu), "");
  EXPECT_EQ(line_of("f64", kForward, &ProductCase::relu), "");
  EXPECT_EQ(line_of("tf32", kForward, &ProductCase::relu), "");
  EXPECT_EQ(line_of("f32", kBackwardData, &ProductCase::bias), "");
  EXPECT_EQ(line_of("f32", kBackwardData, &ProductCase::relu), "");
  EXPECT_EQ(line_of("f32", kBackwardData, &ProductCase::scales), "");
  EXPECT_EQ(line_of("f32", kBackwardWeights, &ProductCase::training), "");
}

struct RandomBenchmark {
  Conv2dProblem problem;
  ProductDirection direction = kForward;
  std::string type;
  std::vector<std::string> options;  // in the order of a name
};

class RandomBenchmarks {
 public:
  RandomBenchmark Next() {
    RandomBenchmark one;
    one.problem = Problem();
    one.direction = Of(std::vector{kForward, kForward, kBackwardData, kBackwardWeights});
    const bool forward = one.direction == kForward;
    const std::vector<std::string> types = {"f32",     "bf16",        "f16",         "int8",
                                            "u8s8s8",  "u8s8s32",     "s8s8s8",      "s8s8u8",
                                            "s8s8f32", "bf16bf16f32", "bf16f32bf16", "f32bf16bf16"};
    one.type = Of(types);
    if (forward && Below(2) == 0) one.options.emplace_back("training");
    const bool may_have_bias = !one.options.empty() || one.direction == kBackwardWeights;
    if (may_have_bias && Below(2) == 0) one.options.emplace_back("bias");
    if (forward && Below(3) == 0) one.options.emplace_back("relu");
    const bool bytes = one.type == "int8" || one.type.find("s8") != std::string::npos;
    if (forward && bytes && Below(2) == 0) one.options.emplace_back("scales");
    for (const auto& row : {Row{"nchw", "nhwc"}, Row{"auto", "winograd"},
                            Row{"fpmath-bf16", "fpmath-f16", "fpmath-tf32", "fpmath-any"}})
      if (Below(3) == 0) one.options.push_back(Of(row));
    return one;
  }

 private:
  using Row = std::vector<std::string>;

  size_t Below(size_t end) { return random_() % end; }
  template <typename T>
  T Of(const std::vector<T>& choices) {
    return choices[Below(choices.size())];
  }
  int64_t From(int64_t least, size_t count) { return least + static_cast<int64_t>(Below(count)); }

  Conv2dProblem Problem() {
    for (;;) {
      Conv2dProblem p;
      p.groups = From(1, 3);
      p.n = From(1, 4);
      p.c = p.groups * From(1, 5);
      p.k = p.groups * From(1, 5);
      p.h = From(1, 20);
      p.w = Below(2) == 0 ? p.h : From(1, 20);
      p.r = From(1, 5);
      p.s = Below(2) == 0 ? p.r : From(1, 5);
      p.stride_h = From(1, 3);
      p.stride_w = Below(2) == 0 ? p.stride_h : From(1, 3);
      p.dilation_h = From(1, 3);
      p.dilation_w = Below(2) == 0 ? p.dilation_h : From(1, 3);
      p.pad_top = p.pad_bottom = p.pad_left = p.pad_right = From(0, 4);
      if (Below(2) == 0) p.pad_bottom = From(0, 5);
      if (Below(2) == 0) p.pad_left = p.pad_right = From(0, 4);
      if (Below(3) == 0) p.pad_right = From(0, 5);
      try {
        return ParseConv2d(ToText(p));
      } catch (const BadInput&) {  // a filter that does not fit
      }
    }
  }

  std::mt19937 random_{7};
};

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
  RandomBenchmarks benchmarks;
  for (int i = 0; i < 8000; ++i) {
    const auto one = benchmarks.Next();
    BenchmarkName name{
        "Conv2D",   "cpu", "onednn", std::string(Key(one.direction)), one.type, ToText(one.problem),
        one.options};
    const auto line = ConvBenchdnn(ReadOnednnConv2dCase(name));
    ASSERT_NE(line, "") << ToText(name);
    const auto read = ReadBenchdnn(line, "line");
    ASSERT_EQ(read.size(), 1) << line;
    name.problem = ToText(Representative(one.problem));
    ASSERT_EQ(read[0].name, ToText(name)) << line << ": " << read[0].reason;
    const auto again = ReadOnednnConv2dCase(ParseBenchmarkName(read[0].name));
    ASSERT_EQ(OutputRows(again.problem), OutputRows(one.problem));
    ASSERT_EQ(OutputColumns(again.problem), OutputColumns(one.problem));
    // The name of what was read is the name of its own line.
    ASSERT_EQ(ConvBenchdnn(again), line);
  }
}

}  // namespace
}  // namespace dlroof
