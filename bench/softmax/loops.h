// Softmax in plain loops, the reference for a library and a benchmark itself, and the check.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/rows/rows.h"
#include "bench/softmax/case.h"
#include "bench/workload/output_check.h"

namespace dlroof::softmax {

// Writes `destination`, which has as many elements as the source.
void RunLoops(const SoftmaxCase& softmax, const rows::Tensors<double>& in,
              std::vector<double>& destination);

// Returns seeded values between -8 and 8, exact in the case's type (f32 for f64): exponentials of a
// row differ by up to e^16, so that its maximum matters.
rows::Tensors<float> SeededTensors(const SoftmaxCase& softmax, uint64_t seed);

// Compares a row with the definition in double, without the subtraction of the maximum. The allowed
// error is relative to an element's value:
//   f64, f32  2^-53, 2^-24 x (64 + sqrt(n)): an exponent of up to 16 in size is rounded, which is 8
//             of the 64 units; the rounding errors of a sum of n terms grow like its square root
//   bf16      as f32, plus 2 x 2^-8: oneDNN stores the exponentials in the destination's type, so
//             that each element is rounded twice
double RowError(const SoftmaxCase& softmax, const rows::Tensors<float>& in,
                std::span<const float> x, std::span<const double> y,
                const workload::TypeRounding& rounding);

}  // namespace dlroof::softmax
