// The vector instructions that cores start in a cycle.
#pragma once

#include <optional>

#include "counters/cpu/cpu.h"

namespace dlroof {

// [1/cycle] multiply-adds of fp32 or fp64 vectors up to 256 bit, and of 512 bit: by one fused
// instruction, and by a product and a sum (a pair counts once). Absent: not known, or not the same
// on all products with this CPU's signature.
struct CoreRates {
  std::optional<double> fused, fused_512, separate, separate_512;
};

// By vendor, family and model; empty for others. AMD, Software Optimization Guides for Zen 4
// (57647) and Zen 5 (58455): two multipliers and two adders, of 512 bit in servers with Zen 5 (met
// on family 26 model 2) and of 256 bit in Zen 4. Intel, Optimization Reference Manual (248966):
// two units of 256 bit since Haswell (met on family 6 model 85, whose products differ at 512 bit),
// two of 512 bit in Sapphire, Emerald and Granite Rapids.
CoreRates RatesOf(const Cpu& cpu);

}  // namespace dlroof
