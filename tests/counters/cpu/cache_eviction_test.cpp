#include "counters/cpu/cache_eviction.h"

#include <gtest/gtest.h>

#include <numeric>

namespace dlroof {
namespace {

TEST(LinesOf, CountsEveryLineThatIsTouched) {
  alignas(64) char memory[256] = {};
  EXPECT_EQ(LinesOf({memory, 0}), 0);
  EXPECT_EQ(LinesOf({memory, 1}), 1);
  EXPECT_EQ(LinesOf({memory, 64}), 1);
  EXPECT_EQ(LinesOf({memory, 65}), 2);
  EXPECT_EQ(LinesOf({memory + 63, 1}), 1);
  EXPECT_EQ(LinesOf({memory + 63, 2}), 2);
  EXPECT_EQ(LinesOf({memory + 1, 128}), 3);  // bytes 1 to 128
}

TEST(Evict, CountsItsBytesAndLeavesTheValues) {
  std::vector<int> first(100'000), second(333);
  std::iota(first.begin(), first.end(), 0);
  std::iota(second.begin(), second.end(), 7);
  const auto kept_first = first, kept_second = second;
  const MemorySpan a{first.data(), first.size() * sizeof(int)};
  const MemorySpan b{second.data(), second.size() * sizeof(int)};
  const auto bytes = Evict({a, b, {nullptr, 0}});
  EXPECT_EQ(bytes, static_cast<int64_t>(64 * (LinesOf(a) + LinesOf(b))));
  // A vector lies anywhere in its first line: one line more than its bytes fill, at most.
  EXPECT_GE(bytes, 400'000 + 1'332);
  EXPECT_LE(bytes, 400'000 + 1'332 + 4 * 64);
  EXPECT_EQ(first, kept_first);
  EXPECT_EQ(second, kept_second);
}

}  // namespace
}  // namespace dlroof
