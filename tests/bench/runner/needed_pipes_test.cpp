#include "bench/runner/needed_pipes.h"

#include <gtest/gtest.h>

namespace dlroof::runner {
namespace {

using Pipes = std::set<std::string>;

TEST(NeededPipes, AreThoseOfTheTypeAndOfElementwiseParts) {
  EXPECT_EQ(NeededPipes("f32", ""), Pipes{"fp32.vector"});
  EXPECT_EQ(NeededPipes("bf16", ""), (Pipes{"bf16.matrix", "bf16.vector", "fp32.vector"}));
  EXPECT_EQ(NeededPipes("f16", ""), (Pipes{"fp16.matrix", "fp16.vector", "fp32.vector"}));
  EXPECT_EQ(NeededPipes("f64", ""), (Pipes{"fp64.matrix", "fp64.vector", "fp32.vector"}));
  for (const auto* type : {"int8", "s8s8f32", "u8u8u8u8"})
    EXPECT_EQ(NeededPipes(type, ""), (Pipes{"int8.matrix", "int8.vector", "fp32.vector"})) << type;
}

TEST(NeededPipes, OfMixedTypesAreThoseOfEach) {
  EXPECT_EQ(NeededPipes("bf16f16f32", ""),
            (Pipes{"bf16.matrix", "bf16.vector", "fp16.matrix", "fp16.vector", "fp32.vector"}));
}

TEST(NeededPipes, OfF32MayBeThoseOfTheTypeThatItIsConvertedTo) {
  const auto pipes = NeededPipes("f32", "fpmath=bf16");
  EXPECT_TRUE(pipes.contains("bf16.matrix"));
  EXPECT_TRUE(pipes.contains("fp32.vector"));
}

}  // namespace
}  // namespace dlroof::runner
