#include "bench/program/output_numbers.h"

#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::profile {
namespace {

TEST(OutputNumbers, AllMatchesOfAllLinesInTheirOrder) {
  const auto pattern = NumberPattern("--read", "images/s: ([-+0-9.e]+)");
  EXPECT_EQ(NumbersIn("images/s: 12.5\r\nnone\nimages/s: 1e3 images/s: +7\n", pattern),
            (std::vector<double>{12.5, 1000, 7}));
  EXPECT_EQ(NumbersIn("images/s: 1e999\nimages/s: .\n", pattern), std::vector<double>());
  EXPECT_EQ(NumbersIn("", pattern), std::vector<double>());
}

TEST(OutputNumbers, ALineOfAnyLengthIsNoDanger) {
  const auto pattern = NumberPattern("--read", ".*t=([0-9]+)");
  const std::string dots(1 << 20, 'x');
  EXPECT_EQ(NumbersIn(dots + "t=5\nt=6\n", pattern), std::vector<double>{6});
}

TEST(OutputNumbers, ARefusedPatternSaysWhatIsExpected) {
  EXPECT_EQ(fakes::RefusalOf([] { NumberPattern("--read", "images"); }),
            "--read 'images': expected one group in round brackets, the number; got 0");
  EXPECT_TRUE(fakes::RefusalOf([] {
                NumberPattern("--read", "(images");
              }).starts_with("--read '(images': not a regular expression: "));
}

}  // namespace
}  // namespace dlroof::profile
