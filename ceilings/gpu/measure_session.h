// How the measurement of a GPU is put together: rows measured in passes, then made into ceilings.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu/bench.h"
#include "ceilings/gpu/measure.h"
#include "ceilings/gpu/proof.h"
#include "ceilings/machine/machine.h"

namespace dlroof {

struct GpuEffort {
  const char* name;
  double repetition_seconds;
  int repetitions, doubled;
  int passes;
  double row_seconds;  // [s] that a row may take in one pass
  int sustained;       // how many pipes are watched for 10 s

  RatePolicy Policy(double tolerance, const std::function<double()>& now) const;
};

// One row in the making.
struct GpuRowState {
  GpuRow row;
  GpuShape shape;
  std::string result;  // Proof::result; empty: not looked at, or wrong
  std::string doubt;   // what is wrong with the result
  std::string absent;  // why the row was not measured
  std::vector<GpuPass> passes;
  std::optional<HalfRate> half;
  GpuTime last;  // of the last repetition: what the driver said
};

struct GpuSession {
  GpuBench& bench;
  const GpuMeasureOptions& options;
  const std::function<double()>& now;
  GpuEffort effort;
  GpuDescription gpu;
  std::vector<GpuRowState> rows;
  std::vector<SweepPoint> sweep;  // loads, by set

  int Capability() const { return 10 * gpu.identity.major + gpu.identity.minor; }
  RatePolicy Policy(const GpuRow& row) const;
  // [1/s] the default clock that the row's repetitions are held against; absent: none.
  std::optional<double> HeldClock(const GpuRow& row) const;
};

// gpu_measure_rows.cpp. Fills session.rows.
void MeasureGpuRows(GpuSession& session);

// gpu_measure_overheads.cpp. Launch cost, other overheads, and why one is absent.
void MeasureGpuOverheads(GpuSession& session, Machine& machine);

// gpu_measure_sustained.cpp. The fastest row of the hottest pipes runs for 10 s: what it reaches in
// the first and in the last second is in facts ("sustained.<row>"), and a ceiling's
// sustained_per_second where the last differs by more than 3 %. A second that is faster than the
// ceiling refutes it.
void WatchGpuFor10Seconds(GpuSession& session, Machine& machine);

}  // namespace dlroof
