// Common parts of the operators that multiply a source by weights (Conv2D, Matmul): direction,
// element types, options of a call, its work, its seeded inputs and its quantization scales.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "bench/workload/eltwise.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"

namespace dlroof::products {

// Element types of source, weights and destination. The gradient of a tensor has the tensor's type.
struct ProductTypes {
  std::string source, weights, destination;

  bool operator==(const ProductTypes&) const = default;
};

// Returns the element types of a name's type: f32 f32 f32 for "f32" and "tf32", u8 s8 u8 for
// "int8", u8 s8 f32 for "u8s8f32", e4m3 e4m3 e4m3 for "fp8". Each combination has one spelling.
// Throws BadInput without a column for any other text.
ProductTypes ProductTypesFromKey(std::string_view type);
// Returns a name's type for these element types ("u8s8f32"), or nothing if names have none.
std::optional<std::string> KeyOf(const ProductTypes& types);

bool IsByte(std::string_view element);   // true for "u8" and "s8"
bool IsInt8(const ProductTypes& types);  // true for integer source and weights

// Returns the element type of the bias, which is f32 if the weights are integers.
std::string_view BiasType(const ProductTypes& types);
// Returns the type that determines the pipe: "int8", "fp8", or the narrowest floating-point type of
// the three tensors ("bf16").
std::string_view ComputeType(const ProductTypes& types);

// A parsed benchmark name without its problem. An operator's case derives from this struct, adds
// the problem, and has a function ProductSizes SizesOf(const Case&).
struct ProductCase {
  ProductDirection direction = ProductDirection::kForward;
  std::string type = "f32";
  ProductTypes types = {"f32", "f32", "f32"};
  bool training = false;  // forward call of a training step, not of inference
  bool bias = false;      // fwd adds a bias per channel, bwd_weights computes its gradient
  bool sum = false;       // fwd adds its result to what is in the destination, in the same kernel
  // fwd applies this function to its result in the same kernel, after bias and sum.
  std::optional<workload::Eltwise> eltwise;
  bool scales = false;  // int8 results use quantization scales, see ScalesOf
  // The narrower type in which f32 may be computed: "bf16", "f16", "tf32", "any", or
  // "tf32-truncated", which truncates inputs to tf32 instead of rounding. Absent: f32.
  std::optional<std::string> fpmath;

  bool operator==(const ProductCase&) const = default;
};

// The sizes of a problem, viewed as a matrix product.
struct ProductSizes {
  std::string problem;                   // the problem's text, for messages
  int64_t source, weights, destination;  // [1] elements
  int64_t channels;                      // [1] channels of the destination (filters, columns)
  int64_t terms;                         // [1] most products that are summed for one forward result
  int64_t flops;                         // [flop] of the matrix product in every direction
};

// The types and options that a backend accepts in names.
struct ProductCapabilities {
  std::vector<std::string> types;
  bool mixes = false;  // also accepts every combination of element types ("u8s8f32")
  workload::OptionRows options;
};

// Parses direction, type and options of a name into `read`, and calls `read_problem` with the
// number of characters before the problem, to parse the problem. Throws BadInput with the column,
// counted from the start of the benchmark's full name, for an unknown direction, and for types and
// options that the backend does not accept, that are repeated or that are out of order.
void ReadProductCase(const workload::BenchmarkName& name, const ProductCapabilities& capabilities,
                     const std::function<void(int column_offset)>& read_problem, ProductCase& read);

// Returns the element type of the tensor that the direction writes.
std::string_view ResultType(const ProductCase& one);

// Returns the elementwise FLOPs of one call [flop], which the problem's FLOPs lack
// (logs::WorkOfProduct, logs::WorkOfPostOps).
int64_t ElementwiseFlops(const ProductCase& one, const ProductSizes& sizes);

// Returns the work of one call: the problem's FLOPs on `pipe`, elementwise FLOPs on fp32.vector (on
// `pipe` for f64), one launch, and the compulsory DRAM bytes: the two tensors that are read, the
// tensor that is written, the bias, and the destination before a sum, each once and without
// padding.
Work ProductWork(const ProductCase& one, const ProductSizes& sizes, const std::string& pipe);
template <class Case>
Work ProductWork(const Case& one, const std::string& pipe) {
  return ProductWork(one, SizesOf(one), pipe);
}

// The three tensors of a call and its bias. A call reads two tensors and writes one.
template <class Number>
struct ProductArrays {
  std::vector<Number> source, weights, destination;
  std::vector<Number> bias = {};    // one per channel; empty if the call has no bias
  std::vector<Number> addend = {};  // of the destination, for the option sum; otherwise empty
};
// The inputs of a call in row-major order. The tensor that the call writes has no elements.
using ProductInputs = ProductArrays<float>;

// Quantization scales of the option `scales`: destination = (source scale x weights scale of the
// channel x sum + bias, then `eltwise`) / destination scale. All scales are powers of two, so that
// multiplying by them does not round.
struct ProductScales {
  float source = 1;
  std::vector<float> weights;  // per channel; empty if all scales are 1
  float destination = 1;       // always 1 for a destination wider than 8 bits

  float Weights(int64_t channel) const {
    return weights.empty() ? 1.0F : weights[static_cast<size_t>(channel)];
  }
};
ProductScales ScalesOf(const ProductCase& one, const ProductSizes& sizes);

// Returns seeded inputs of a call, uniformly distributed and exact in their element types (f64
// inputs are f32 values). Floating-point inputs are between -1 and 1. Integer inputs are
// - for an 8-bit destination without scales, which saturates: weights of -1, 0 and 1, and a source
//   so small that the sums have a standard deviation of about 50;
// - otherwise: u8 from 0 to 127, s8 from -63 to 63, weights with a raised lower bound so that most
//   sums are positive.
// Sums are exact even without VNNI: the sum of two adjacent products fits 16 bits, even if oneDNN
// adds 128 to an s8 source. Weights for an s8 source are even (-2, 0, 2 instead of -1, 0, 1),
// because oneDNN halves them.
ProductInputs SeededInputs(const ProductCase& one, const ProductSizes& sizes, uint64_t seed);

template <class Case>
ProductScales ScalesOf(const Case& one) {
  return ScalesOf(one, SizesOf(one));
}
template <class Case>
ProductInputs SeededInputs(const Case& one, uint64_t seed) {
  return SeededInputs(one, SizesOf(one), seed);
}

// Adds the bias and the addend and applies `eltwise` (fwd), or computes the gradient of the bias
// (bwd_weights), on row-major arrays. `channel_of` returns the channel of a destination element.
template <class Number, class ChannelOf>
void AddVariant(const ProductCase& one, int64_t channels, ChannelOf channel_of,
                ProductArrays<Number>& arrays) {
  const bool forward = one.direction == ProductDirection::kForward;
  if (one.bias && !forward) arrays.bias.assign(static_cast<size_t>(channels), Number{});
  for (size_t i = 0; one.bias && i < arrays.destination.size(); ++i) {
    Number& bias = arrays.bias[channel_of(i)];
    if (forward)
      arrays.destination[i] += bias;
    else
      bias += arrays.destination[i];
  }
  for (size_t i = 0; one.sum && i < arrays.destination.size(); ++i)
    arrays.destination[i] += arrays.addend[i];
  if (one.eltwise)
    for (auto& value : arrays.destination) value = Apply(*one.eltwise, value);
}

}  // namespace dlroof::products
