// The built-in suites of matrix products, against what is published about their models.
#include <gtest/gtest.h>

#include <set>

#include "bench/matmul/case.h"
#include "bench/suites/suite_selection.h"

namespace dlroof::matmul {
namespace {

struct CountedProblem {
  workload::BenchmarkName name;
  MatmulProblem problem;
  int64_t count;
};

// Layers of one direction and type; of any type where `type` is empty.
std::vector<CountedProblem> Layers(const std::string& suite, const std::string& direction,
                                   const std::string& type) {
  std::vector<CountedProblem> layers;
  const auto suites = suites::SelectSuites({suite});
  for (const auto& layer : suites.at(0).layers) {
    const auto name = workload::ParseBenchmarkName(layer.name);
    if (name.direction == direction && (type.empty() || name.type == type))
      layers.push_back({name, ParseMatmul(name.problem), layer.count});
  }
  return layers;
}

double Flops(const std::string& suite) {
  double flops = 0;
  for (const auto& layer : Layers(suite, "fwd", "f32"))
    flops += static_cast<double>(layer.count * Flops(layer.problem));
  return flops;
}

TEST(BertSuites, HaveThePublishedFlopsAndParameters) {
  // TinyBERT (arXiv 1909.10351), table 1: BERT-base has 22.5 B FLOPs at 128 tokens and 109 M
  // parameters. Eight sequences a batch.
  EXPECT_NEAR(Flops("bert_base") / 8, 22.5e9, 0.2e9);
  for (const char* suite : {"bert_base", "bert_base_384"}) {
    int64_t parameters = 0;
    for (const auto& layer : Layers(suite, "fwd", "f32"))
      if (layer.problem.b == 1)
        parameters += layer.count * (CountB(layer.problem) + layer.problem.n);
    // Beside the products: embeddings of 30,522 words, 512 places and 2 segments, and 25 layer
    // norms, each 768 wide; the norms have two numbers each. In all 109,482,240, as the Hugging
    // Face model bert-base-uncased has.
    EXPECT_EQ(parameters + (30522 + 512 + 2 + 2 * 25) * 768, 109482240) << suite;
  }
}

// Products with weights grow with the tokens, those of the attention with their square.
TEST(BertSuites, DifferInTheirLengthAlone) {
  const double tokens = 384.0 / 128;
  double expected = 0;
  for (const auto& layer : Layers("bert_base", "fwd", "f32")) {
    const auto flops = static_cast<double>(layer.count * Flops(layer.problem));
    expected += flops * (layer.problem.b > 1 ? tokens * tokens : layer.problem.m == 8 ? 1 : tokens);
  }
  EXPECT_EQ(Flops("bert_base_384"), expected);
}

TEST(BertSuites, EveryTypeAndDirectionHasTheSameLayers) {
  for (const char* suite : {"bert_base", "bert_base_384"}) {
    const auto texts = [&](const std::string& direction, const std::string& type) {
      std::multiset<std::string> found;
      for (const auto& layer : Layers(suite, direction, type))
        found.insert(layer.name.problem + " x" + std::to_string(layer.count));
      return found;
    };
    const auto forward = texts("fwd", "f32");
    EXPECT_EQ(forward.size(), 6U);
    for (const char* type : {"bf16", "int8"}) EXPECT_EQ(texts("fwd", type), forward);
    for (const char* type : {"f32", "bf16"})
      for (const char* direction : {"bwd_data", "bwd_weights"})
        EXPECT_EQ(texts(direction, type), forward);
  }
}

// gemm_problems.h has 160, 75 and 13 rows, all different within a list. One row is in both of
// the first two lists, and three of the last are in the second.
TEST(DeepBenchGemm, HasEveryRowOnce) {
  std::set<std::string> rows, inference;
  for (const auto& layer : Layers("deepbench_gemm", "fwd", "")) {
    rows.insert(layer.name.problem);
    if (layer.name.type == "int8") inference.insert(layer.name.problem);
  }
  EXPECT_EQ(rows.size(), 160U + 75 - 1 + 13 - 4);
  EXPECT_EQ(inference.size(), 75U + 13 - 4);
}

// The first row of DeepBench's list is (m, n, k) = (1760, 16, 1760) of column-major matrices, the
// 21st has the first factor transposed, the 41st the second.
TEST(DeepBenchGemm, TurnsColumnMajorRowsAround) {
  std::set<std::string> rows;
  for (const auto& layer : Layers("deepbench_gemm", "fwd", "f32")) rows.insert(layer.name.problem);
  EXPECT_TRUE(rows.contains("m16n1760k1760"));
  EXPECT_TRUE(rows.contains("m16n1760k1760_tB"));
  EXPECT_TRUE(rows.contains("m7133n1760k1760_tA"));
}

TEST(Classifiers, HoldResNet50sLastLayer) {
  const auto layers = Layers("classifiers", "fwd", "f32");
  const auto has = [&](const std::string& problem) {
    return std::ranges::any_of(layers, [&](const auto& layer) {
      return layer.name.problem == problem && layer.name.options == std::vector<std::string>{"ip"};
    });
  };
  EXPECT_TRUE(has("m16n1000k2048"));
  // VGG-16 has 138 M parameters (its paper's table 2): 14.7 M in the convolutions' filters, the
  // rest here: 25088 x 4096 + 4096 x 4096 + 4096 x 1000 = 123.6 M.
  EXPECT_TRUE(has("m16n4096k25088") && has("m16n4096k4096") && has("m16n1000k4096"));
}

}  // namespace
}  // namespace dlroof::matmul
