#include "bench/conv2d/onednn_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Conv2dCase CaseOf(const std::string& problem, ProductDirection direction) {
  Conv2dCase conv;
  conv.problem = ParseConv2d(problem);
  conv.direction = direction;
  return conv;
}

std::vector<Conv2dProduct> DataProducts(const std::string& problem) {
  return ProductsInside(CaseOf(problem, ProductDirection::kBackwardData),
                        "brgconv_strided:avx512_core");
}

double MultiplyAdds(const std::vector<Conv2dProduct>& products) {
  double sum = 0;
  for (const auto& [m, n, k, count] : products) sum += static_cast<double>(m * n * k) * count;
  return sum;
}

TEST(ProductsInside, ADataGradientWithStrideHasOneForEachRemainder) {
  // A stride of two sends two of three taps to one remainder and one to the other.
  const auto products = DataProducts("n1c128h8w8k16r3s3_s2p1:0x1:0");
  ASSERT_EQ(products.size(), 4U);
  EXPECT_EQ(products[0].k, 16 * 4);
  EXPECT_EQ(products[1].k, 16 * 2);
  EXPECT_EQ(products[2].k, 16 * 2);
  EXPECT_EQ(products[3].k, 16 * 1);
  for (const auto& product : products) {
    EXPECT_EQ(product.m, 4);
    EXPECT_EQ(product.n, 64);
    EXPECT_DOUBLE_EQ(product.count, 2 * 4);  // blocks of channels x rows
  }
}

TEST(ProductsInside, RemaindersThatNoTapMeetsHaveNone) {
  EXPECT_THAT(DataProducts("n3c32h14w14k8r1s1_s2"), ElementsAre(Conv2dProduct{7, 32, 8, 21}));
}

TEST(ProductsInside, TogetherHaveTheMultiplyAddsOfTheProblem) {
  for (const auto* problem :
       {"n2c64h14w14k32r3s3_s2p1", "n1c96h9w11k16r5s3_s3p1", "n2c32h12w12k64r3s3_s2p2d2",
        "n1c64h16w16k64r2s2_s4", "n4c8h10w10k8r3s3_s2p1g2"})
    EXPECT_DOUBLE_EQ(MultiplyAdds(DataProducts(problem)),
                     static_cast<double>(DenseFlops(ParseConv2d(problem))) / 2)
        << problem;
}

TEST(ProductsInside, AWeightGradientOf1x1IsOneAnImage) {
  EXPECT_THAT(ProductsInside(CaseOf("n16c256h56w56k64r1s1", ProductDirection::kBackwardWeights),
                             "jit_1x1:avx512_core"),
              ElementsAre(Conv2dProduct{64, 256, 56 * 56, 16}));
}

TEST(ProductsInside, AreNotKnownOfOtherKernels) {
  EXPECT_THAT(ProductsInside(CaseOf("n1c64h8w8k64r1s1", ProductDirection::kForward),
                             "brgconv_1x1:avx512_core"),
              IsEmpty());
  EXPECT_THAT(ProductsInside(CaseOf("n1c64h8w8k64r3s3_p1", ProductDirection::kBackwardWeights),
                             "jit:avx512_core"),
              IsEmpty());
}

}  // namespace
}  // namespace dlroof
