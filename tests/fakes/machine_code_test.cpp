#include "tests/fakes/machine_code.h"

#include <gmock/gmock.h>

namespace dlroof::fakes {
namespace {

// Cut from what cuobjdump 13.2 prints; the words of machine code are left out.
constexpr const char* kText = R"(
	code for sm_90a
		Function : _Z5outerPf
        /*0000*/                   LDC R1, c[0x0][0x28] ;                         /* 0x00000a00ff017b82 */
                                                                                  /* 0x000fe20000000800 */
        /*0010*/                   FFMA R0, R0, R2, R3 ;                          /* 0x0 */
        /*0020*/                   FFMA R0, R0, R2, R3 ;                          /* 0x0 */
        /*0030*/                   IADD3 R4, R4, 0x1, RZ ;                        /* 0x0 */
        /*0040*/              @!P0 BRA 0x20 ;                                     /* 0x0 */
        /*0050*/                   FFMA.FTZ R0, R0, R2, R3 ;                      /* 0x0 */
        /*0060*/               @P1 BRA 0x10 ;                                     /* 0x0 */
        /*0070*/                   EXIT ;                                         /* 0x0 */
        /*0080*/                   BRA 0x80;                                      /* 0x0 */
		Function : _Z4nonePf
        /*0000*/                   EXIT ;                                         /* 0x0 */
)";

TEST(ParseSass, FindsFunctionsAndInstructions) {
  const auto functions = ParseSass(kText);
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].name, "_Z5outerPf");
  EXPECT_EQ(functions[0].architecture, 90);
  ASSERT_EQ(functions[0].instructions.size(), 9U);
  EXPECT_EQ(functions[0].instructions[4].opcode, "BRA");
  EXPECT_EQ(functions[0].instructions[4].target, 0x20U);
  EXPECT_EQ(functions[0].instructions[5].opcode, "FFMA.FTZ");
}

TEST(LoopWith, CountsTheInnermostLoopOnly) {
  const auto functions = ParseSass(kText);
  const std::map<std::string, int> expected = {{"FFMA", 1}, {"IADD3", 1}, {"BRA", 1}};
  EXPECT_EQ(LoopWith(functions[0], "FFMA"), expected);
  EXPECT_THAT(LoopWith(functions[0], "HMMA"), testing::IsEmpty());
  EXPECT_THAT(LoopWith(functions[1], "FFMA"), testing::IsEmpty());
}

TEST(ParseRegisters, ReadsThemByFunction) {
  const auto registers = ParseRegisters(
      " Function _Z1aPf:\n  REG:72 STACK:0 SHARED:0 LOCAL:0\n Function _Z1b:\n  REG:254 STACK:0\n");
  const std::map<std::string, int> expected = {{"_Z1aPf", 72}, {"_Z1b", 254}};
  EXPECT_EQ(registers, expected);
}

}  // namespace
}  // namespace dlroof::fakes
