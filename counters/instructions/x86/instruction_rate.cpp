#include "counters/instructions/instruction_rate.h"

#include <algorithm>

#include "counters/cpu/addition_chains.h"
#include "counters/cpu/clocks.h"

namespace dlroof::instructions {
namespace {

constexpr double kSeconds = 0.03;  // a core that waited before takes milliseconds to its full clock
constexpr int kRounds = 600;
constexpr int kPerRound = cpu::kAdditionsPerRound;

unsigned Additions(unsigned x, const unsigned*) { return cpu::AddInChains(x, kRounds); }

// A load beside two additions: cores start more than they have adders.
[[gnu::noinline]] unsigned AdditionsAndLoads(unsigned x, const unsigned* from) {
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7, loaded = 0;
  for (int round = 0; round < kRounds; ++round)
    asm volatile(
        ".rept 6\n\t"
        "addl %9, %0\n\taddl %9, %1\n\tmovl (%10), %8\n\t"
        "addl %9, %2\n\taddl %9, %3\n\tmovl (%10), %8\n\t"
        "addl %9, %4\n\taddl %9, %5\n\tmovl (%10), %8\n\t"
        "addl %9, %6\n\taddl %9, %7\n\tmovl (%10), %8\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h), "=&r"(loaded)
        : "r"(x), "r"(from));
  return a + b + c + d + e + f + g + h + loaded;
}

}  // namespace

std::optional<double> MeasureInstructionRate() {
  double best = 0;
  unsigned value = 3;
  const unsigned loaded = 1;
  for (const double end = cpu::WallSeconds() + kSeconds; cpu::WallSeconds() < end;)
    for (auto* mix : {Additions, AdditionsAndLoads}) {
      const double begin = cpu::WallSeconds();
      value = mix(value, &loaded);
      best = std::max(best, kRounds * kPerRound / (cpu::WallSeconds() - begin));
    }
  return best;
}

}  // namespace dlroof::instructions
