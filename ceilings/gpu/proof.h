// What proves a GPU's ceiling beside its repetitions. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu/bench.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"

namespace dlroof {

// Whether the SM clock is what the row runs by: then it is judged in cycles, at any clock.
bool RunsBySmClock(const GpuRow& row);

// Why a repetition does not count; empty: it does. The driver reports a slowdown by heat or by the
// power supply, or the clock is too low (IsClockTooLow). Running at the power limit is no
// disturbance: it is what this GPU can do; the clock beside the ceiling shows it.
std::string GpuDisturbance(const GpuTime& time, std::optional<double> default_clock_hz);

using GpuRun = std::function<GpuTime(std::int64_t iterations)>;

// One measurement of a rate. Disturbed repetitions are not clean; without a default clock any clock
// will do. A power limit that the driver has reported once holds for the rest of the measurement.
struct GpuPass {
  Rate rate;
  std::string disturbance;  // of the last one that was disturbed; empty: none was
};
GpuPass MeasureGpuRate(const GpuRun& run, const RatePolicy& policy,
                       std::optional<double> default_clock_hz);

// One rate from several measurements spread over the run. Where `by_clock` (the SM clock is what
// the row runs by) and repetitions disagree in seconds because the clock moved, they are judged in
// cycles of the clock counted beside each: then `clock_moved` is set. The rate stays the best in
// seconds.
struct GpuRate {
  Rate rate;
  bool clock_moved = false;
};
GpuRate MergeGpuPasses(const std::vector<GpuPass>& passes, const RatePolicy& policy,
                       double pass_tolerance, bool by_clock);

void DoubtGpu(const std::string& reason, Ceiling& ceiling);  // no longer proved

// Holds ceiling.proof.per_cycle, of one SM, against the architecture (gpu_chips.h). More than 2 %
// above the highest value: part of the work was not done, or the clock is another. Our own kernels
// must reach 95 % (chains) or 90 % (mma, wgmma, L1) of a value; mma.sync on Hopper and later and
// cublasLt need not. Nothing without a clock or a value.
void JudgeGpuPerCycle(const GpuRow& row, int compute_capability, Ceiling& ceiling);

// proof.scaling: rate per cycle and SM / the same on half of the SMs. Outside of 1 +- 3 % some SMs
// have no share, or there is less work than counted.
struct HalfRate {
  double per_second = 0;  // [flop/s] or [byte/s]
  std::optional<double> clock_hz;
  double share = 0.5;  // of the SMs
};
void JudgeGpuScaling(const HalfRate& half, Ceiling& ceiling);

// The bandwidth of DRAM's pins [byte/s]: both edges of the memory clock.
std::optional<double> PinBandwidth(int bus_bits, std::optional<double> memory_clock_hz);

// The memory rows against each other and against the device: sets in DRAM of at least 16 L2; DRAM
// not faster than its pins; L2 faster than DRAM, L1 than L2 (else the set lay elsewhere). `best` by
// level, as in CeilingSet::bytes.
struct GpuMemoryFacts {
  double l2_bytes = 0, dram_set_bytes = 0;  // [byte]
  std::optional<double> pins;               // [byte/s]
};
void JudgeGpuLevels(const GpuMemoryFacts& facts, std::map<Level, Ceiling>& best);

// "loads reach 4600 of 4800 GB/s at the pins (6144 bit, both edges of 3.2 GHz): 95.8 %"
std::string ShareOfPins(double per_second, double pins, int bus_bits, double memory_clock_hz);

// Adds "bf16.matrix" as the one that ChooseRoof takes of "bf16.matrix.<...>" whose result is right,
// for every pipe; `how` says which. A pipe without a right row has none.
void ChooseGpuRoofs(std::map<std::string, Ceiling>& flops);

}  // namespace dlroof
