// Describes a GPU as a machine, and measures its ceilings.
#pragma once

#include <functional>
#include <string>

#include "ceilings/gpu/bench.h"
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
// host's. Each row of GpuRows that this GPU runs stands in `flops` and `mixes`, proved or with the
// reason; `absent` has the reason of a row that cannot run. facts["ended_early"] is there where
// `stopped` ended it. `now` [s] is any steady clock. Throws
// what the bench throws, except Unsupported.
machine::Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                     const std::function<double()>& now);

// Measures CUDA's device. Only the CUDA module defines it (ceilings/cuda/bench_cuda.cpp).
machine::Machine MeasureGpu(const GpuMeasureOptions& options);

}  // namespace dlroof::gpu_ceilings
