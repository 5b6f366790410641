// The suites with attention against what is published about their models.
#include <gtest/gtest.h>

#include "bench/attention/attention.h"
#include "bench/conv2d/case.h"
#include "bench/conv2d/conv3d.h"
#include "bench/matmul/case.h"
#include "bench/matmul/grouped.h"
#include "bench/suites/suite.h"

namespace dlroof::attention {
namespace {

struct ModelFlops {
  int64_t products = 0, attention = 0;  // [flop] of one pass

  bool operator==(const ModelFlops&) const = default;
};
ModelFlops FlopsOf(const std::string& suite) {
  ModelFlops sum;
  const auto suites = suites::SelectSuites({suite});
  EXPECT_TRUE(suites.at(0).counted) << suite;
  for (const auto& layer : suites.at(0).layers) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.type != "bf16") continue;
    if (name.op == "Matmul") {
      sum.products += layer.count * matmul::Flops(matmul::ParseMatmul(name.problem));
    } else {
      const auto problem = ParseAttention(name.problem);
      sum.attention += layer.count * 4 * problem.d * Pairs(problem);
    }
  }
  return sum;
}

// Llama 3 8B has 8,030,261,248 parameters (its model card says 8.03 B): each is multiplied once per
// token, but the embedding of 128,256 words and 65 norms of 4096, and in a prompt the projection to
// words but once. Attention: 32 layers x 32 heads x 4 x 128 per pair; 2048 x 2049 / 2 pairs.
TEST(Llama3Suites, MultiplyEachParameterOncePerToken) {
  constexpr int64_t kWords = int64_t{128256} * 4096;
  constexpr int64_t kLayers = 8030261248 - 2 * kWords - 65 * 4096;
  constexpr int64_t kPair = 32 * 32 * 4 * 128;
  EXPECT_EQ(FlopsOf("llama3_8b"),
            (ModelFlops{2 * (2048 * kLayers + kWords), kPair * 2048 * 2049 / 2}));
  EXPECT_EQ(FlopsOf("llama3_8b_decode"), (ModelFlops{2 * (kLayers + kWords), kPair * 4096}));
  EXPECT_EQ(FlopsOf("llama3_8b_decode16"),
            (ModelFlops{16 * 2 * (kLayers + kWords), 16 * kPair * 4096}));
}

// A layer's weights: four of 1024 x 1024, two of 1024 x 4096; the pooler, of one token, 1024 x
// 1024.
TEST(BertLargeSuite, HasItsWeightsAndTheDensePairs) {
  EXPECT_EQ(FlopsOf("bert_large"),
            (ModelFlops{2 * (384 * int64_t{24} * (4 + 2 * 4) + 1) * 1024 * 1024,
                        int64_t{24} * 16 * 4 * 64 * 384 * 384}));
}

struct Parameters {
  const char* suite;
  int64_t published, left_out;  // [1]
};
// The weights and biases of the calls of one type, each once, are what models publish less what no
// call multiplies.
class ModelWeights : public testing::TestWithParam<Parameters> {};

TEST_P(ModelWeights, AreThePublishedParameters) {
  const auto& [suite, published, left_out] = GetParam();
  const auto suites = suites::SelectSuites({suite});
  EXPECT_TRUE(suites.at(0).counted);
  int64_t weights = 0;
  for (const auto& layer : suites.at(0).layers) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.type != "bf16" || name.op == "Attention") continue;
    int64_t inputs = 0, outputs = 0;
    if (name.op == "Matmul") {
      const auto product = matmul::ParseMatmul(name.problem);
      inputs = product.k, outputs = product.n;
    } else if (name.op == "GroupedMatmul") {
      const auto problem = matmul::ParseGrouped(name.problem);
      inputs = problem.k, outputs = problem.g * problem.n;
    } else if (name.op == "Conv3D") {
      const auto problem = conv2d::ParseConv3d(name.problem);
      inputs = problem.c, outputs = problem.k;
      for (const auto& axis : problem.axes) inputs *= axis.filter;
    } else {
      const auto problem = conv2d::ParseConv2d(name.problem);
      inputs = problem.c * problem.r * problem.s, outputs = problem.k;
    }
    weights += layer.count * outputs * (inputs + (workload::HasOption(name, "bias") ? 1 : 0));
  }
  EXPECT_EQ(weights, published - left_out);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelWeights,
    testing::Values(
        // Left out: the embedding of 128,256 words, 161 norms.
        Parameters{"llama3_70b", 70553706496, int64_t{128256} * 8192 + 161 * 8192},
        Parameters{"llama3_70b_decode16", 70553706496, int64_t{128256} * 8192 + 161 * 8192},
        // The embedding of 151,936 words; norms of 48 layers: two of 2048, two of 128; the last.
        Parameters{"qwen3_moe", 30532122624, int64_t{151936} * 2048 + 48 * 4352 + 2048},
        Parameters{"qwen3_moe_decode16", 30532122624, int64_t{151936} * 2048 + 48 * 4352 + 2048},
        // torchvision's count: class token, positions, 49 norms, the bias of the patches.
        Parameters{"vit_l", 304326632, 198 * 1024 + 49 * 2048 + 1024},
        // Group and layer norms.
        Parameters{"sdxl_unet", 2567463684, 588160},
        // Two norms of each block: 7 of 384 channels, one of 192 and 384, 3 of 192, 3 of 96;
        // those of attention and of the result.
        Parameters{"video_vae", 73295603, 7 * 768 + 576 + 3 * 384 + 3 * 192 + 384 + 96}),
    [](const auto& made) { return made.param.suite; });

}  // namespace
}  // namespace dlroof::attention
