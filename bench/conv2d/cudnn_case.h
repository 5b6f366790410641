// A parsed name of Conv2D/gpu/cudnn, and the graph that cuDNN's backend API wants, in plain
// numbers: tensors, one convolution, what is fused behind it. No CUDA here: names parse the same
// way in every build.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/conv2d/case.h"
#include "bench/workload/benchmark_name.h"

namespace dlroof::conv2d {

// Choice among cuDNN's engines.
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
CudnnConv2dCase ReadCudnnConv2dCase(const workload::BenchmarkName& name);

// Unique ids of tensors.
enum TensorId : int64_t {
  kSourceId = 1,       // x, or its gradient
  kWeightsId = 2,      // w, or its gradient
  kDestinationId = 3,  // y, or its gradient
  kBiasId = 4,
  kSumId = 5,    // what the convolution hands to bias or relu
  kBiasedId = 6  // what bias hands to relu
};

// A tensor of four dimensions: n c h w (source), k c/groups r s (weights), n k P Q (destination),
// 1 k 1 1 (bias), whatever its order in memory, which the strides say.
struct TensorSpec {
  int64_t id = 0;
  std::string type;                   // "f32 f16 bf16 e4m3 s32 s8 u8"
  std::array<int64_t, 4> dimensions;  // [1]
  std::array<int64_t, 4> strides;     // [element]
  bool is_virtual = false;            // never in memory

  bool operator==(const TensorSpec&) const = default;
};

// Cross-correlation. The groups follow from the channels of source and weights.
struct ConvolutionSpec {
  ProductDirection direction = ProductDirection::kForward;
  std::string compute_type;                          // of the sums: "f32", "s32"
  std::array<int64_t, 2> strides, dilations;         // height, width; dilation 1 is dense
  std::array<int64_t, 2> pads_before, pads_after;    // top, left; bottom, right
  int64_t source = 0, weights = 0, destination = 0;  // ids

  bool operator==(const ConvolutionSpec&) const = default;
};

enum class PointwiseMode { kAdd, kRelu };
struct PointwiseSpec {
  PointwiseMode mode = PointwiseMode::kAdd;
  int64_t input = 0, addend = 0, output = 0;  // ids; addend: kAdd alone
  std::string compute_type = "f32";

  bool operator==(const PointwiseSpec&) const = default;
};

struct GraphSpec {
  std::vector<TensorSpec> tensors;
  ConvolutionSpec convolution;
  std::vector<PointwiseSpec> pointwise;  // in order
};

GraphSpec GraphOf(const CudnnConv2dCase& request);

// [element] Strides of a dense tensor: the last dimension fastest (kNchw), or the second one
// (kNhwc).
std::array<int64_t, 4> DenseStrides(const std::array<int64_t, 4>& dimensions, Conv2dLayout layout);

// [byte] of all its tensors in memory, each once.
double TensorBytes(const GraphSpec& graph);

// The tensor with this id. Throws std::logic_error when there is none.
const TensorSpec& TensorOf(const GraphSpec& graph, int64_t id);

}  // namespace dlroof::conv2d
