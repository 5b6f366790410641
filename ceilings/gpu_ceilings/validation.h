// Validates the ceilings of a GPU, in addition to their repetitions. Pure.
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
#include "counters/base/error.h"

namespace dlroof::gpu_ceilings {

// Returns whether the row's rate follows the SM clock. Such a row is judged in cycles, at any
// clock.
bool RunsBySmClock(const gpu_kernels::GpuRow& row);

// Returns why a repetition is noisy: the driver reports a slowdown by heat or by the power supply,
// or the clock is too low (IsClockTooLow). The power limit is no interference; the ceiling's clock
// shows it.
std::optional<Reason> GpuInterference(const GpuTime& time, std::optional<double> default_clock_hz);

using GpuRun = std::function<GpuTime(std::int64_t iterations)>;

// One measurement of a rate. Without a default clock any clock is accepted. A power limit that the
// driver has reported is assumed for the rest of the measurement.
struct GpuPass {
  machine::Rate rate;
  std::optional<Reason> interference;  // of the last noisy repetition
};
GpuPass MeasureGpuRate(const GpuRun& run, const machine::RatePolicy& policy,
                       std::optional<double> default_clock_hz);

// A merged rate [iteration/s], the best in seconds.
struct GpuRate {
  machine::Rate rate;
  bool clock_moved = false;  // the repetitions agree in cycles, but not in seconds
};
// Merges measurements that are spread over the run. With `by_clock` (RunsBySmClock) repetitions
// that disagree in seconds are judged in cycles of the clock that was counted during each.
GpuRate MergeGpuPasses(const std::vector<GpuPass>& passes, const machine::RatePolicy& policy,
                       double pass_tolerance, bool by_clock);

// Compares validation.per_cycle of one SM with the architecture's peaks (chips.h). More than 2 %
// above the highest peak means that part of the work was not done or that the clock is wrong. Our
// own kernels must reach 95 % (chains) or 90 % (mma, wgmma, L1) of a peak; mma.sync on Hopper and
// later and cublasLt need not. Does nothing without a clock or a peak.
void JudgeGpuPerCycle(const gpu_kernels::GpuRow& row, int compute_capability,
                      machine::Ceiling& ceiling);

// The rate of a row on half of the SMs.
struct HalfRate {
  double per_second = 0;  // [flop/s] or [byte/s]
  std::optional<double> clock_hz;
  double share = 0.5;  // [1] of the SMs
};
// Sets Validation::scaling, the rate per cycle and SM / the same on half of the SMs. Outside of 1
// +- 3 % some SMs have no work, or the kernel does less work than counted.
void JudgeGpuScaling(const HalfRate& half, machine::Ceiling& ceiling);

// Returns the bandwidth of DRAM's pins [byte/s], at both edges of the memory clock.
std::optional<double> PinBandwidth(int bus_bits, std::optional<double> memory_clock_hz);

// Facts with which the roofs of memory levels are compared.
struct GpuMemoryFacts {
  double l2_bytes = 0, dram_set_bytes = 0;  // [byte]
  std::optional<double> pins;               // [byte/s]
};
// Compares the roofs in `best` (CeilingSet::bytes) with each other and with the device. If DRAM's
// set is below 16 L2, DRAM is faster than its pins, L2 is not faster than DRAM, or L1 is not faster
// than L2, then the set was in another level.
void JudgeGpuLevels(const GpuMemoryFacts& facts, std::map<Level, machine::Ceiling>& best);

// Returns "loads reach 4600 of 4800 GB/s at the pins (6144 bit, both edges of 3.2 GHz): 95.8 %".
std::string ShareOfPins(double per_second, double pins, int bus_bits, double memory_clock_hz);

// Adds the roof of each pipe, "bf16.matrix": the row that ChooseRoof takes of those with a right
// result
// ("bf16.matrix.<part>"). `how` names the row. A pipe without such a row gets no roof.
void ChooseGpuRoofs(std::map<std::string, machine::Ceiling>& flops);

}  // namespace dlroof::gpu_ceilings
