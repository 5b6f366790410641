// The suites with attention against what is published about their models.
#include <gtest/gtest.h>

#include "bench/attention/attention.h"
#include "bench/matmul/case.h"
#include "bench/suites/suite_selection.h"

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

}  // namespace
}  // namespace dlroof::attention
