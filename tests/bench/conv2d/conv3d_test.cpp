#include "bench/conv2d/conv3d.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bench/conv2d/case.h"
#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "counters/base/error.h"
#include "tests/bench/random_problems.h"
#include "tests/fakes/refusal.h"

namespace dlroof::conv2d {
namespace {

using fakes::Between;
using testing::HasSubstr;

Conv3dProblem RandomProblem(std::mt19937& random, int64_t most) {
  Conv3dProblem p;
  p.groups = Between(random, 1, 3);
  p.n = Between(random, 1, 2);
  p.c = p.groups * Between(random, 1, 2);
  p.k = p.groups * Between(random, 1, 3);
  for (auto& axis : p.axes) {
    axis = {.size = Between(random, 1, most),
            .filter = Between(random, 1, 3),
            .stride = Between(random, 1, 3),
            .dilation = Between(random, 1, 2),
            .pad_before = Between(random, 0, 3),
            .pad_after = Between(random, 0, 2)};
    const int64_t extent = (axis.filter - 1) * axis.dilation + 1;
    axis.size = std::max(axis.size, extent - axis.pad_before - axis.pad_after);
  }
  return p;
}

// A product of the convolution: row-major indices into source, weights and destination.
struct Term {
  int64_t source, weight, destination;
};

// Every multiply-add inside the volume, by the definition in seven nested loops.
std::vector<Term> AllTerms(const Conv3dProblem& p) {
  std::vector<Term> terms;
  const auto [d, h, w] = p.axes;
  const int64_t depth = p.c / p.groups, filters = p.k / p.groups;
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t k = 0; k < p.k; ++k)
      for (int64_t c = 0; c < depth; ++c)
        for (int64_t out = 0; out < Outputs(d) * Outputs(h) * Outputs(w); ++out)
          for (int64_t tap = 0; tap < d.filter * h.filter * w.filter; ++tap) {
            const int64_t z = out / (Outputs(h) * Outputs(w)) * d.stride +
                              tap / (h.filter * w.filter) * d.dilation - d.pad_before;
            const int64_t y = out / Outputs(w) % Outputs(h) * h.stride +
                              tap / w.filter % h.filter * h.dilation - h.pad_before;
            const int64_t x =
                out % Outputs(w) * w.stride + tap % w.filter * w.dilation - w.pad_before;
            if (z < 0 || y < 0 || x < 0 || z >= d.size || y >= h.size || x >= w.size) continue;
            const int64_t channel = k / filters * depth + c;
            terms.push_back({(((n * p.c + channel) * d.size + z) * h.size + y) * w.size + x,
                             (k * depth + c) * d.filter * h.filter * w.filter + tap,
                             (n * p.k + k) * Outputs(d) * Outputs(h) * Outputs(w) + out});
          }
  return terms;
}

TEST(Conv3d, ProblemAndTextAreInverse) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto problem = RandomProblem(random, 90);
    const auto text = ToText(problem);
    ASSERT_EQ(ParseConv3d(text), problem) << text;
    ASSERT_EQ(ToText(ParseConv3d(text)), text);
  }
  EXPECT_EQ(ParseConv3d("n1c2d3h4w5k6t1r2s3_s1x2x2p2:0x1:1x0:1d1x1x2g2").axes[2],
            (VolumeAxis{5, 3, 2, 2, 0, 1}));
}

TEST(Conv3d, FlopsAndElementsAreThoseOfTheDefinition) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    Conv3dCase conv;
    conv.problem = RandomProblem(random, 5);
    const auto terms = AllTerms(conv.problem);
    const auto text = ToText(conv.problem);
    ASSERT_EQ(Flops(conv.problem), 2 * std::ssize(terms)) << text;
    ASSERT_LE(Flops(conv.problem), DenseFlops(conv.problem)) << text;
    for (const auto direction : {ProductDirection::kForward, ProductDirection::kBackwardData,
                                 ProductDirection::kBackwardWeights}) {
      conv.direction = direction;
      const auto in = workload::SeededInputs(conv, 3);
      const auto right = ResultOf(conv, in);
      std::vector<double> sums(static_cast<size_t>(right.count));
      std::vector<int64_t> counts(sums.size());
      for (const auto& [source, weight, destination] : terms) {
        const auto [at, first, second] =
            direction == ProductDirection::kForward
                ? std::tuple(destination, in.source.at(source), in.weights.at(weight))
            : direction == ProductDirection::kBackwardData
                ? std::tuple(source, in.destination.at(destination), in.weights.at(weight))
                : std::tuple(weight, in.source.at(source), in.destination.at(destination));
        sums.at(at) += double{first} * double{second};
        ++counts.at(at);
      }
      for (int64_t j = 0; j < right.count; ++j) {
        ASSERT_NEAR(right.element(j).value, sums.at(j), 1e-12) << text << ' ' << j;
        ASSERT_LE(counts.at(j), right.terms) << text;
      }
      for (const auto index : right.sample(100, 7)) ASSERT_LT(index, right.count) << text;
    }
  }
}

