// The interface through which a GPU is measured. The CUDA module implements it, and tests fake it.
#pragma once

#include <cstdint>
#include <optional>

#include "ceilings/gpu_kernels/known.h"
#include "ceilings/gpu_kernels/rows.h"
#include "counters/gpu/clock.h"
#include "counters/gpu/driver.h"

namespace dlroof::gpu_ceilings {

struct GpuDescription {
  gpu::GpuIdentity identity;
  double free_bytes = 0;                   // [byte] free memory
  std::optional<double> default_clock_hz;  // [1/s] of the SMs, from the driver's table
};

// One timed repetition.
struct GpuTime {
  double seconds = 0;              // [s] on the GPU
  std::optional<double> clock_hz;  // [1/s] mean SM clock during the run, counted by an SM
  gpu::GpuHealth health;           // the driver's report during the run
};

// Costs of operations without work.
enum class GpuOverhead {
  kLaunch,           // empty kernels, one after another
  kLaunchSync,       // an empty kernel and the wait for it
  kGraphNode,        // empty kernels as nodes of one graph, per node
  kGraphLaunchSync,  // a graph of one empty kernel and the wait for it
  kEvents,           // the time measured by two events with nothing between them
  kSync              // the wait for an idle stream
};

class GpuBench {
 public:
  virtual ~GpuBench() = default;
  virtual GpuDescription Describe() = 0;
  // Prepares the row with random operands. Throws Unsupported with the library's message if the row
  // cannot run.
  virtual void Prepare(const gpu_kernels::GpuRow& row, const gpu_kernels::GpuShape& shape) = 0;
  // Runs the row of the last Prepare.
  virtual GpuTime Run(std::int64_t iterations) = 0;
  // Runs the row on known `operands` (GpuOperands) and returns its GpuResultBytes bytes of results.
  virtual gpu_kernels::GpuBytes Result(const gpu_kernels::GpuRow& row,
                                       const gpu_kernels::GpuShape& shape,
                                       const gpu_kernels::GpuBytes& operands,
                                       std::int64_t iterations) = 0;
  // Returns the total time [s] of `times` operations.
  virtual double Overhead(GpuOverhead kind, std::int64_t times) = 0;
};

}  // namespace dlroof::gpu_ceilings
