#include "reporters/roofline/breakdown_text.h"

#include <gtest/gtest.h>

namespace dlroof::roofline {
namespace {

// 2 * 10^5 of the 10^6 instructions that the core can issue in a millisecond.
TEST(InstructionSentence, HasTheShareOfTheInstructionRoof) {
  ParallelTime parallel{.mean = {.seconds = 1e-3}, .threads = 1};
  EXPECT_EQ(InstructionSentence(parallel), std::nullopt);
  parallel.instructions_reason = Reason{"there is no hardware counter for them"};
  EXPECT_EQ(InstructionSentence(parallel),
            "instructions not counted: there is no hardware counter for them");
  parallel.instructions = {.all = 2e5, .how = "a test"};
  EXPECT_EQ(InstructionSentence(parallel), "on one thread 200 k instructions (a test)");
  parallel.instructions->per_second = 1e9;
  EXPECT_EQ(
      InstructionSentence(parallel),
      "on one thread 200 k instructions (a test): 20 % of the core's issue slots in that time");
  parallel.threads = 2;
  EXPECT_EQ(InstructionSentence(parallel), "on one thread 200 k instructions (a test)")
      << "no single-threaded time is known";
  parallel.single_thread_seconds = 4e-4;
  EXPECT_NE(InstructionSentence(parallel)->find("50 %"), std::string::npos);
}

}  // namespace
}  // namespace dlroof::roofline
