// The part of a parsed benchmark name that all operators have which multiply a source by weights:
// direction, element types of the tensors, variant of the call. Also the work of one call.
//
// The numbers that a product reads: seeded tensors, quantization scales; and their plain loops'
// arrays.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/work.h"

namespace dlroof::products {

// Element types of the three tensors; of a gradient, the type of its tensor.
struct ProductTypes {
  std::string source, weights, destination;

  bool operator==(const ProductTypes&) const = default;
};

// "f32" and "tf32" -> f32 f32 f32, "int8" -> u8 s8 u8, "u8s8f32" -> u8 s8 f32, "fp8" -> three times
// e4m3. Throws BadInput without a column for anything that is not a type's one spelling.
ProductTypes ProductTypesFromKey(std::string_view type);
// The inverse of ProductTypesFromKey; empty where a name has no word for these types.
std::string KeyOf(const ProductTypes& types);

bool IsByte(std::string_view element);   // "u8", "s8"
bool IsInt8(const ProductTypes& types);  // integer source and weights

// The element type of the bias: f32 beside integer weights.
std::string_view BiasType(const ProductTypes& types);
// "bf16": the narrowest floating type of the three tensors, "int8" for integers, "fp8"; what
// decides the unit that computes.
std::string_view ComputeType(const ProductTypes& types);

// An operator's case derives from it, adds its problem, and has a function
// ProductSizes SizesOf(const Case&).
struct ProductCase {
  ProductDirection direction = ProductDirection::kForward;
  std::string type = "f32";
  ProductTypes types = {"f32", "f32", "f32"};
  bool training = false;  // fwd as a training step runs it, not as inference
  bool bias = false;      // fwd adds one number per channel, bwd_weights makes its gradient
  bool relu = false;      // fwd, fused: negative results become 0
  bool scales = false;    // int8: quantization scales, see ScalesOf
  // "bf16", "f16", "tf32", "any": f32 may be computed so; "tf32-truncated": so, without rounding;
  // empty: may not.
  std::string fpmath;

  bool operator==(const ProductCase&) const = default;
};

// A problem as a product.
struct ProductSizes {
  std::string problem;                   // its text
  int64_t source, weights, destination;  // [1] elements
  int64_t channels;                      // [1] of the destination: filters, columns
  int64_t terms;                         // [1] products that one forward result sums at most
  int64_t flops;                         // [flop] dense, in every direction
};

// The names that a cell takes.
struct ProductCapabilities {
  std::vector<std::string> types;
  bool mixes = false;  // any source, weights and destination type beside
  workload::OptionRows options;
};

// Reads into `read` all that ProductCase has; `read_problem` parses the problem, which begins
// behind that many columns. Throws BadInput with the column within the whole name for an unknown
// direction, a type that is not offered, and an option that is not offered, twice or in the wrong
// order.
void ReadProductCase(const workload::BenchmarkName& name, const ProductCapabilities& capabilities,
                     const std::function<void(int column_offset)>& read_problem, ProductCase& read);

// The element type of what a direction writes.
std::string_view ResultType(const ProductCase& one);

// [flop] beside the dense count, of element by element operations: each bias add and each relu
// counts 1 per element of the destination, each add to the bias gradient 1 per gradient element.
int64_t ElementwiseFlops(const ProductCase& one, const ProductSizes& sizes);

// Returns the work of one call in any direction: dense FLOPs on `pipe`, element by element ones on
// fp32.vector (on `pipe` for f64), compulsory DRAM bytes (each of the three tensors once, whole,
// without padding: two are read and one is written; the bias once), one launch.
Work ProductWork(const ProductCase& one, const ProductSizes& sizes, const std::string& pipe);
template <class Case>
Work ProductWork(const Case& one, const std::string& pipe) {
  return ProductWork(one, SizesOf(one), pipe);
}

// The three tensors of a call and its bias. A call reads two tensors and writes one.
template <class Number>
struct ProductArrays {
  std::vector<Number> source, weights, destination;
  std::vector<Number> bias = {};  // one per channel; empty: the call has none
};
// The inputs of a direction in plain order. The written tensor is empty.
using ProductInputs = ProductArrays<float>;

// Quantization of the option `scales`: destination = (source scale x weights scale of the channel x
// sum + bias, then relu) / destination scale. Powers of two, so that multiplying rounds nothing.
struct ProductScales {
  float source = 1;
  std::vector<float> weights;  // per channel; empty: 1
  float destination = 1;       // 1 where the destination is wider than 8 bit

  float Weights(int64_t channel) const {
    return weights.empty() ? 1.0F : weights[static_cast<size_t>(channel)];
  }
};
ProductScales ScalesOf(const ProductCase& one, const ProductSizes& sizes);

// Seeded inputs of a direction, exact in their types ("f64" is given f32 values), uniform.
// Floating types: between -1 and 1. Integers:
//   into an 8-bit destination without scales, which saturates beyond its range: weights -1, 0, 1
//     and a source so small that the sums spread by about 50;
//   else u8 from 0 to 127, s8 from -63 to 63, weights narrowed from below so that most sums are
//     positive.
// Sums are exact without VNNI too. Two neighbours' products fit the 16 bits that hold their sum,
// also those of an s8 source plus 128. Weights beside an s8 source are even (-2, 0, 2 for -1, 0,
// 1): oneDNN halves them.
ProductInputs SeededInputs(const ProductCase& one, const ProductSizes& sizes, uint64_t seed);

template <class Case>
ProductScales ScalesOf(const Case& one) {
  return ScalesOf(one, SizesOf(one));
}
template <class Case>
ProductInputs SeededInputs(const Case& one, uint64_t seed) {
  return SeededInputs(one, SizesOf(one), seed);
}

inline double Relu(double value) { return value > 0 ? value : 0; }

// Does on plain arrays what a variant adds to the product: bias, relu, the gradient of the bias.
// `channel_of`: the channel of an element of the destination.
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
  if (one.relu)
    for (auto& value : arrays.destination) value = Relu(value);
}

}  // namespace dlroof::products
