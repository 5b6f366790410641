#include "counters/instructions/executable_maps.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

TEST(GeneratedCode, IsExecutableAndOfNoFile) {
  EXPECT_EQ(
      GeneratedCode(
          "555500000000-555500001000 r-xp 00000000 08:01 12                 /usr/bin/program\n"
          "7f0000000000-7f0000002000 rwxp 00000000 00:00 0 \n"
          "7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"
          "7f0000003000-7f0000004000 r-xp 00000000 00:01 77            /memfd:xbyak (deleted)\n"
          "7f0000005000-7f0000006000 r-xp 00000000 00:00 0\n"
          "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                    [vdso]\n"),
      (std::vector<AddressRange>{{0x7f0000000000, 0x7f0000002000},
                                 {0x7f0000003000, 0x7f0000004000},
                                 {0x7f0000005000, 0x7f0000006000}}));
}

TEST(GeneratedCode, LeavesOutWhatIsNoLineOfMaps) {
  for (const char* text : {"", "\n\n", "7f00", "7f00-", "7f00-8000", "7f00-8000 r", "zz-7f r-xp"})
    EXPECT_TRUE(GeneratedCode(text).empty()) << text;
}

}  // namespace
}  // namespace dlroof
