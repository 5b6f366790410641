#include "counters/work.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

TEST(WorkKeys, EveryLevelAndProvenanceSurvivesItsText) {
  for (const Level level : AllLevels()) EXPECT_EQ(LevelFromKey(Key(level)), level);
  for (const Provenance from : AllProvenances()) EXPECT_EQ(ProvenanceFromKey(Key(from)), from);
  EXPECT_EQ(LevelFromKey("l4"), std::nullopt);
  EXPECT_EQ(ProvenanceFromKey("guessed"), std::nullopt);
}

TEST(WorkKeys, APipeIsATypeAndAUnitAndPerhapsAFinerRow) {
  EXPECT_TRUE(IsPipeKey("fp32.vector"));
  EXPECT_TRUE(IsPipeKey("int8.matrix"));
  EXPECT_TRUE(IsPipeKey("fp32.vector.avx2"));
  EXPECT_TRUE(IsPipeKey("int32.vector"));
  for (const char* bad :
       {"", "fp32", "fp32.", ".vector", "fp31.vector", "fp32.scalar", "fp32.vector."})
    EXPECT_FALSE(IsPipeKey(bad)) << bad;
}

TEST(TotalFlops, IsUnknownWithoutPipesAndZeroWithAnIdleOne) {
  EXPECT_EQ(TotalFlops({}), std::nullopt);
  Work none;
  none.flops["fp32.vector"] = 0;
  EXPECT_EQ(TotalFlops(none), 0);
  EXPECT_EQ(TotalFlops({.flops = {{"bf16.matrix", 30}, {"fp32.vector", 12}}}), 42);
}

}  // namespace
}  // namespace dlroof
