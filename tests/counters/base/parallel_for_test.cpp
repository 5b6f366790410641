#include "counters/base/parallel_for.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace dlroof {
namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const std::size_t count : {0, 1, 1023, 1024, 5001}) {
    std::vector<int> calls(count);
    ParallelFor(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(ParallelFor, ThrowsWhatACallThrows) {
  for (const std::size_t bad : {0, 4999})
    EXPECT_THROW(ParallelFor(5000,
                             [&](std::size_t i) {
                               if (i == bad) throw std::runtime_error("bad");
                             }),
                 std::runtime_error);
}

}  // namespace
}  // namespace dlroof
