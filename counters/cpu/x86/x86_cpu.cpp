#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "counters/cpu/clocks.h"
#include "counters/cpu/core_caches.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu {
namespace {

bool HasClflushopt() {
  constexpr std::uint32_t kBit = 1U << 23;  // clflushopt: CPUID leaf 7, EBX (Intel SDM volume 2A)
  return ExecuteCpuid(0, 0).eax >= 7 && (ExecuteCpuid(7, 0).ebx & kBit) != 0;
}

// Evicts the lines with clflushopt instructions, which overlap. The caller must execute a fence.
__attribute__((target("clflushopt"))) void DropOverlapping(const char* line, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i)
    _mm_clflushopt(const_cast<char*>(line + i * kCacheLineBytes));  // does not modify the data
}

void Drop(const char* line, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) _mm_clflush(line + i * kCacheLineBytes);
}

}  // namespace

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidRegisters words;
  __cpuid_count(leaf, subleaf, words.eax, words.ebx, words.ecx, words.edx);
  return words;
}

std::uint64_t EnabledRegisterStates() {
  constexpr std::uint32_t kOsxsave = 1U << 27;
  if ((ExecuteCpuid(1, 0).ecx & kOsxsave) == 0) return 0;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

bool RequestAmxPermission() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

void FlushLines(const char* line, std::size_t lines) {
  static const auto drop = HasClflushopt() ? DropOverlapping : Drop;
  drop(line, lines);
}

void FlushFence() { _mm_mfence(); }

namespace {

constexpr int kMultipliesPerRound = 16;
constexpr double kCyclesPerMultiply = 3;

// Executes `rounds` * kMultipliesPerRound dependent multiplications of 32 bits, with a latency of 3
// cycles on small cores too. Dependent additions are unsuitable: new cores fuse additions of
// constants and execute several per cycle.
[[gnu::noinline]] unsigned MultiplyInAChain(unsigned value, int rounds) {
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 16\n\t"
        "imull %0, %0\n\t"
        ".endr"
        : "+r"(value));
  return value;
}

constexpr int kAdditionsPerRound = 72;

// Executes `rounds` * kAdditionsPerRound additions in eight independent chains, so that up to eight
// can start per cycle. Adds registers, as some cores eliminate additions of a constant.
[[gnu::noinline]] unsigned AddInChains(unsigned x, int rounds) {
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

// As AddInChains, but a third of the instructions are loads: cores can start more instructions than
// they can add.
[[gnu::noinline]] unsigned AddAndLoad(unsigned x, int rounds) {
  const unsigned from = 1;
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7, loaded = 0;
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 6\n\t"
        "addl %9, %0\n\taddl %9, %1\n\tmovl %10, %8\n\t"
        "addl %9, %2\n\taddl %9, %3\n\tmovl %10, %8\n\t"
        "addl %9, %4\n\taddl %9, %5\n\tmovl %10, %8\n\t"
        "addl %9, %6\n\taddl %9, %7\n\tmovl %10, %8\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h), "=&r"(loaded)
        : "r"(x), "m"(from));
  return a + b + c + d + e + f + g + h + loaded;
}

}  // namespace

std::optional<double> MeasureCoreClock() {
  constexpr int kChains = 4, kRounds = 1600;
  double best = 1;  // [s] shortest time
  unsigned value = 3;
  for (int chain = 0; chain < kChains; ++chain) {
    const double begin = WallSeconds();
    value = MultiplyInAChain(value, kRounds);
    best = std::min(best, WallSeconds() - begin);
  }
  return kCyclesPerMultiply * kRounds * kMultipliesPerRound / best;
}

std::optional<double> MeasureIssueRate() {
  constexpr int kPairs = 5, kAddRounds = 600, kChainRounds = 200;
  std::array<double, kPairs> seconds{};  // of the additions
  double shortest = 1;                   // [s] of the chains
  unsigned value = 3;
  for (double& additions : seconds) {
    const double begin = WallSeconds();
    value = AddInChains(value, kAddRounds);
    const double middle = WallSeconds();
    value = MultiplyInAChain(value | 1, kChainRounds);
    additions = middle - begin;
    shortest = std::min(shortest, WallSeconds() - middle);
  }
  // A disturbed chain would make the clock too low and the rate higher than the core's.
  const double cycles_per_second =
      kCyclesPerMultiply * kChainRounds * kMultipliesPerRound / shortest;
  std::nth_element(seconds.begin(), seconds.begin() + kPairs / 2, seconds.end());
  return kAddRounds * kAdditionsPerRound / seconds[kPairs / 2] / cycles_per_second;
}

std::optional<double> MeasureInstructionRate() {
  constexpr double kSeconds = 0.03;  // an idle core takes milliseconds to reach its full clock
  constexpr int kRounds = 600;
  double best = 0;
  unsigned value = 3;
  for (const double end = WallSeconds() + kSeconds; WallSeconds() < end;)
    for (auto* mix : {AddInChains, AddAndLoad}) {
      const double begin = WallSeconds();
      value = mix(value, kRounds);
      best = std::max(best, kRounds * kAdditionsPerRound / (WallSeconds() - begin));
    }
  return best;
}

}  // namespace dlroof::cpu
