#include "bench/rows/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/fakes/refusal.h"

namespace dlroof::rows {
namespace {

using testing::HasSubstr;

std::string Refusal(std::string_view text) {
  return fakes::RefusalOf([&] { ParseRows(text, 10); });
}

TEST(Rows, TextAndProblemAreInverse) {
  std::mt19937 random(1);
  const auto size = [&] { return int64_t{1} + static_cast<int64_t>(random() % 3000); };
  for (int i = 0; i < 500; ++i) {
    const Rows rows{size(), size()};
    ASSERT_EQ(ParseRows(ToText(rows)), rows) << ToText(rows);
  }
  EXPECT_EQ(ToText(Rows{1024, 512}), "m1024n512");
}

TEST(Rows, RefusesWithTheColumn) {
  EXPECT_EQ(Refusal("m1n2"), "accepted");
  EXPECT_THAT(Refusal("n2m1"), HasSubstr("column 11: expected 'm', got 'n'"));
  EXPECT_THAT(Refusal("m1"), HasSubstr("column 13: expected 'n', got the end"));
  EXPECT_THAT(Refusal("m1n0"), HasSubstr("column 14: expected the size n"));
  EXPECT_THAT(Refusal("m1n2k3"), HasSubstr("column 15: expected the end, got 'k'"));
  EXPECT_THAT(Refusal("m2147483648n1"), HasSubstr("column 12"));
  EXPECT_THAT(Refusal("m2147483647n2147483647"), HasSubstr("column 11: the tensors' size"));
}

}  // namespace
}  // namespace dlroof::rows
