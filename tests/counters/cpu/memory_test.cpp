#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "counters/cpu/core_caches.h"

namespace dlroof::cpu {
namespace {

constexpr const char* kSmaps =
    "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]\n"
    "Size:                132 kB\n"
    "Rss:                 100 kB\n"
    "AnonHugePages:         0 kB\n"
    "7f1200000000-7f1208000000 rw-p 00000000 00:00 0 \n"
    "Size:             131072 kB\n"
    "Rss:                8192 kB\n"
    "AnonHugePages:      6144 kB\n"
    "VmFlags: rd wr mr mw me ac hg \n"
    "7f1208000000-7f1208001000 rw-p 00000000 00:00 0 \n"
    "Rss:                   0 kB\n"
    "AnonHugePages:         0 kB\n";

std::optional<double> Share(std::uintptr_t address) {
  std::istringstream smaps(kSmaps);
  return HugePageShare(smaps, address);
}

TEST(HugePageShare, IsOfTheMappingThatHoldsTheAddress) {
  EXPECT_EQ(Share(0x7f1200000000), 0.75);  // 6144 of 8192 KiB
  EXPECT_EQ(Share(0x7f1207ffffff), 0.75);
  EXPECT_EQ(Share(0x55d0c0000100), 0);
}

TEST(HugePageShare, IsAbsentWhereNothingIsKnown) {
  EXPECT_EQ(Share(0x7f1208000000), std::nullopt) << "nothing is resident";
  EXPECT_EQ(Share(0x1000), std::nullopt) << "not mapped";
  std::istringstream other("Rss: many\n");
  EXPECT_EQ(HugePageShare(other, 0), std::nullopt);
}

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
  // A vector may begin anywhere in a line, so it touches at most one line more than its bytes fill.
  EXPECT_GE(bytes, 400'000 + 1'332);
  EXPECT_LE(bytes, 400'000 + 1'332 + 4 * 64);
  EXPECT_EQ(first, kept_first);
  EXPECT_EQ(second, kept_second);
}

}  // namespace
}  // namespace dlroof::cpu
