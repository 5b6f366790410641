// Types that the parts of a GPU's measurement share: passes measure rows, which become ceilings.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu/bench.h"
#include "ceilings/gpu/measure.h"
#include "ceilings/gpu/proof.h"
#include "ceilings/machine/machine.h"

namespace dlroof::gpu_ceilings {

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
  std::string doubt;   // the result's error
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
