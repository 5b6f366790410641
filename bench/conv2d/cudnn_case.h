// What the name of a Conv2D/gpu/cudnn benchmark asks for. No CUDA here: names parse the same way in
// every build.
#pragma once

#include <cstdint>

#include "bench/conv2d/case.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof::cudnn {

// Which of cuDNN's engines makes the call.
enum class EngineChoice {
  kHeuristic,  // the first of cuDNN's own order (heuristic mode A) that may be used and finalizes
  kBest,       // the fastest of all that its heuristics propose, each one timed
  kNumbered    // the first proposal with a given number
};

struct CudnnConv2dCase {
  // Its layout is kNchw or kNhwc, never kAny: cuDNN takes the layout that it is given. A type
  // "tf32" is f32 tensors with `fpmath` "tf32-truncated": tensor cores ignore the low bits.
  Conv2dCase conv;
  EngineChoice choice = EngineChoice::kHeuristic;
  int64_t engine = 0;  // kNumbered: cuDNN's global index

  bool operator==(const CudnnConv2dCase&) const = default;
};

// Types: f32 (no tensor cores, no narrower inputs), tf32, f16, bf16, int8 and mixes of 8-bit
// integers such as s8s8f32. Options, in this order: bias, relu (fwd, fused), nchw (default: NHWC,
// the order in which tensor cores read channels), best or engineN (default: the heuristic's
// choice). Throws BadInput with the column within the whole name.
CudnnConv2dCase ReadCudnnConv2dCase(const BenchmarkName& name);

}  // namespace dlroof::cudnn
