// A GPU as the measurement of its ceilings needs it. The CUDA module has the real one, tests have
// one of known rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu_known/known.h"
#include "ceilings/gpu_known/rows.h"
#include "counters/gpu/clock.h"
#include "counters/gpu/identity.h"

namespace dlroof {

struct GpuDescription {
  GpuIdentity identity;
  double free_bytes = 0;                   // [byte] of its memory
  std::optional<double> default_clock_hz;  // [1/s] of the SMs, by the driver's table
};

// One timed repetition.
struct GpuTime {
  double seconds = 0;              // [s] on the GPU
  std::optional<double> clock_hz;  // [1/s] mean SM clock meanwhile, counted by an SM itself
  GpuHealth health;                // while it ran
};

// What it costs the host and the GPU to do next to nothing.
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
  virtual void Prepare(const GpuRow& row, const GpuShape& shape) = 0;
  // Of what was prepared last.
  virtual GpuTime Run(std::int64_t iterations) = 0;
  // What the row leaves from `operands` (GpuOperands, known); as many bytes as GpuResultBytes says.
  virtual GpuBytes Result(const GpuRow& row, const GpuShape& shape, const GpuBytes& operands,
                          std::int64_t iterations) = 0;
  // [s] of that many together.
  virtual double Overhead(GpuOverhead kind, std::int64_t times) = 0;
};

}  // namespace dlroof
