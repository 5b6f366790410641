#include "bench/workload/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "bench/workload/workload.h"

namespace dlroof::workload {
namespace {

using testing::ElementsAre;

TEST(HostMemory, WhatCannotFitIsUnsupportedAndNotTried) {
  EXPECT_NO_THROW(RequireHostMemory(1e6, "a small one"));
  EXPECT_THROW(RequireHostMemory(1e18, "a large one"), Unsupported);
  // 2^31 - 1 images of 64 channels, 2.2e15 byte and more in double; 1e6 steps of 1e6 samples of 64
  // channels and more, 64e12 elements of 8 byte.
  for (const char* name : {"Conv2D/cpu/reference/fwd/f64/n2147483647c64h64w64k64r1s1",
                           "LSTM/cpu/reference/bwd/f64/t1000000n1000000i64h64"})
    EXPECT_THROW(MakeWorkload(name).prepare({}), Unsupported) << name;
}

std::size_t Page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

unsigned char* BytesOf(const FoldedMemory& memory) {
  return static_cast<unsigned char*>(memory.begin());
}

TEST(FoldedMemory, RepeatsItsPages) {
  const FoldedMemory memory(7 * Page() + 5, 2 * Page() - 3);
  ASSERT_EQ(memory.distinct(), 2 * Page());
  auto* const bytes = BytesOf(memory);
  bytes[1] = 42;
  bytes[5 * Page() + 7] = 43;
  EXPECT_EQ(bytes[6 * Page() + 1], 42);
  EXPECT_EQ(bytes[7 * Page() + 4], 0) << "the last byte";
  EXPECT_EQ(bytes[Page() + 7], 43);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % (std::size_t{2} << 20), 0U);
}

TEST(FoldedMemory, OfAllItsBytesRepeatsNone) {
  const FoldedMemory memory(3 * Page(), 3 * Page());
  std::memset(memory.begin(), 1, 3 * Page());
  BytesOf(memory)[0] = 2;
  EXPECT_EQ(BytesOf(memory)[Page()], 1);
  EXPECT_EQ(BytesOf(memory)[2 * Page()], 1);
}

TEST(FoldedMemory, HasAPageWhateverIsAsked) {
  FoldedMemory memory(0, 0);
  EXPECT_EQ(memory.distinct(), Page());
  BytesOf(memory)[0] = 1;
  const FoldedMemory moved(std::move(memory));
  EXPECT_EQ(BytesOf(moved)[0], 1);
}

TEST(FoldedMemory, ThatCannotBeIsRefused) {
  EXPECT_THROW(FoldedMemory(std::size_t{1} << 60, Page()), std::system_error);
}

TEST(DistinctBytes, AreWholeForSmallTensorsAndSharedByTheOthers) {
  EXPECT_THAT(DistinctBytes({1000, 10, 600}, 410), ElementsAre(200, 10, 200));
  EXPECT_THAT(DistinctBytes({1000, 10, 100}, 410), ElementsAre(300, 10, 100));
  EXPECT_THAT(DistinctBytes({5, 6}, std::numeric_limits<double>::infinity()), ElementsAre(5, 6));
  EXPECT_THAT(DistinctBytes({5, 6}, 0), ElementsAre(0, 0));
  EXPECT_THAT(DistinctBytes({}, 10), ElementsAre());
}

}  // namespace
}  // namespace dlroof::workload
