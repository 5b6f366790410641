// The numbers that a conv2d call reads: seeded tensors, quantization scales.
#pragma once

#include <vector>

#include "bench/conv2d/loops.h"

namespace dlroof {

// Quantization of the option `scales`: destination = (source scale x weights scale of the filter x
// sum + bias, then relu) / destination scale. Powers of two, so that multiplying rounds nothing.
struct Conv2dScales {
  float source = 1;
  std::vector<float> weights;  // per filter; empty: 1
  float destination = 1;       // 1 where the destination is wider than 8 bit

  float Weights(int64_t filter) const {
    return weights.empty() ? 1.0F : weights[static_cast<size_t>(filter)];
  }
};
Conv2dScales Conv2dScalesOf(const Conv2dCase& conv);

// Seeded inputs of a direction, exact in their types ("f64" is given f32 values), uniform.
// Floating types: between -1 and 1. Integers:
//   into an 8-bit destination without scales, which saturates beyond its range: weights -1, 0, 1
//     and a source so small that the sums spread by about 50;
//   else u8 from 0 to 127, s8 from -63 to 63, weights narrowed from below so that most sums are
//     positive.
// Sums are exact without VNNI too. Two neighbours' products fit the 16 bits that hold their sum,
// also those of an s8 source plus 128. Weights beside an s8 source are even (-2, 0, 2 for -1, 0,
// 1): oneDNN halves them.
Conv2dInputs SeededConv2dInputs(const Conv2dCase& conv, uint64_t seed);

}  // namespace dlroof
