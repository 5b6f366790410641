// Interface to a GPU that runs and times kernels. CUDA implements it; tests fake it.
#pragma once

#include <cstdint>
#include <optional>

#include "ceilings/gpu_ceilings/known.h"
#include "ceilings/gpu_ceilings/rows.h"
#include "counters/gpu/clock.h"
#include "counters/gpu/driver.h"

namespace dlroof::gpu_ceilings {

struct GpuDescription {
  gpu::GpuIdentity identity;
  double free_bytes = 0;                   // [byte] free memory
  std::optional<double> default_clock_hz;  // [1/s] of the SMs; absent if the driver has none
};

// Result of one timed repetition of a kernel.
struct GpuTime {
  double seconds = 0;              // [s] measured on the GPU
  std::optional<double> clock_hz;  // [1/s] mean SM clock during the run, counted on one SM
  gpu::GpuHealth health;           // the driver's report during the run
};

// Operations whose overhead is measured.
enum class GpuOverhead {
  kLaunch,    // launch of an empty kernel after another one
  kQueued,    // an empty kernel after another one, both queued before the GPU begins
  kGraphNode  // one of many empty kernels in a graph
};

class GpuBench {
 public:
  virtual ~GpuBench() = default;
  virtual GpuDescription Describe() = 0;
  // Allocates the row's memory, with random operands. Throws Unsupported with the library's message
  // if the row cannot run.
  virtual void Prepare(const gpu_ceilings::GpuRow& row, const gpu_ceilings::GpuShape& shape) = 0;
  // Runs and times the kernel of the last Prepare.
  virtual GpuTime Run(std::int64_t iterations) = 0;
  // Runs the row on `operands` (of GpuOperands) and returns GpuResultBytes bytes of results.
  virtual gpu_ceilings::GpuBytes Result(const gpu_ceilings::GpuRow& row,
                                        const gpu_ceilings::GpuShape& shape,
                                        const gpu_ceilings::GpuBytes& operands,
                                        std::int64_t iterations) = 0;
  // Returns the total time [s] of `times` operations of this kind.
  virtual double Overhead(GpuOverhead kind, std::int64_t times) = 0;
};

}  // namespace dlroof::gpu_ceilings
