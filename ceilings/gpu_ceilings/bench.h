// Interface to a GPU that runs and times kernels. CUDA implements it; tests fake it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ceilings/gpu_ceilings/rows.h"
#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "counters/base/error.h"
#include "counters/gpu/api.h"
#include "counters/gpu/clock.h"

namespace dlroof::gpu_ceilings {

// Operands of the GPU kernels, and their expected results, by reference loops on the host. Pure.
//
// Operand and result arrays of each family of kernels (GpuUnit). A slot has one value per thread of
// a block: operand[slot * threads + thread], shared by all blocks;
// result[(block * slots + slot) * threads + thread].
//   chain    operands: slot 0: a, slot 1: b, then a start value per chain; results: per chain v
//            after v = v * v + b in floating point or v = v + dot(a, b) in integers
//   mma      operands: registers of A, of B per chain, then accumulators per chain; results:
//            accumulators per chain. Registers have elements in the order of PTX ISA's fragments.
//   wgmma    operands: kWgmmaTiles images of A (64 rows) and B (256 columns) for shared memory, 32
//            byte of k each, in core matrices of 8 rows x 16 byte; results: accumulators
//   GEMM     operands: A and B, each n rows of k; results: D by columns
//   memory   operands: the arrays that are read (load: one; copy: a; triad: b, c); results of load
//            and shared: a 32-bit sum per thread; of the others: the array that is written

// Returns the row's operands as bytes. Throws std::invalid_argument for random operands of a memory
// row, which the device itself generates.
GpuBytes GpuOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);

std::int64_t GpuOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t GpuResultBytes(const GpuRow& row, const GpuShape& shape);

// Returns the first difference between `results` and the expected results of `iterations`
// iterations on known operands, if they differ. Compares all bytes, but only 256 elements of a
// GEMM, including its corners. Throws std::invalid_argument if the number of bytes is wrong.
std::optional<Reason> GpuDifference(const GpuRow& row, const GpuShape& shape,
                                    std::int64_t iterations, const GpuBytes& results);

// Returns the results that GpuDifference expects. For a chain, mma or wgmma row: those of one
// block, because all blocks have the same results. For a GEMM only the compared elements are set;
// for load and shared rows only the first element, the sum over all threads.
GpuBytes ExpectedResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

struct GpuDescription {
  gpu::GpuIdentity identity;
  double free_bytes = 0;                   // [byte] free memory
  std::optional<double> default_clock_hz;  // [1/s] of the SMs; absent if the driver reports none
};

struct GpuTime {
  double seconds = 0;              // [s] measured on the GPU
  std::optional<double> clock_hz;  // [1/s] mean SM clock during the run, counted on one SM
  gpu::GpuHealth health;           // the driver's report during the run
};

enum class GpuOverhead {
  kLaunch,    // an empty kernel, launched and run after another one, by the host's clock
  kQueued,    // an empty kernel, queued before the GPU begins, by the GPU's clock
  kGraphNode  // an empty kernel in a CUDA graph, by the GPU's clock
};

class GpuBench {
 public:
  virtual ~GpuBench() = default;
  virtual GpuDescription Describe() = 0;
  // Allocates the row's operands (random) and results. Throws Unsupported if the row cannot run.
  virtual void Prepare(const GpuRow& row, const GpuShape& shape) = 0;
  // Runs and times the kernel of the last Prepare.
  virtual GpuTime Run(std::int64_t iterations) = 0;
  // Runs the row on `operands` (GpuOperands), returns its results. Prepare again before a Run.
  virtual GpuBytes Result(const GpuRow& row, const GpuShape& shape, const GpuBytes& operands,
                          std::int64_t iterations) = 0;
  // Returns the total time [s] of `times` operations of this kind.
  virtual double Overhead(GpuOverhead kind, std::int64_t times) = 0;
};

// Measures a GPU. A row is one kernel of a pipe or memory level; a pass measures all rows once.

// Returns the machine of a GPU without ceilings: device "gpu", name, fingerprint, facts, L2 size.
machine::Machine DescribeGpu(const gpu::GpuIdentity& identity);

struct GpuMeasureOptions {
  int device = 0;         // CUDA's device number
  bool quick = false;     // fewer repetitions, one pass
  bool thorough = false;  // more repetitions; also runs every pipe for 10 s
  std::function<void(const std::string& row)> progress;  // may be empty
  std::function<bool()> stopped;  // returns true to end the measurement early; may be empty
};

