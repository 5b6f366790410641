// Elementwise functions in plain loops, the reference for a library and a benchmark itself, and the
// check.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/eltwise/case.h"
#include "bench/rows/rows.h"
#include "bench/workload/output_check.h"

namespace dlroof::eltwise {

// Writes `destination`, which has as many elements as the source.
void RunLoops(const EltwiseCase& eltwise, const rows::Tensors<double>& in,
              std::vector<double>& destination);

// Returns seeded values between -8 and 8, exact in the case's type (f32 for f64), so that both ends
// of each function are reached.
rows::Tensors<float> SeededTensors(const EltwiseCase& eltwise, uint64_t seed);

// Compares a row with the functions in double, in another form than the loops have them. The
// allowed error is 64 x 2^-24 (f64: 2^-53) of |x| for both GELUs, because libraries approximate erf
// and tanh with an error relative to 1, and of the result for the others; and for bf16 2^-8 of the
// result.
double RowError(const EltwiseCase& eltwise, const rows::Tensors<float>& in,
                std::span<const float> x, std::span<const double> y,
                const workload::TypeRounding& rounding);

}  // namespace dlroof::eltwise
