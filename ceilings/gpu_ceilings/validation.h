// Proves a GPU's ceiling beside its repetitions. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu_ceilings/bench.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"

namespace dlroof::gpu_ceilings {

// Returns true where the row runs at the SM clock: then cycles judge it, at any clock.
bool RunsBySmClock(const gpu_kernels::GpuRow& row);

// Returns why a repetition does not count; empty: it does. The driver reports a slowdown by heat or
// by the power supply, or the clock is too low (IsClockTooLow). Running at the power limit is no
// interference. The clock beside the ceiling shows it.
std::string GpuInterference(const GpuTime& time, std::optional<double> default_clock_hz);

using GpuRun = std::function<GpuTime(std::int64_t iterations)>;

// One measurement of a rate. Noisy repetitions are not clean. Without a default clock any clock
// is fine. A power limit that the driver reported once holds for the rest of the measurement.
struct GpuPass {
  machine::Rate rate;
  std::string interference;  // of the last one that was noisy; empty: none was
};
GpuPass MeasureGpuRate(const GpuRun& run, const machine::RatePolicy& policy,
                       std::optional<double> default_clock_hz);

// Merges several measurements spread over the run. With `by_clock` (the row runs at the SM clock),
// repetitions that disagree in seconds are judged in cycles of the clock counted beside each. Where
// they agree, `clock_moved` is set. The rate stays the best in seconds.
struct GpuRate {
  machine::Rate rate;
  bool clock_moved = false;
};
GpuRate MergeGpuPasses(const std::vector<GpuPass>& passes, const machine::RatePolicy& policy,
                       double pass_tolerance, bool by_clock);

// Compares ceiling.proof.per_cycle of one SM with the architecture's peaks (chips.h). More than 2 %
// above the highest peak, part of the work was not done, or the clock is wrong. Our own kernels
// must reach 95 % (chains) or 90 % (mma, wgmma, L1) of a peak. mma.sync on Hopper and later, and
// cublasLt, need not. Does nothing without a clock or a peak.
void JudgeGpuPerCycle(const gpu_kernels::GpuRow& row, int compute_capability,
                      machine::Ceiling& ceiling);

// Sets proof.scaling: rate per cycle and SM / the same on half of the SMs. Outside of 1 +- 3 % some
// SMs have no share, or the kernel does less work than counted.
struct HalfRate {
  double per_second = 0;  // [flop/s] or [byte/s]
  std::optional<double> clock_hz;
  double share = 0.5;  // of the SMs
};
void JudgeGpuScaling(const HalfRate& half, machine::Ceiling& ceiling);

// Returns the bandwidth of DRAM's pins [byte/s], at both edges of the memory clock.
std::optional<double> PinBandwidth(int bus_bits, std::optional<double> memory_clock_hz);

// Compares the memory rows with each other and with the device. DRAM's set must have 16 L2, DRAM
// must not be faster than its pins, L2 must be faster than DRAM, and L1 faster than L2. Else the
// set was in another level. `best` is CeilingSet::bytes.
struct GpuMemoryFacts {
  double l2_bytes = 0, dram_set_bytes = 0;  // [byte]
  std::optional<double> pins;               // [byte/s]
};
void JudgeGpuLevels(const GpuMemoryFacts& facts, std::map<Level, machine::Ceiling>& best);

// Returns "loads reach 4600 of 4800 GB/s at the pins (6144 bit, both edges of 3.2 GHz): 95.8 %"
std::string ShareOfPins(double per_second, double pins, int bus_bits, double memory_clock_hz);

// Adds "bf16.matrix" for every pipe: the row that ChooseRoof takes of "bf16.matrix.<...>" with the
// right result. `how` names it. A pipe without a right row gets none.
void ChooseGpuRoofs(std::map<std::string, machine::Ceiling>& flops);

}  // namespace dlroof::gpu_ceilings
