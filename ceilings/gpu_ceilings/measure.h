// Describes a GPU as a machine::Machine and measures its ceilings. A row is one kernel of one pipe
// or memory level; a pass measures all rows once.
#pragma once

#include <functional>
#include <string>

#include "ceilings/gpu_ceilings/bench.h"
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

// Returns DescribeGpu with one CeilingSet, for 1 thread. Its `flops` and `mixes` contain the rows
// of GpuRows that were measured; `absent` says why the other rows were not. facts["ended_early"] is
// set if `options.stopped` ended the measurement. `now` returns the time of a steady clock [s].
// Throws std::runtime_error if no row could be measured, and what bench.Describe throws.
machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                              const std::function<double()>& now);

// Measures the ceilings of a CUDA device. Defined only in the CUDA module (bench_cuda.cpp).
machine::Machine MeasureGpu(const GpuMeasureOptions& options);

}  // namespace dlroof::gpu_ceilings
