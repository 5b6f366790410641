// Describes a GPU as a machine, and measures its ceilings.
//
// Types that the parts of a GPU's measurement share: passes measure rows, which become ceilings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu_ceilings/bench.h"
#include "ceilings/gpu_ceilings/validation.h"
#include "ceilings/machine/machine.h"

namespace dlroof::gpu_ceilings {

// Returns device "gpu", name, fingerprint, facts and L2. `by_threads` is empty: a GPU's ceilings
// belong to one thread, the host's that starts its work.
machine::Machine DescribeGpu(const gpu::GpuIdentity& identity);

struct GpuMeasureOptions {
  int device = 0;         // CUDA's number
  bool quick = false;     // fewer repetitions, one pass
  bool thorough = false;  // more of them, and every pipe for 10 s on end
  std::function<void(const std::string& row)> progress;  // may be empty
  std::function<bool()> stopped;  // true: measure no more rows, return what is known; may be empty
};

// Device, name, fingerprint and facts as DescribeGpu has them; ceilings under one thread, the
// host's. Each row of GpuRows that this GPU runs stands in `flops` and `mixes`, validated or with
// the reason; `absent` has the reason of a row that cannot run. facts["ended_early"] is there where
// `stopped` ended it. `now` [s] is any steady clock. Throws
// what the bench throws, except Unsupported.
machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                              const std::function<double()>& now);

// Measures CUDA's device. Only the CUDA module defines it (ceilings/cuda_kernels/bench_cuda.cpp).
machine::Machine MeasureGpu(const GpuMeasureOptions& options);

struct GpuEffort {
  const char* name;
  double repetition_seconds;
  int repetitions, doubled;
  int passes;
  double row_seconds;  // [s] that a row may take in one pass
  int sustained;       // how many pipes are watched for 10 s

  machine::RatePolicy Policy(double tolerance, const std::function<double()>& now) const;
};

// Measurements of one row.
struct GpuRowState {
  gpu_kernels::GpuRow row;
  gpu_kernels::GpuShape shape;
  std::string result;  // Proof::result; empty: not compared, or wrong
  std::string reason;  // the result's error
  std::string absent;  // reason of a row without measurements
  std::vector<GpuPass> passes;
  std::optional<HalfRate> half;
  GpuTime last;  // of the last repetition, with the driver's report
};

struct GpuSession {
  GpuBench& bench;
  const GpuMeasureOptions& options;
  const std::function<double()>& now;
  GpuEffort effort;
  GpuDescription gpu;
  std::vector<GpuRowState> rows;
  std::vector<machine::SweepPoint> sweep;  // loads, by set

  bool Stopped() const { return options.stopped && options.stopped(); }
  int Capability() const { return 10 * gpu.identity.major + gpu.identity.minor; }
  machine::RatePolicy Policy(const gpu_kernels::GpuRow& row) const;
  // Returns the default clock [1/s] that the row's repetitions must reach; absent: none.
  std::optional<double> HeldClock(const gpu_kernels::GpuRow& row) const;
};

// ---- the parts of the measurement, in the order in which they run ----

// Measures every row. Fills session.rows.
void MeasureGpuRows(GpuSession& session);

// Adds the launch cost and the other overheads, or the reasons why they are absent.
void MeasureGpuOverheads(GpuSession& session, machine::Machine& machine);

// Measures the fastest row of the hottest pipes for 10 s. Writes the rates of the first and the
// last second to CeilingSet::sustained. Sets a ceiling's sustained_per_second where the last
// differs by more than 3 %. Doubts a ceiling that a later second exceeded.
void WatchGpuFor10Seconds(GpuSession& session, machine::Machine& machine);

}  // namespace dlroof::gpu_ceilings