TEST(Conv3d, SizesAreThoseOfItsTensors) {
  Conv3dCase conv;
  conv.problem = ParseConv3d("n2c4d5h6w7k6t3r1s2_p2:0x0:0x0:0g2");
  const auto sizes = SizesOf(conv);
  EXPECT_EQ(sizes.source, 2 * 4 * 5 * 6 * 7);
  EXPECT_EQ(sizes.weights, 6 * 2 * 3 * 1 * 2);
  EXPECT_EQ(sizes.destination, 2 * 6 * 5 * 6 * 6);  // 5 + 2 - 2 frames
  EXPECT_EQ(sizes.terms, 2 * 3 * 2);
}

TEST(Conv3d, RefusesWhatIsNoProblemWithItsColumn) {
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf([&] { ParseConv3d(text, 10); });
  };
  EXPECT_THAT(refusal("n1c1d2h4w4k1t3r1s1"),
              HasSubstr("column 11: the filter spans 3 frames but the padded volume has 2"));
  EXPECT_THAT(refusal("n1c1d4h4w4k1t1r1s1_s1x1x1"), HasSubstr("column 29: write this problem as"));
  EXPECT_THAT(refusal("n1c1d4h4w4k1t1r1s1_p1:1x0:0x0:0d2"), HasSubstr("p1x0x0d2"));
  EXPECT_THAT(refusal("n1c3d4h4w4k2t1r1s1_g2"), HasSubstr("3 channels do not divide"));
  EXPECT_THAT(refusal("n1c1h4w4k1r1s1"), HasSubstr("column 15: expected 'd'"));
  EXPECT_THAT(refusal("n1c2000000000d2000000000h2000000000w1k1t1r1s1"), HasSubstr("overflow"));
}

std::string NameOfLine(const std::string& line) {
  const auto found = suites::ReadBenchdnn(line, "line");
  return found.at(0).name.value_or(found.at(0).reason);
}

TEST(Conv3d, BenchdnnsLinesAreItsNamesAndBack) {
  EXPECT_EQ(NameOfLine("--conv --dir=FWD_I g2mb3ic4id5ih6iw7oc6kd3kh3kw1pd1ph1pw0sd2"),
            "Conv3D/cpu/onednn/fwd/f32/n3c4d5h6w7k6t3r3s1_s2x1x1p1x1x0g2");
  // Two frames of padding in front, none behind: 5 + 2 - 2 outputs.
  EXPECT_EQ(NameOfLine("--conv --dir=BWD_D mb1ic4id5ih6iw6oc6od5oh6ow6kd3kh3kw3pd2ph1pw1"),
            "Conv3D/cpu/onednn/bwd_data/f32/n1c4d5h6w6k6t3r3s3_p2:0x1:1x1:1");
  EXPECT_EQ(NameOfLine("--conv --stag=axb --dtag=axb id4ic4oc4kd1"),
            "layout or algorithm of a 3-D convolution");
  std::mt19937 random(4);
  for (int i = 0; i < 300; ++i) {
    auto problem = RandomProblem(random, 9);
    for (auto& axis : problem.axes) {
      axis.pad_after = axis.pad_before;
      axis.size += 2;  // the filter fits
    }
    const auto name = "Conv3D/cpu/onednn/fwd/bf16/" + ToText(problem) + "/bias";
    const auto line = ConvBenchdnn(ReadOnednnConv3dCase(workload::ParseBenchmarkName(name)));
    ASSERT_FALSE(line) << "benchdnn has no inference with bias";
    const auto trains = "Conv3D/cpu/onednn/fwd/bf16/" + ToText(problem) + "/training/bias";
    const auto repro = ConvBenchdnn(ReadOnednnConv3dCase(workload::ParseBenchmarkName(trains)));
    ASSERT_TRUE(repro);
    ASSERT_EQ(NameOfLine(*repro), trains) << *repro;
  }
}

}  // namespace
}  // namespace dlroof::conv2d
