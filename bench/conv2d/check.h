// Whether a conv2d result is right: compared element by element with sums in double of the same
// inputs. No library here, so that a planted error can be tested.
#pragma once

#include <vector>

#include "bench/conv2d/inputs.h"
#include "bench/workload/workload.h"

namespace dlroof {

// What a call wrote, in plain order, as f32 or wider.
template <class Number>
struct Conv2dOutput {
  std::vector<Number> values;
  std::vector<Number> bias_gradient = {};  // bwd_weights with bias alone
};

// Compares `output` with reference sums of `inputs`, with bias, relu and scales where the case has
// them. All elements of a problem up to 50 MFLOP; else a seeded sample of 64 to 512 (fewer where
// one sum is long) with every corner and a share of border elements. Every gradient of a bias.
// Besides, every element must be finite. An element's allowed error (the unit of max_error;
// tolerance is 1) is by the type of the result:
//   f64        2^-53 x 64 x the sum of absolute products
//   f32        2^-24 x 64 x the sum of absolute products
//   bf16, f16  as f32, plus the rounding of the result: 2^-8, 2^-11 of it
//   e4m3       2^-19 x 64 x the sum of absolute products, plus 2^-4 of the result and 2^-10
//   s32        one, plus 2^-23 of it (it is read as f32)
//   u8, s8     one
// With fpmath each product's two factors may be rounded: 2 x 2^-8 (bf16, any), 2 x 2^-11 (f16,
// tf32) or, cut off instead of rounded, 2 x 2^-10 (tf32-truncated) of the sum of absolute products
// on top.
Verification CheckConv2d(const Conv2dCase& conv, const Conv2dInputs& inputs,
                         const Conv2dOutput<float>& output, uint64_t seed);
Verification CheckConv2d(const Conv2dCase& conv, const Conv2dInputs& inputs,
                         const Conv2dOutput<double>& output, uint64_t seed);

}  // namespace dlroof
