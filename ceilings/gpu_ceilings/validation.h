// Checks that validate a GPU's ceilings, in addition to the agreement of their repetitions. Pure.
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

// Returns true if the row's rate is proportional to the SM clock (arithmetic and L1). Repetitions
// at different clocks are then compared by work per cycle.
bool RunsBySmClock(const gpu_ceilings::GpuRow& row);

// Returns why a repetition is noisy: the driver reports a slowdown by heat or the power supply, or
// the SM clock is too low (IsClockTooLow). A reached power limit does not make it noisy.
std::optional<Reason> GpuInterference(const GpuTime& time, std::optional<double> default_clock_hz);

using GpuRun = std::function<GpuTime(std::int64_t iterations)>;

struct GpuPass {
  machine::Rate rate;
  std::optional<Reason> interference;  // why the last noisy repetition is noisy
};
// Measures as MeasureRate does; GpuInterference decides which repetitions are noisy. Accepts any
// clock if `default_clock_hz` is absent. After the driver has once reported the power limit,
// assumes it to be active until the end of the measurement.
GpuPass MeasureGpuRate(const GpuRun& run, const machine::RatePolicy& policy,
                       std::optional<double> default_clock_hz);

// The best rate [iteration/s] of several measurements.
struct GpuRate {
  machine::Rate rate;
  bool clock_moved = false;  // repetitions agree in cycles, but not in seconds
};
// Merges measurements made at distant times. If `by_clock` (see RunsBySmClock) and repetitions
// disagree in seconds, compares them in cycles of the SM clock measured during each.
GpuRate MergeGpuPasses(const std::vector<GpuPass>& passes, const machine::RatePolicy& policy,
                       double pass_tolerance, bool by_clock);

// ---- published peak rates of GPU architectures (rows.cpp) ----

// The peak rate of a pipe or of L1 on a range of architectures.
struct GpuPeak {
  int first, last;  // range of compute capabilities, 10 x major + minor
  const char* key;  // "bf16.matrix", "l1"
  // [flop/cycle] or [byte/cycle] of one SM, without sparsity, ascending. Two values if GPUs of one
  // capability differ: consumer cards compute 16-bit products with fp32 sums at half the rate.
  std::vector<double> per_cycle;
  const char* source;
};

// Returns the table row for a compute capability and a pipe or "l1", or null if there is none.
const GpuPeak* FindGpuPeak(int compute_capability, const std::string& key);

// Compares validation.per_cycle of one SM with the published peak. Marks the ceiling as
// not validated if it is more than 2 % above the highest peak: work was skipped, or the clock is
// wrong. dlroof's own kernels must also reach 95 % (chains) or 90 % (mma, wgmma, L1) of a peak;
// mma.sync on Hopper and later and cublasLt need not. Returns at once if clock or peak is unknown.
void JudgeGpuPerCycle(const gpu_ceilings::GpuRow& row, int compute_capability,
                      machine::Ceiling& ceiling);

// The rate of a row with half of the blocks, which use half of the SMs.
struct HalfRate {
  double per_second = 0;  // [flop/s] or [byte/s]
  std::optional<double> clock_hz;
  double share = 0.5;  // [1] share of the SMs that ran the kernel
};
// Sets Validation::scaling: the rate per cycle and SM divided by the same on half of the SMs.
// Beyond 1 +- 3 % some SMs had no work, or the kernel does less work than is counted.
void JudgeGpuScaling(const HalfRate& half, machine::Ceiling& ceiling);

// Returns the bandwidth [byte/s] of the DRAM interface: bus_bits / 8 x 2 x memory clock.
std::optional<double> PinBandwidth(int bus_bits, std::optional<double> memory_clock_hz);

// Facts of the GPU against which the roofs of its memory levels are checked.
struct GpuMemoryFacts {
  double l2_bytes = 0, dram_set_bytes = 0;  // [byte] L2, and arrays of DRAM's rows
  std::optional<double> pins;               // [byte/s] by PinBandwidth
};
// Marks memory roofs in `best` (CeilingSet::bytes) as not validated if their arrays were partly in
// another level: DRAM arrays below 16 x L2, DRAM faster than its pins, L2 not faster than DRAM, L1
// not faster than L2.
void JudgeGpuLevels(const GpuMemoryFacts& facts, std::map<Level, machine::Ceiling>& best);

// Adds to `flops` the roof of each pipe ("bf16.matrix"): the row ("bf16.matrix.<part>") that
// ChooseRoof chooses among the rows with correct results. `how` names the row. A pipe without such
// a row gets no roof.
void ChooseGpuRoofs(std::map<std::string, machine::Ceiling>& flops);

}  // namespace dlroof::gpu_ceilings
