// A chain of which the length in cycles is known, on x86.
#pragma once

namespace dlroof {

inline constexpr int kMultipliesPerRound = 16;
inline constexpr double kCyclesPerMultiply = 3;

// `rounds` times kMultipliesPerRound multiplications, each of which waits for the one before. Not a
// chain of additions: new cores fold those of a constant and run several in a cycle. 32 bits wide,
// for which small cores need 3 cycles too.
[[gnu::noinline]] inline unsigned MultiplyInAChain(unsigned value, int rounds) {
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 16\n\t"
        "imull %0, %0\n\t"
        ".endr"
        : "+r"(value));
  return value;
}

}  // namespace dlroof
