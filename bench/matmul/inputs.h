// The numbers that a matmul call reads: seeded matrices, quantization scales.
#pragma once

#include <vector>

#include "bench/matmul/loops.h"

namespace dlroof {

// Quantization of the option `scales`: C = (A's scale x B's scale of the column x sum + bias, then
// relu) / C's scale. Powers of two, so that multiplying rounds nothing.
struct MatmulScales {
  float source = 1;
  std::vector<float> weights;  // per column; empty: 1
  float destination = 1;       // 1 where C is wider than 8 bit

  float Weights(int64_t column) const {
    return weights.empty() ? 1.0F : weights[static_cast<size_t>(column)];
  }
};
MatmulScales MatmulScalesOf(const MatmulCase& matmul);

// Returns seeded inputs of a direction, exact in their types ("f64" is given f32 values), uniform.
// Floating types: between -1 and 1. Integers:
//   into an 8-bit C without scales, which saturates beyond its range: B has -1, 0, 1, and A is so
//     small that the sums spread by about 50;
//   else u8 from 0 to 127, s8 from -63 to 63, B narrowed from below so that most sums are positive.
// Sums are exact without VNNI too: two neighbours' products fit the 16 bits that hold their sum.
// B beside an s8 A is even, because oneDNN halves it.
MatmulInputs SeededMatmulInputs(const MatmulCase& matmul, uint64_t seed);

}  // namespace dlroof
