// Describes a GPU as a machine::Machine and measures its ceilings. A row is one kernel of one pipe
// or memory level; a pass measures all rows once.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu_ceilings/bench.h"
#include "ceilings/gpu_ceilings/validation.h"
#include "ceilings/machine/machine.h"

namespace dlroof::gpu_ceilings {

// Returns the machine of a GPU without ceilings: device "gpu", name, fingerprint, facts, L2 size.
machine::Machine DescribeGpu(const gpu::GpuIdentity& identity);

struct GpuMeasureOptions {
  int device = 0;         // CUDA's device number
  bool quick = false;     // fewer repetitions, one pass
  bool thorough = false;  // more repetitions; also runs every pipe for 10 s
  std::function<void(const std::string& row)> progress;  // may be empty
  std::function<bool()> stopped;  // returns true to end the measurement early; may be empty
};

// Returns DescribeGpu with one CeilingSet, for 1 thread. Its `flops` and `mixes` contain each row
// of GpuRows that this GPU can run; `absent` says why another could not run. facts["ended_early"]
// is set if `options.stopped` ended the measurement. `now` returns steady seconds. Throws
// std::runtime_error if no row could be measured, and what bench.Describe throws.
machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                              const std::function<double()>& now);

// Measures the ceilings of a CUDA device. Defined only in the CUDA module (bench_cuda.cpp).
machine::Machine MeasureGpu(const GpuMeasureOptions& options);

struct GpuEffort {
  const char* name;
  double repetition_seconds;  // as in RatePolicy
  int repetitions, doubled;   // as in RatePolicy
  int passes;                 // times that each row is measured
  double row_seconds;         // [s] longest time of one row in one pass
  int sustained;              // number of pipes that run for 10 s

  machine::RatePolicy Policy(double tolerance, const std::function<double()>& now) const;
};

// The measurements of one row.
struct GpuRowState {
  gpu_ceilings::GpuRow row;
  gpu_ceilings::GpuShape shape;
  std::optional<std::string> result;  // Validation::result; set if the results are right
  std::optional<Reason> wrong_result;
  std::optional<Reason> absent;  // why the row was not measured
  std::vector<GpuPass> passes;
  std::optional<HalfRate> half;
  GpuTime last;  // last repetition, with the driver's report
};

struct GpuSession {
  GpuBench& bench;
  const GpuMeasureOptions& options;
  const std::function<double()>& now;
  GpuEffort effort;
  GpuDescription gpu;
  std::vector<GpuRowState> rows;
  std::vector<machine::SweepPoint> sweep;  // bandwidth of loads by working set

  bool Stopped() const { return options.stopped && options.stopped(); }
  int Capability() const { return 10 * gpu.identity.major + gpu.identity.minor; }
  machine::RatePolicy Policy(const gpu_ceilings::GpuRow& row) const;
  // Returns the default SM clock [1/s] that the row's repetitions must nearly reach, if any.
  std::optional<double> RequiredClock(const gpu_ceilings::GpuRow& row) const;
};

// ---- the steps of MeasureGpuOn, in this order ----

// Measures every row of GpuRows and writes the measurements to session.rows.
void MeasureGpuRows(GpuSession& session);

// Adds to `machine` the launch cost and the other overheads, or why they are absent.
void MeasureGpuOverheads(GpuSession& session, machine::Machine& machine);

// Runs the fastest rows, one per pipe, for 10 s. Writes the rates of the first and the last second
// to CeilingSet::sustained. Sets sustained_per_second if the last second differs by more than 3 %
// from the ceiling. Marks a ceiling as not validated if either rate exceeds it.
void MeasureGpuSustained(GpuSession& session, machine::Machine& machine);

}  // namespace dlroof::gpu_ceilings
