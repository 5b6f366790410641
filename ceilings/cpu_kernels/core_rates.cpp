#include "ceilings/cpu_kernels/core_rates.h"

#include <string_view>

namespace dlroof {
namespace {

struct KnownCore {
  std::string_view vendor;
  unsigned family, first_model, last_model;
  CoreRates rates;
};

constexpr std::optional<double> kUnknown;
constexpr KnownCore kCores[] = {
    {"AuthenticAMD", 25, 0x10, 0x1f, {2, 1, 2, 1}},           // Genoa
    {"AuthenticAMD", 25, 0x60, 0x7f, {2, 1, 2, 1}},           // Raphael, Phoenix
    {"AuthenticAMD", 25, 0xa0, 0xaf, {2, 1, 2, 1}},           // Bergamo, Siena
    {"AuthenticAMD", 26, 0x00, 0x1f, {2, 2, 2, 2}},           // Turin
    {"GenuineIntel", 6, 85, 85, {2, kUnknown, 1, kUnknown}},  // Skylake-SP to Cooper Lake
    {"GenuineIntel", 6, 143, 143, {2, 2, kUnknown, kUnknown}},
    {"GenuineIntel", 6, 173, 174, {2, 2, kUnknown, kUnknown}},
    {"GenuineIntel", 6, 207, 207, {2, 2, kUnknown, kUnknown}},
};

}  // namespace

CoreRates RatesOf(const Cpu& cpu) {
  for (const auto& core : kCores)
    if (cpu.vendor == core.vendor && cpu.family == core.family && cpu.model >= core.first_model &&
        cpu.model <= core.last_model)
      return core.rates;
  return {};
}

}  // namespace dlroof
