#include "counters/cpu/core_caches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Registers of a leaf 4: type, level, sharing threads - 1; ways - 1 and line - 1; sets - 1.
CpuidRegisters Cache(std::uint32_t type, std::uint32_t level, std::uint32_t threads,
                     std::uint32_t ways, std::uint32_t sets) {
  return {type | level << 5 | (threads - 1) << 14, (ways - 1) << 22 | 63, sets - 1, 0};
}

CpuidRegisters CascadeLake(std::uint32_t leaf, std::uint32_t subleaf) {
  if (leaf == 0) return {0x16, 0, 0, 0};
  if (leaf == 0xB && subleaf == 0) return {1, 2, 1 << 8, 0};
  if (leaf != 4) return {};
  const CpuidRegisters caches[] = {Cache(1, 1, 2, 8, 64), Cache(2, 1, 2, 8, 64),
                                   Cache(3, 2, 2, 16, 1024), Cache(3, 3, 64, 11, 53248)};
  return subleaf < 4 ? caches[subleaf] : CpuidRegisters{};
}

TEST(CoreCaches, AreThoseOfOneCoreWithBothItsThreads) {
  // 8 x 64 sets and 16 x 1024 sets of 64 byte lines; the instructions' L1 and the L3 are no one
  // core's data.
  EXPECT_THAT(CoreCaches(CascadeLake),
              ElementsAre(Pair(Level::kL1, 32768), Pair(Level::kL2, 1048576)));
}

TEST(CoreCaches, ASharedCacheIsDividedByCores) {
  const auto shared = [](std::uint32_t leaf, std::uint32_t subleaf) {
    if (leaf == 4 && subleaf == 2) return Cache(3, 2, 8, 16, 2048);  // 2 MiB of four cores
    return CascadeLake(leaf, subleaf);
  };
  EXPECT_EQ(CoreCaches(shared).at(Level::kL2), 524288);
}

TEST(CoreCaches, AmdHasALeafOfItsOwn) {
  const auto amd = [](std::uint32_t leaf, std::uint32_t subleaf) -> CpuidRegisters {
    if (leaf == 0) return {0x10, 0, 0, 0};
    if (leaf == 0x80000000) return {0x8000001E, 0, 0, 0};
    if (leaf == 0xB && subleaf == 0) return {1, 2, 1 << 8, 0};
    if (leaf != 0x8000001D || subleaf > 1) return {};
    return subleaf == 0 ? Cache(1, 1, 2, 8, 64) : Cache(3, 2, 2, 8, 1024);
  };
  EXPECT_THAT(CoreCaches(amd), ElementsAre(Pair(Level::kL1, 32768), Pair(Level::kL2, 524288)));
}

TEST(CoreCaches, ACpuThatSaysNothingLeavesThemUnknown) {
  const auto nothing = [](std::uint32_t, std::uint32_t) { return CpuidRegisters{}; };
  EXPECT_THAT(CoreCaches(nothing), testing::IsEmpty());
}

}  // namespace
}  // namespace dlroof
