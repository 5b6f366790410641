// Chains of additions that keep every adder of a core busy, on x86.
#pragma once

namespace dlroof::cpu {

inline constexpr int kAdditionsPerRound = 72;

// `rounds` times kAdditionsPerRound additions in eight chains, each of which adds once a cycle: up
// to eight in a cycle. Both operands are registers: some cores skip the addition of a constant.
[[gnu::noinline]] inline unsigned AddInChains(unsigned x, int rounds) {
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 9\n\t"
        "addl %8, %0\n\taddl %8, %1\n\taddl %8, %2\n\taddl %8, %3\n\t"
        "addl %8, %4\n\taddl %8, %5\n\taddl %8, %6\n\taddl %8, %7\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
        : "r"(x));
  return a + b + c + d + e + f + g + h;
}

}  // namespace dlroof::cpu
