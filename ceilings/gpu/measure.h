// Measures what a GPU can do.
#pragma once

#include <functional>
#include <string>

#include "ceilings/gpu/bench.h"
#include "ceilings/machine/machine.h"

namespace dlroof {

struct GpuMeasureOptions {
  int device = 0;         // CUDA's number
  bool quick = false;     // fewer repetitions, one pass
  bool thorough = false;  // more of them, and every pipe for 10 s on end
  std::function<void(const std::string& row)> progress;  // may be empty
};

// Device, name, fingerprint and facts as DescribeGpu has them; ceilings under one thread, the
// host's. Each row of GpuRows that this GPU runs stands in `flops` and `mixes`, proved or with the
// reason; what cannot run is absent with its reason in facts ("absent.<row>.threads.1"). `now` [s]
// any steady clock. Throws what the bench throws, but for Unsupported.
Machine MeasureGpuOn(GpuBench& bench, const GpuMeasureOptions& options,
                     const std::function<double()>& now);

// The same on CUDA's device; in the CUDA module alone (gpu_bench_cuda.cpp).
Machine MeasureGpu(const GpuMeasureOptions& options);

}  // namespace dlroof
