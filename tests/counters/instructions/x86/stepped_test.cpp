#include "counters/instructions/stepped.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace dlroof {
namespace {

// As generated code may: the stack pointer holds any address for a while, above data.
void PointTheStackAbove(std::vector<char>& data) {
  asm volatile(
      "movq %%rsp, %%r12\n\t"
      "movq %0, %%rsp\n\t"
      "nop\n\tnop\n\tnop\n\t"
      "movq %%r12, %%rsp\n\t"
      :
      : "r"(data.data() + data.size())
      : "r12", "memory");
}

TEST(StepThrough, LeavesWhatLiesBelowTheStackPointerAlone) {
  constexpr std::size_t kBytes = 1 << 13;
  std::vector<char> data(kBytes, 7);
  const auto stepped = StepThrough(
      [&] {
        PointTheStackAbove(data);
        if (std::memcmp(data.data(), data.data() + 1, kBytes - 1) != 0) _exit(1);
      },
      20);
  if (!StepThrough([] {}, 20).counts) GTEST_SKIP() << StepThrough([] {}, 20).why;
  ASSERT_TRUE(stepped.counts) << stepped.why;
  EXPECT_GE(stepped.counts->all, 6);
}

}  // namespace
}  // namespace dlroof
