#include "counters/instructions/x86/instruction_kind.h"

#include <algorithm>
#include <array>

namespace dlroof::instructions {
namespace {

// An opcode in its map, with the prefix that selects among the map's instructions.
struct Opcode {
  int map = 0;     // 1: 0F, 2: 0F 38, 3: 0F 3A, 5 and 6: EVEX's own; 0: of none of these
  int prefix = 0;  // 0: none, 1: 66, 2: F3, 3: F2
  int code = 0;
};

// The last F2 or F3 counts, 66 only without them.
Opcode OfLegacy(const unsigned char* at) {
  constexpr std::array<unsigned char, 8> kIgnored = {0x2E, 0x36, 0x3E, 0x26,
                                                     0x64, 0x65, 0x67, 0xF0};
  constexpr int kMostPrefixes = 12;
  int prefix = 0;
  for (int i = 0; i < kMostPrefixes; ++i, ++at) {
    if (*at == 0xF3)
      prefix = 2;
    else if (*at == 0xF2)
      prefix = 3;
    else if (*at == 0x66)
      prefix = prefix == 0 ? 1 : prefix;
    else if (std::ranges::find(kIgnored, *at) == kIgnored.end())
      break;
  }
  if ((*at & 0xF0) == 0x40) ++at;  // REX
  if (*at != 0x0F) return {};
  if (at[1] == 0x38) return {2, prefix, at[2]};
  if (at[1] == 0x3A) return {3, prefix, at[2]};
  return {1, prefix, at[1]};
}

Opcode Decode(const unsigned char* code) {
  if (*code == 0xC5) return {1, code[1] & 3, code[2]};               // VEX of two bytes
  if (*code == 0xC4) return {code[1] & 0x1F, code[2] & 3, code[3]};  // VEX of three bytes
  if (*code == 0x62) return {code[1] & 7, code[2] & 3, code[4]};     // EVEX
  return OfLegacy(code);
}

constexpr unsigned kAnyPrefix = 0xF;

// Opcodes `first` to `last` of a map, with one of the prefixes whose bits are set.
struct Row {
  int map, first, last;
  unsigned prefixes;
};
constexpr Row kArithmetic[] = {
    {1, 0x51, 0x53, kAnyPrefix},  // square root, reciprocals
    {1, 0x58, 0x59, kAnyPrefix},  // add, multiply
    {1, 0x5C, 0x5F, kAnyPrefix},  // subtract, minimum, divide, maximum
    {1, 0x7C, 0x7D, 0b1010},      // horizontal add, subtract
    {1, 0xD0, 0xD0, 0b1010},      // add and subtract
    {1, 0xF5, 0xF5, 0b0011},      // PMADDWD
    {2, 0x04, 0x04, 0b0011},      // PMADDUBSW
    {2, 0x4C, 0x4F, 0b0010},      // reciprocals of 14 bits
    {2, 0x50, 0x53, 0b1111},      // VPDPBUSD and its siblings, VDPBF16PS
    {2, 0x5C, 0x5C, 0b1100},      // TDPBF16PS, TDPFP16PS
    {2, 0x5E, 0x5E, kAnyPrefix},  // TDPBUUD and its siblings
    {2, 0x96, 0x9F, 0b0010},      // fused multiply-adds
    {2, 0xA6, 0xAF, 0b0010},     {2, 0xB6, 0xBF, 0b0010},
    {3, 0x40, 0x41, 0b0010},      // dot products
    {5, 0x51, 0x51, kAnyPrefix},  // FP16: square root, then as in map 1 and 2
    {5, 0x58, 0x59, kAnyPrefix}, {5, 0x5C, 0x5F, kAnyPrefix},
    {6, 0x4C, 0x4F, 0b0010},     {6, 0x96, 0x9F, 0b0010},
    {6, 0xA6, 0xAF, 0b0010},     {6, 0xB6, 0xBF, 0b0010}};

}  // namespace

bool IsArithmetic(const unsigned char* code) {
  const auto opcode = Decode(code);
  return std::ranges::any_of(kArithmetic, [&](const Row& row) {
    return row.map == opcode.map && row.first <= opcode.code && opcode.code <= row.last &&
           (row.prefixes >> static_cast<unsigned>(opcode.prefix) & 1U) != 0;
  });
}

}  // namespace dlroof::instructions
