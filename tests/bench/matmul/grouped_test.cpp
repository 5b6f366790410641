#include "bench/matmul/grouped.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/bench/random_problems.h"
#include "tests/fakes/outcome.h"
#include "tests/fakes/refusal.h"

namespace dlroof::matmul {
namespace {

using fakes::Between;
using testing::ElementsAre;
using testing::HasSubstr;

GroupedProblem RandomProblem(std::mt19937& random, int64_t most) {
  GroupedProblem p{.g = Between(random, 1, most),
                   .m = Between(random, 1, most),
                   .n = Between(random, 1, most),
                   .k = Between(random, 1, most)};
  if (random() % 2 == 0) p.zipf_seed = Between(random, 0, 9);
  return p;
}

TEST(GroupedMatmul, ProblemAndTextAreInverse) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto problem = RandomProblem(random, 3000);
    ASSERT_EQ(ParseGrouped(ToText(problem)), problem) << ToText(problem);
  }
  const auto refusal = [](const std::string& text) {
    return fakes::RefusalOf([&] { ParseGrouped(text, 10); });
  };
  EXPECT_THAT(refusal("g2m2n2k2_zipf"), HasSubstr("column 24: expected a seed"));
  EXPECT_THAT(refusal("g2m2n2k2_z1"), HasSubstr("column 19: expected '_zipf'"));
  EXPECT_THAT(refusal("g2000000000m1n2000000000k2000000000"), HasSubstr("column 11: "));
}

TEST(GroupedMatmul, RowsAreSpreadEvenlyOrByZipfsLaw) {
  EXPECT_THAT(RowsOfExperts(ParseGrouped("g4m10n1k1")), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(RowsOfExperts(ParseGrouped("g4m2n1k1")), ElementsAre(1, 1, 0, 0));
  // 1 / (r (1 + 1/2 + 1/3 + 1/4)) of a million: 480,000, 240,000, 160,000, 120,000, each within
  // five deviations (at most 500 each).
  auto rows = RowsOfExperts(ParseGrouped("g4m1000000n1k1_zipf3"));
  std::ranges::sort(rows, std::greater<>());
  EXPECT_NEAR(static_cast<double>(rows[0]), 480000, 2500);
  EXPECT_NEAR(static_cast<double>(rows[1]), 240000, 2500);
  EXPECT_NEAR(static_cast<double>(rows[2]), 160000, 2500);
  EXPECT_NEAR(static_cast<double>(rows[3]), 120000, 2500);
  EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), int64_t{0}), 1000000);
  // A name means the same routing on every machine.
  EXPECT_THAT(RowsOfExperts(ParseGrouped("g8m20n1k1_zipf7")), ElementsAre(2, 1, 10, 2, 1, 2, 2, 0));
}

// Row by row: FLOPs, and the bytes of the experts that are used.
TEST(GroupedMatmul, WorkIsThatOfTheRows) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    GroupedCase grouped;
    grouped.problem = RandomProblem(random, 20);
    const auto& p = grouped.problem;
    double flops = 0, weights = 0;
    for (const auto rows : RowsOfExperts(p)) {
      for (int64_t row = 0; row < rows; ++row) flops += 2.0 * static_cast<double>(p.n * p.k);
      if (rows > 0) weights += static_cast<double>(p.n * p.k);
    }
    const auto work = WorkOf(grouped, "fp32.vector");
    ASSERT_EQ(work.flops.at("fp32.vector"), flops) << ToText(p);
    ASSERT_EQ(work.bytes.at(Level::kDram),
              4 * (weights + static_cast<double>(p.m * p.k + p.m * p.n)))
        << ToText(p);
  }
}

TEST(GroupedMatmul, LibraryAndLoopsAgree) {
  int ran = 0;
  for (const std::string problem : {"g4m10n17k33", "g8m20n64k32_zipf7", "g1m1n1k1", "g3m2n5k7",
                                    "g4m9n17k33_zipf2", "g16m256n48k64_zipf1", "g64m8n32k32"}) {
    EXPECT_THAT(fakes::Outcome("GroupedMatmul/cpu/reference/fwd/f64/" + problem),
                testing::StartsWith("ok "));
    for (const std::string type : {"f32", "bf16", "f16"}) {
      const auto outcome = fakes::Outcome("GroupedMatmul/cpu/onednn/fwd/" + type + "/" + problem);
      if (outcome.starts_with("ok ")) ++ran;
      // This CPU or library may lack the narrow types.
      EXPECT_THAT(outcome, testing::StartsWith(type == "f32" || outcome.starts_with("ok ")
                                                   ? "ok "
                                                   : "unsupported: "))
          << problem;
    }
  }
  EXPECT_GE(ran, 6);
}

// An expert without rows takes no row of another: rows 5, 2, 0 and 2, so that row 7 is the last
// expert's.
TEST(GroupedMatmul, AnExpertWithoutRowsIsSkipped) {
  GroupedCase grouped;
  grouped.problem = ParseGrouped("g4m9n16k16_zipf2");
  ASSERT_THAT(RowsOfExperts(grouped.problem), ElementsAre(5, 2, 0, 2));
  const auto in = workload::SeededInputs(grouped, 5);
  double sum = 0;
  for (size_t i = 0; i < 16; ++i)
    sum += double{in.source.at(7 * 16 + i)} * double{in.weights.at((3 * 16 + 5) * 16 + i)};
  EXPECT_NEAR(ResultOf(grouped, in).element(7 * 16 + 5).value, sum, 1e-12);
}

}  // namespace
}  // namespace dlroof::matmul
