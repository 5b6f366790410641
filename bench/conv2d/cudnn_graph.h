// A convolution as the graph that cuDNN's backend API wants, in plain numbers: tensors, one
// convolution, what is fused behind it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/conv2d/cudnn_case.h"

namespace dlroof::cudnn {

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

}  // namespace dlroof::cudnn