// Returns DescribeGpu with one CeilingSet, for 1 thread. Its `flops` and `mixes` contain the rows
// of GpuRows that were measured; `absent` says why the other rows were not. facts["ended_early"] is
// set if `options.stopped` ended the measurement. `now` returns the time of a steady clock [s].
// Throws std::runtime_error if no row could be measured, and what bench.Describe throws.
machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                              const std::function<double()>& now);

// Measures the ceilings of a CUDA device. Defined only in the CUDA module (bench_cuda.cpp).
machine::Machine MeasureGpu(const GpuMeasureOptions& options);

// Returns true if the row's rate is proportional to the SM clock (arithmetic and L1). Repetitions
// at different clocks are then compared by work per cycle.
bool RunsBySmClock(const GpuRow& row);

// Returns why a repetition is noisy, or nullopt if it is clean. It is noisy if the driver reports a
// slowdown by heat or the power supply, or if IsClockTooLow, which tolerates a power limit.
std::optional<Reason> GpuInterference(const GpuTime& time, std::optional<double> default_clock_hz);

using GpuRun = std::function<GpuTime(std::int64_t iterations)>;

struct GpuPass {
  machine::Rate rate;
  std::optional<Reason> interference;  // of the last noisy repetition, if any
};
// Measures as MeasureRate does; GpuInterference decides which repetitions are noisy. Accepts any
// clock if `default_clock_hz` is absent. After the driver has once reported the power limit,
// assumes it to be active until the end of the measurement.
GpuPass MeasureGpuRate(const GpuRun& run, const machine::RatePolicy& policy,
                       std::optional<double> default_clock_hz);

// The best rate [iteration/s] of several measurements.
struct GpuRate {
  machine::Rate rate;
  bool clock_moved = false;  // repetitions agree in SM cycles, but not in seconds
};
// Merges measurements made at distant times. If `by_clock` (see RunsBySmClock) and repetitions
// disagree in seconds, compares them in cycles of the SM clock measured during each.
GpuRate MergeGpuPasses(const std::vector<GpuPass>& passes, const machine::RatePolicy& policy,
                       double pass_tolerance, bool by_clock);

// ---- published peak rates of GPU architectures (rows.cpp) ----

// The peak rate of pipes or of L1 on a range of architectures.
struct GpuPeak {
  int first, last;                     // range of compute capabilities, 10 x major + minor
  std::vector<std::string_view> keys;  // "bf16.matrix", "l1"
  // [flop/cycle] or [byte/cycle] of one SM, without sparsity, ascending. Two values if GPUs of one
  // capability differ: consumer cards compute 16-bit products with fp32 sums at half the rate.
  std::vector<double> per_cycle;
  const char* source;
};

// Returns the table row for a compute capability and a pipe or "l1", or null if there is none.
const GpuPeak* FindGpuPeak(int compute_capability, const std::string& key);

// Compares validation.per_cycle of one SM with the published peak. Marks the ceiling as not
// validated if it is more than 2 % above the highest peak: work was skipped, or the clock is wrong.
// dlroof's own kernels must also reach 95 % (chains) or 90 % (mma, wgmma, L1) of a peak; mma.sync
// on Hopper and later and cublasLt need not. Does nothing if clock or peak is unknown.
void JudgeGpuPerCycle(const GpuRow& row, int compute_capability, machine::Ceiling& ceiling);

// The rate of a row with half of the blocks, which use half of the SMs.
struct HalfRate {
  double per_second = 0;  // [flop/s] or [byte/s]
  std::optional<double> clock_hz;
  double share = 0.5;  // [1] share of the SMs that ran the kernel
};
// Sets Validation::scaling: the rate per cycle and SM divided by the same rate on half of the SMs.
// Adds a reason if the two rates differ by more than 3 %: some SMs had no work, or the kernel does
// less work than is counted.
void JudgeGpuScaling(const HalfRate& half, machine::Ceiling& ceiling);

// Returns the bandwidth [byte/s] of the DRAM interface: bus_bits / 8 x 2 x memory clock.
std::optional<double> PinBandwidth(int bus_bits, std::optional<double> memory_clock_hz);

// Facts of the GPU against which the roofs of its memory levels are checked.
struct GpuMemoryFacts {
  double l2_bytes = 0, dram_set_bytes = 0;  // [byte] size of L2; arrays of the DRAM load row
  std::optional<double> pins;               // [byte/s] limit of DRAM by PinBandwidth
};
// Marks memory roofs in `best` (CeilingSet::bytes) as not validated if their arrays were partly in
// another level: DRAM arrays are smaller than 16 x L2, DRAM is faster than its pins, or L2 or L1 is
// not faster than the next farther level.
void JudgeGpuLevels(const GpuMemoryFacts& facts, std::map<Level, machine::Ceiling>& best);

}  // namespace dlroof::gpu_ceilings
