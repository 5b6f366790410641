#include "counters/caches/callgrind.h"

#include <gmock/gmock.h>

namespace dlroof::caches {
namespace {

using testing::Contains;

TEST(Simulable, LeavesAPowerOfTwoOfSetsAsItIsAndASlicedCacheItsCapacity) {
  EXPECT_EQ(Simulable({32768, 8}, 4), (CacheGeometry{32768, 8}));        // 64 sets
  EXPECT_EQ(Simulable({1048576, 16}, 4), (CacheGeometry{1048576, 16}));  // 1024 sets
  EXPECT_EQ(Simulable({49152, 12}, 4), (CacheGeometry{49152, 12}));      // 64 sets
  EXPECT_EQ(Simulable({1048576, 0}, 16), (CacheGeometry{1048576, 16}));
  // 35.75 MiB of 11 ways has 53248 sets, not a power of two; 18 ways of 32768 sets are 36 MiB.
  const auto cache = Simulable({35.75 * 1048576, 11}, 16);
  EXPECT_NEAR(cache.bytes / (35.75 * 1048576), 1, 0.03);
  const double sets = cache.bytes / cache.line / cache.ways;
  EXPECT_EQ(static_cast<long>(sets) & (static_cast<long>(sets) - 1), 0);
}

TEST(CallgrindCommand, CountsOnlyBetweenTheMarks) {
  const auto command = CallgrindCommand({32768, 8}, {1048576, 16}, "/x/out", {"prog", "--a"});
  EXPECT_EQ(command.front(), "valgrind");
  EXPECT_THAT(command, Contains("--instr-atstart=no"));
  EXPECT_THAT(command, Contains("--D1=32768,8,64"));
  EXPECT_THAT(command, Contains("--LL=1048576,16,64"));
  EXPECT_THAT(command, Contains("--callgrind-out-file=/x/out"));
  EXPECT_EQ(command.back(), "--a");
}

// Output of valgrind 3.19.
constexpr const char* kFile =
    "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n"
    "desc: D1 cache: 32768 B, 64 B, 8-way associative\n"
    "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n"
    "summary: 7075015 2417319 39191 537 349482 5084 528 5573 3196\n\n"
    "fn=(1) f\n0 1 1 0 0\n\ntotals: 7075015 2417319 39191 537 349482 5084 528 5573 3196\n";

TEST(ParseCallgrind, ReadsCountsByTheirNamesWithZerosLeftOutAtTheEnd) {
  const auto counts = ParseCallgrind(kFile);
  EXPECT_EQ(counts.first_misses, 349482 + 5084);
  EXPECT_EQ(counts.last_misses, 5573 + 3196);
  // For a warm call whose tensors stay in the caches, valgrind omits the zeros at the end of the
  // line.
  const auto zeros = ParseCallgrind(
      "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n"
      "totals: 3296114 970156 39330 179 45492 17786 16 12\n");
  EXPECT_EQ(zeros.first_misses, 45492 + 17786);
  EXPECT_EQ(zeros.last_misses, 12);
  EXPECT_EQ(ParseCallgrind("events: Dr Dw D1mr D1mw DLmr DLmw\ntotals: 7\n").last_misses, 0);
  EXPECT_THROW(ParseCallgrind(""), std::runtime_error);
  EXPECT_THROW(ParseCallgrind("events: Ir\ntotals: 1\n"), std::runtime_error);
  EXPECT_THROW(ParseCallgrind("events: Dr Dw D1mr D1mw DLmr DLmw\ntotals: 1 2 x 4 5 6\n"),
               std::runtime_error);
}

TEST(WorkOfRuns, ALevelsBytesAreTheMissesOfTheCacheInFrontOfIt) {
  const Work work = WorkOfRuns({50, 10}, {50, 4}, 64);
  EXPECT_EQ(work.bytes.at(Level::kL2), 50 * 64);
  EXPECT_EQ(work.bytes.at(Level::kL3), 10 * 64);
  EXPECT_EQ(work.bytes.at(Level::kDram), 4 * 64);
  EXPECT_EQ(work.bytes.count(Level::kL1), 0);  // accesses have no size
}

}  // namespace
}  // namespace dlroof::caches
