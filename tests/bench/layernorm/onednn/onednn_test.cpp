#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/workload/workload.h"
#include "tests/fakes/outcome.h"

namespace dlroof::layernorm {
namespace {

TEST(LayerNormOnednn, AgreesWithTheReference) {
  for (const std::string type : {"f32", "bf16"})
    for (const auto* problem : {"m1n1", "m7n2", "m1n100", "m16n16", "m33n17", "m96n768", "m5n1000"})
      for (const auto* options : {"", "/training", "/scale", "/shift", "/training/scale/shift"})
        fakes::ExpectAgrees(fmt::format("LayerNorm/cpu/onednn/fwd/{}/{}{}", type, problem, options),
                            type);
}

TEST(LayerNormOnednn, SaysWhereItsTensorsLie) {
  const auto call =
      workload::MakeWorkload("LayerNorm/cpu/onednn/fwd/f32/m32n48/training/scale/shift")
          .prepare({.threads = 1});
  EXPECT_FALSE(call.algorithm.empty());
  size_t weights = 0, rest = 0;
  for (const auto& region : call.memory) (region.weights ? weights : rest) += region.bytes;
  EXPECT_EQ(weights, 4 * 2 * 48);
  EXPECT_EQ(rest, 4 * (2 * 32 * 48 + 2 * 32));
}

}  // namespace
}  // namespace dlroof::layernorm
