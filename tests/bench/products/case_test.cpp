#include "bench/products/case.h"

#include <gtest/gtest.h>

#include "counters/base/error.h"

namespace dlroof::products {
namespace {

TEST(ProductTypes, HaveOneSpellingEach) {
  EXPECT_EQ(ProductTypesFromKey("int8"), (ProductTypes{"u8", "s8", "u8"}));
  EXPECT_EQ(ProductTypesFromKey("bf16bf16f32"), (ProductTypes{"bf16", "bf16", "f32"}));
  EXPECT_EQ(ProductTypesFromKey("fp8"), (ProductTypes{"e4m3", "e4m3", "e4m3"}));
  EXPECT_EQ(ProductTypesFromKey("s8s8s32"), (ProductTypes{"s8", "s8", "s32"}));
  for (const std::string_view bad :
       {"u8s8u8", "f32f32f32", "bf16bf16bf16", "u8u8u8", "s32s8u8", "f32f32", "f32f32f32f32",
        "f64f32f32", "", "int4", "e4m3e4m3f32"})
    EXPECT_THROW(ProductTypesFromKey(bad), BadInput) << bad;
}

TEST(ProductTypes, AreSpelledAsTheyAreRead) {
  for (const std::string_view key : {"f32", "f64", "int8", "fp8", "bf16bf16f32", "s8s8s32"})
    EXPECT_EQ(KeyOf(ProductTypesFromKey(key)), key);
  EXPECT_FALSE(KeyOf({"s32", "s32", "s32"}));
  EXPECT_FALSE(KeyOf({"u8", "u8", "u8"}));
}

TEST(ProductTypes, DetermineTheResultsTypeAndTheComputeType) {
  ProductCase one{.types = {"f32", "bf16", "f16"}};
  EXPECT_EQ(ResultType(one), "f16");
  one.direction = ProductDirection::kBackwardData;
  EXPECT_EQ(ResultType(one), "f32");
  one.direction = ProductDirection::kBackwardWeights;
  EXPECT_EQ(ResultType(one), "bf16");
  EXPECT_EQ(ComputeType({"f32", "bf16", "bf16"}), "bf16");
  EXPECT_EQ(ComputeType({"f16", "f16", "f32"}), "f16");
  EXPECT_EQ(ComputeType({"u8", "s8", "f32"}), "int8");
  EXPECT_EQ(ComputeType({"f32", "f32", "s8"}), "f32");
  EXPECT_EQ(ComputeType({"e4m3", "e4m3", "e4m3"}), "fp8");
  EXPECT_EQ(BiasType({"u8", "s8", "u8"}), "f32");
  EXPECT_EQ(BiasType({"bf16", "bf16", "f32"}), "bf16");
}

TEST(ProductDirection, HasOneKeyEach) {
  for (const auto direction : {ProductDirection::kForward, ProductDirection::kBackwardData,
                               ProductDirection::kBackwardWeights})
    EXPECT_EQ(ProductDirectionFromKey(Key(direction)), direction);
  EXPECT_FALSE(ProductDirectionFromKey("bwd"));
}

}  // namespace
}  // namespace dlroof::products
