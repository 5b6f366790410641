#include "counters/cpu/huge_pages.h"

#include <gtest/gtest.h>

#include <sstream>

namespace dlroof {
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

}  // namespace
}  // namespace dlroof
