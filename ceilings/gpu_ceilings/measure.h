// Describes a GPU as a machine and measures its ceilings: passes measure rows, which become
// ceilings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu_ceilings/bench.h"
#include "ceilings/gpu_ceilings/validation.h"
#include "ceilings/machine/machine.h"

namespace dlroof::gpu_ceilings {

// Returns the GPU without ceilings: device "gpu", name, fingerprint, facts and size of L2.
machine::Machine DescribeGpu(const gpu::GpuIdentity& identity);

struct GpuMeasureOptions {
  int device = 0;         // CUDA's number
  bool quick = false;     // fewer repetitions, one pass
  bool thorough = false;  // more repetitions, and every pipe for 10 s
  std::function<void(const std::string& row)> progress;  // may be empty
  std::function<bool()> stopped;  // ends the measurement early if it returns true; may be empty
};

// Returns DescribeGpu with the ceilings under one thread, the host's. `flops` and `mixes` have each
// row of GpuRows that this GPU runs; `absent` has the reason of each other row.
// facts["ended_early"] is set if `stopped` ended the measurement. `now` [s] is any steady clock.
// Throws std::runtime_error if no row could be measured, and the exceptions of bench.Describe.
machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                              const std::function<double()>& now);

// Measures a CUDA device. Only the CUDA module defines it (ceilings/cuda_kernels/bench_cuda.cpp).
machine::Machine MeasureGpu(const GpuMeasureOptions& options);

struct GpuEffort {
  const char* name;
  double repetition_seconds;
  int repetitions, doubled;
  int passes;
  double row_seconds;  // [s] limit of a row in one pass
  int sustained;       // number of pipes that run for 10 s

  machine::RatePolicy Policy(double tolerance, const std::function<double()>& now) const;
};

// Measurements of one row.
struct GpuRowState {
  gpu_kernels::GpuRow row;
  gpu_kernels::GpuShape shape;
  std::optional<std::string> result;  // Validation::result, set if the result is right
  std::optional<Reason> wrong_result;
  std::optional<Reason> absent;  // why the row has no measurement
  std::vector<GpuPass> passes;
  std::optional<HalfRate> half;
  GpuTime last;  // the last repetition, with the driver's report
};

struct GpuSession {
  GpuBench& bench;
  const GpuMeasureOptions& options;
  const std::function<double()>& now;
  GpuEffort effort;
  GpuDescription gpu;
  std::vector<GpuRowState> rows;
  std::vector<machine::SweepPoint> sweep;  // loads by working set

  bool Stopped() const { return options.stopped && options.stopped(); }
  int Capability() const { return 10 * gpu.identity.major + gpu.identity.minor; }
  machine::RatePolicy Policy(const gpu_kernels::GpuRow& row) const;
  // Returns the default clock [1/s] for rows whose repetitions must nearly reach it.
  std::optional<double> RequiredClock(const gpu_kernels::GpuRow& row) const;
};

// ---- the parts of the measurement, in the order in which they run ----

// Measures every row. Fills session.rows.
void MeasureGpuRows(GpuSession& session);

// Adds the launch cost and the other overheads, or the reasons of their absence.
void MeasureGpuOverheads(GpuSession& session, machine::Machine& machine);

// Runs the fastest row of the pipes with the highest rates for 10 s. Writes the rates of the first
// and the last second to CeilingSet::sustained. Sets sustained_per_second if the last second
// differs by more than 3 %. Marks a ceiling as not validated if one of these seconds exceeds it.
void MeasureGpuSustained(GpuSession& session, machine::Machine& machine);

}  // namespace dlroof::gpu_ceilings
