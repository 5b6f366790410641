// Compares a matmul result with sums in double of the same inputs. Uses no library, so that a
// planted error can be tested.
#pragma once

#include <vector>

#include "bench/matmul/inputs.h"
#include "bench/workload/workload.h"

namespace dlroof {

// A call's result in its order in memory, as f32 or wider.
template <class Number>
struct MatmulOutput {
  std::vector<Number> values;
  std::vector<Number> bias_gradient = {};  // bwd_weights of ip with bias alone
};

// Compares `output` with reference sums of `inputs`, with bias, relu and scales where the case has
// them. Compares all elements of a problem up to 50 MFLOP, else a seeded sample of 64 to 512
// (fewer where k is long) with every corner. Compares every gradient of a bias. Requires every
// element to be finite. An element's allowed error (the unit of max_error; tolerance is 1) is by
// the type of the result:
//   f64        2^-53 x 64 x the sum of absolute products
//   f32        2^-24 x 64 x the sum of absolute products
//   bf16, f16  as f32, plus the rounding of the result: 2^-8, 2^-11 of it
//   s32        one, plus 2^-23 of it (it is read as f32)
//   u8, s8     one
// With fpmath each product's two factors may be rounded: 2 x 2^-8 (bf16, any), 2 x 2^-11 (f16,
// tf32) or, cut off instead of rounded, 2 x 2^-10 (tf32-truncated) of the sum of absolute products
// on top.
Verification CheckMatmul(const MatmulCase& matmul, const MatmulInputs& inputs,
                         const MatmulOutput<float>& output, uint64_t seed);
Verification CheckMatmul(const MatmulCase& matmul, const MatmulInputs& inputs,
                         const MatmulOutput<double>& output, uint64_t seed);

}  // namespace dlroof
