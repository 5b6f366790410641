// The numbers that a product reads: seeded tensors, quantization scales; and their plain loops'
// arrays.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/products/case.h"

namespace dlroof::products {

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
