// The interface of a GPU that the measurement needs. The CUDA module implements it, tests fake it.
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
  double free_bytes = 0;                   // [byte] of its memory
  std::optional<double> default_clock_hz;  // [1/s] of the SMs, by the driver's table
};

// One timed repetition.
struct GpuTime {
  double seconds = 0;              // [s] on the GPU
  std::optional<double> clock_hz;  // [1/s] mean SM clock meanwhile, counted by an SM itself
  gpu::GpuHealth health;           // while it ran
};

// Costs of the host and the GPU without any work.
enum class GpuOverhead {
  kLaunch,           // empty kernels, one after another
  kLaunchSync,       // an empty kernel and the wait for it
  kGraphNode,        // empty kernels as nodes of one graph, per node
  kGraphLaunchSync,  // a graph of one empty kernel and the wait for it
  kEvents,           // two events with nothing between them: what they measure
  kSync              // the wait for an idle stream
};

class GpuBench {
 public:
  virtual ~GpuBench() = default;
  virtual GpuDescription Describe() = 0;
  // Lays random operands. Throws Unsupported with the library's words where the row cannot run.
  virtual void Prepare(const gpu_kernels::GpuRow& row, const gpu_kernels::GpuShape& shape) = 0;
  // Runs the row that Prepare prepared last.
  virtual GpuTime Run(std::int64_t iterations) = 0;
  // Returns the row's results from `operands` (GpuOperands, known): GpuResultBytes bytes.
  virtual gpu_kernels::GpuBytes Result(const gpu_kernels::GpuRow& row,
                                       const gpu_kernels::GpuShape& shape,
                                       const gpu_kernels::GpuBytes& operands,
                                       std::int64_t iterations) = 0;
  // Returns the time [s] of `times` operations together.
  virtual double Overhead(GpuOverhead kind, std::int64_t times) = 0;
};

}  // namespace dlroof::gpu_ceilings
