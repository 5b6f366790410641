#include <gmock/gmock.h>

#include <algorithm>

#include "bench/onednn/call.h"
#include "bench/workload/workload.h"
#include "tests/fakes/logged_primitives.h"
#include "tests/fakes/outcome.h"

namespace dlroof::attention {
namespace {

// Odd sizes, each mask, shared heads, one query, and queries of which some see few keys.
constexpr const char* kEveryMask[] = {"b1h1q1k1d1",
                                      "b2h3q17k33d5",
                                      "b2h4q33k33d17_kv2tl",
                                      "b1h3q31k65d64_br",
                                      "b1h2q65k31d16_tl",
                                      "b2h6q1k129d64_kv2",
                                      "b1h8q1k100d33_kv1",
                                      "b1h2q64k64d32_w7tl",
                                      "b1h2q16k100d32_w33br",
                                      "b3h2q5k40d16_l1:40:7",
                                      "b2h4q8k64d64_kv2l9:64br",
                                      "b2h2q20k20d8_w5l17:20tl",
                                      "b1h2q1k300d128_w128br",
                                      "b1h4q128k128d128_tl"};

TEST(AttentionOnednn, AgreesWithTheReferenceAndSaysWhatTheLibraryChose) {
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const std::string problem : kEveryMask)
      for (const std::string option : {"", "/graph"}) {
        const bool shared = problem.find("_kv") != std::string::npos;
        if (option == "/graph" && shared && onednn::IsVersion32()) continue;  // no reshapes
        fakes::ExpectAgrees("Attention/cpu/onednn/fwd/" + type + "/" + problem + option, type);
      }
  // Four tensors, the scores in f32, the weights, and the mask.
  const auto call = fakes::Prepared("Attention/cpu/onednn/fwd/f32/b2h4q8k16d32_kv2br");
  EXPECT_TRUE(call.algorithm.starts_with("unfused ")) << call.algorithm;
  EXPECT_EQ(std::ranges::count(call.algorithm, '+'), 3) << call.algorithm;
  EXPECT_FALSE(call.isa.empty());
  EXPECT_EQ(call.modelled.launches, 4);
  EXPECT_EQ(fakes::BytesOf(call),
            (fakes::ListedBytes{
                0, 4 * (2 * 2 * 4 * 8 * 32 + 2 * 2 * 2 * 16 * 32 + 2 * 2 * 4 * 8 * 16 + 8 * 16)}));
  // All 16 keys are computed for queries that see 9 to 16 of them.
  EXPECT_DOUBLE_EQ(call.explain.executed_over_useful.value(), 16 / 12.5);
}

TEST(AttentionOnednn, BackwardAgreesWithTheReferenceAlsoWithOtherInputsInTheSameMemory) {
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const std::string problem : kEveryMask)
      fakes::ExpectAgrees("Attention/cpu/onednn/bwd/" + type + "/" + problem, type);
  const auto call = fakes::Prepared("Attention/cpu/onednn/bwd/f32/b2h4q8k16d32_kv2br");
  EXPECT_EQ(std::ranges::count(call.algorithm, '+'), 9) << call.algorithm;
  EXPECT_EQ(call.modelled.launches, 10);
  call.new_inputs(2);
  EXPECT_TRUE(call.verify().ok);
  // q, o, do, dq, products of do and o; k, v, dk, dv; weights and gradients of scores; sums and
  // statistics; the mask.
  EXPECT_EQ(fakes::BytesOf(call),
            (fakes::ListedBytes{0, 4 * (5 * 2 * 4 * 8 * 32 + 4 * 2 * 2 * 16 * 32 +
                                        2 * 2 * 4 * 8 * 16 + 2 * 2 * 4 * 8 + 8 * 16)}));
  EXPECT_DOUBLE_EQ(call.explain.executed_over_useful.value(), 16 / 12.5);
}

// Version 3.2 divides the pattern; newer ones, which compile it in one partition, may fuse it.
TEST(AttentionOnednn, GraphSaysHowTheLibraryDividesItAlsoTheSecondTime) {
  const std::string name = "Attention/cpu/onednn/fwd/f32/b2h4q8k16d32_br";
  const auto unfused = fakes::Prepared(name), graph = fakes::Prepared(name + "/graph");
  EXPECT_THAT(graph.algorithm, testing::StartsWith("graph, "));
  EXPECT_EQ(graph.modelled.parts, unfused.modelled.parts);
  EXPECT_EQ(graph.modelled.bytes, unfused.modelled.bytes);
  EXPECT_EQ(graph.explain.executed_over_useful, unfused.explain.executed_over_useful);
  if (onednn::IsVersion32()) {
    EXPECT_THAT(graph.algorithm,
                testing::MatchesRegex("graph, 3 partitions: MatMul.Multiply.Add by .*, SoftMax by "
                                      ".*, MatMul by .*"));
    EXPECT_EQ(graph.modelled.launches, 3);
    EXPECT_EQ(fakes::BytesOf(graph).rest,
              fakes::BytesOf(unfused).rest + 4 + 4 * 8 * 16);  // scale and a second mask
  } else {
    EXPECT_EQ(graph.modelled.launches, 1) << graph.algorithm;
  }
  EXPECT_EQ(fakes::Prepared(name + "/graph").algorithm, graph.algorithm);
}

// The library computes every pair. Its scale, a x + b, counts two per pair where ours counts one;
// the mask is one addition per pair.
TEST(AttentionOnednn, HasTheFlopsOfTheLibrarysLogWithoutAMaskAndWhatCannotFitIsNotTried) {
  constexpr double kPairs = 2 * 4 * 8 * 16;
  const auto prepared = [](const std::string& problem) {
    return fakes::Prepared("Attention/cpu/onednn/fwd/f32/" + problem);
  };
  const auto all = prepared("b2h4q8k16d32_kv2");
  const double dense = all.modelled.parts.at("matrix") + all.modelled.parts.at("elementwise");
  EXPECT_EQ(fakes::WorkOf(fakes::LoggedPrimitives(all)).flops, dense + kPairs);
  EXPECT_EQ(fakes::WorkOf(fakes::LoggedPrimitives(prepared("b2h4q8k16d32_kv2br"))).flops,
            dense + 2 * kPairs);
  EXPECT_THAT(fakes::Outcome("Attention/cpu/onednn/fwd/f32/b1h32q1048576k1048576d128_tl"),
              testing::HasSubstr("GB of memory"));
}

}  // namespace
}  // namespace dlroof::attention
