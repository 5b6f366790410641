#include "bench/matmul/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/refusal.h"

namespace dlroof::matmul {
namespace {

using testing::HasSubstr;

std::string ProblemRefusal(std::string_view text) {
  return fakes::RefusalOf([&] { ParseMatmul(text, 10); });
}

TEST(MatmulProblem, ReadsWhatItWrites) {
  std::mt19937 random(1);
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 3000); };
  for (int i = 0; i < 2000; ++i) {
    const MatmulProblem problem{i % 2 == 0 ? 1 : size(), size(),           size(), size(),
                                random() % 2 == 0,       random() % 2 == 0};
    ASSERT_EQ(ParseMatmul(ToText(problem)), problem) << ToText(problem);
  }
  EXPECT_EQ(ToText(MatmulProblem{12, 128, 64, 128, false, true}), "b12m128n64k128_tB");
  EXPECT_EQ(ToText(MatmulProblem{1, 1, 2, 3, true, true}), "m1n2k3_tAtB");
}

TEST(MatmulProblem, RefusesWithTheColumn) {
  EXPECT_EQ(ProblemRefusal("m1n2k3"), "accepted");
  EXPECT_THAT(ProblemRefusal("n2m1k3"), HasSubstr("column 11: expected 'm', got 'n'"));
  EXPECT_THAT(ProblemRefusal("m1n2"), HasSubstr("column 15: expected 'k', got the end"));
  EXPECT_THAT(ProblemRefusal("m1n0k3"), HasSubstr("column 14: expected the size n"));
  EXPECT_THAT(ProblemRefusal("m1n02k3"), HasSubstr("column 14"));
  EXPECT_THAT(ProblemRefusal("b1m1n2k3"),
              HasSubstr("column 12: expected a batch, an integer from 2"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_"), HasSubstr("column 18: expected tA, tB or tAtB"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_tBtA"), HasSubstr("column 20: expected the end, got 't'"));
  EXPECT_THAT(ProblemRefusal("m1n2k3_tAx"), HasSubstr("column 20: expected the end or tB"));
  EXPECT_THAT(ProblemRefusal("m1n2k3x"), HasSubstr("column 17"));
  EXPECT_THAT(ProblemRefusal("m2147483648n1k1"), HasSubstr("column 12"));
}

TEST(MatmulProblem, RefusesWhatLeaves64Bits) {
  EXPECT_THAT(ProblemRefusal("b2147483647m2147483647n1k2147483647"), HasSubstr("A's size in byte"));
  EXPECT_THAT(ProblemRefusal("m2147483647n2147483647k2147483647"), HasSubstr("A's size in byte"));
  EXPECT_THAT(ProblemRefusal("m1000000000n1000000000k1000000000"), HasSubstr("column 11: "));
  EXPECT_THAT(ProblemRefusal("m500000000n500000000k500000000"), HasSubstr("column 11: "));
}

TEST(MatmulProblem, CountsByClosedForm) {
  const auto problem = ParseMatmul("b5m2n3k4");
  EXPECT_EQ(CountA(problem), 5 * 2 * 4);
  EXPECT_EQ(CountB(problem), 5 * 4 * 3);
  EXPECT_EQ(CountC(problem), 5 * 2 * 3);
  EXPECT_EQ(DenseFlops(problem), 2 * 5 * 2 * 3 * 4);
}

}  // namespace
}  // namespace dlroof::matmul
