#include "bench/runner/progress_pipe.h"

#include <gtest/gtest.h>

namespace dlroof::runner {
namespace {

TEST(ProgressLine, IsReadAsItWasWritten) {
  auto line = ProgressLine({.step = 3, .steps = 8, .text = "a \"b\"\nc", .eta_seconds = 1.5});
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  EXPECT_EQ(line.find('\n'), std::string::npos) << "one line";
  const auto read = ParseProgressLine(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->step, 3);
  EXPECT_EQ(read->steps, 8);
  EXPECT_EQ(read->text, "a \"b\"\nc");
  EXPECT_EQ(read->eta_seconds, 1.5);
}

TEST(ProgressLine, OfAnotherFormIsNoProgress) {
  for (const auto* line : {"", "ready", "{}", "[1, 2]", R"({"step": "x", "steps": 2})"})
    EXPECT_FALSE(ParseProgressLine(line)) << line;
}

}  // namespace
}  // namespace dlroof::runner
