#include "counters/instructions/x86/x86_instructions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "counters/instructions/instruction_count.h"

namespace dlroof::instructions {
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
  if (!StepThrough([] {}, 20).counts) GTEST_SKIP() << StepThrough([] {}, 20).reason.value().text;
  ASSERT_TRUE(stepped.counts) << stepped.reason.value_or(Reason()).text;
  EXPECT_GE(stepped.counts->all, 6);
}

// Bytes by GNU as 2.40, padded.
struct Assembled {
  const char* text;
  std::array<unsigned char, 16> bytes;
};

constexpr Assembled kArithmetic[] = {{"addps", {0x0F, 0x58, 0xC1}},
                                     {"addss", {0xF3, 0x44, 0x0F, 0x58, 0xC1}},
                                     {"mulsd", {0xF2, 0x0F, 0x59, 0x00}},
                                     {"vaddps", {0xC5, 0xFC, 0x58, 0xD1}},
                                     {"vfmadd231ps", {0xC4, 0xE2, 0x75, 0xB8, 0x14, 0x88}},
                                     {"vfmadd231ps", {0x62, 0xF2, 0x6D, 0x48, 0xB8, 0xD9}},
                                     {"vfmadd231ps", {0x62, 0xF2, 0x6D, 0x58, 0xB8, 0x18}},
                                     {"vdpbf16ps", {0x62, 0xF2, 0x6E, 0x48, 0x52, 0xD9}},
                                     {"vpdpbusd", {0x62, 0xF2, 0x6D, 0x48, 0x50, 0xD9}},
                                     {"{vex} vpdpbusd", {0xC4, 0xE2, 0x6D, 0x50, 0xD9}},
                                     {"pmaddwd", {0x66, 0x0F, 0xF5, 0xD1}},
                                     {"vpmaddubsw", {0xC4, 0xE2, 0x6D, 0x04, 0xD9}},
                                     {"tdpbssd", {0xC4, 0xE2, 0x73, 0x5E, 0xDA}},
                                     {"tdpbf16ps", {0xC4, 0xE2, 0x72, 0x5C, 0xDA}},
                                     {"vaddph", {0x62, 0xF5, 0x6C, 0x48, 0x58, 0xD9}},
                                     {"vfmadd231ph", {0x62, 0xF6, 0x6D, 0x48, 0xB8, 0xD9}},
                                     {"vsqrtps", {0xC5, 0xFC, 0x51, 0xD1}},
                                     {"vmaxps", {0xC4, 0x41, 0x2C, 0x5F, 0xD9}},
                                     {"vrcp14ps", {0x62, 0xF2, 0x7D, 0x48, 0x4C, 0xD1}},
                                     {"dpps", {0x66, 0x0F, 0x3A, 0x40, 0xD1, 0x01}},
                                     {"vhaddps", {0xC5, 0xEF, 0x7C, 0xD9}},
                                     {"vfmaddsub213pd", {0xC4, 0xE2, 0xE9, 0xA6, 0xD9}}};

constexpr Assembled kOther[] = {{"nop", {0x90}},
                                {"endbr64", {0xF3, 0x0F, 0x1E, 0xFA}},
                                {"movaps", {0x0F, 0x28, 0xC1}},
                                {"vmovups", {0xC5, 0xFC, 0x10, 0x00}},
                                {"vbroadcastss", {0xC4, 0xE2, 0x7D, 0x18, 0x00}},
                                {"add", {0x48, 0x01, 0xC3}},
                                {"imul", {0x48, 0x0F, 0xAF, 0xD8}},
                                {"vpaddd", {0xC5, 0xED, 0xFE, 0xD9}},
                                {"vpxor", {0xC5, 0xED, 0xEF, 0xD9}},
                                {"vpermps", {0xC4, 0xE2, 0x6D, 0x16, 0xD9}},
                                {"vcvtdq2ps", {0xC5, 0xFC, 0x5B, 0xD1}},
                                {"pshufb", {0x66, 0x0F, 0x38, 0x00, 0xD1}},
                                {"lock addl", {0xF0, 0x83, 0x00, 0x01}},
                                {"jne", {0x0F, 0x85, 0x00, 0x00, 0x00, 0x00}},
                                {"call", {0xFF, 0xD0}},
                                {"ret", {0xC3}},
                                {"vzeroupper", {0xC5, 0xF8, 0x77}},
                                {"prefetcht0", {0x0F, 0x18, 0x08}},
                                {"vmovntps", {0xC5, 0xFC, 0x2B, 0x08}},
                                {"tileloadd", {0xC4, 0xE2, 0x7B, 0x4B, 0x0C, 0x08}},
                                {"crc32", {0xF2, 0x0F, 0x38, 0xF1, 0xD8}},
                                {"vgatherdps", {0xC4, 0xE2, 0x75, 0x92, 0x1C, 0x90}}};

TEST(IsArithmetic, OfWhatComputesWithNumbersOfALayer) {
  for (const auto& [text, bytes] : kArithmetic) EXPECT_TRUE(IsArithmetic(bytes.data())) << text;
}

TEST(IsArithmetic, NotOfMovesConversionsIndicesAndControl) {
  for (const auto& [text, bytes] : kOther) EXPECT_FALSE(IsArithmetic(bytes.data())) << text;
}

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
}  // namespace dlroof::instructions
