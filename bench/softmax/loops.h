// Softmax in plain loops, the reference for a library and a benchmark itself, and the check.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "bench/softmax/case.h"

namespace dlroof::softmax {

// The functions that the loops apply to a double.
inline double Exp(double x) { return std::exp(x); }
inline double Max(double a, double b) { return std::max(a, b); }

// Writes `destination`, which has as many elements as `source`.
template <class Number>
void RunSoftmax(const rows::Rows& p, const std::vector<Number>& source,
                std::vector<Number>& destination) {
  for (int64_t row = 0; row < p.m; ++row) {
    const Number* const x = source.data() + row * p.n;
    Number* const y = destination.data() + row * p.n;
    Number greatest = x[0];
    for (int64_t i = 1; i < p.n; ++i) greatest = Max(greatest, x[i]);
    for (int64_t i = 0; i < p.n; ++i) y[i] = Exp(x[i] - greatest);
    Number sum = y[0];
    for (int64_t i = 1; i < p.n; ++i) sum = sum + y[i];
    for (int64_t i = 0; i < p.n; ++i) y[i] = y[i] / sum;
  }
}

// Returns seeded values between -8 and 8, exact in the case's type (f32 for f64): exponentials of a
// row differ by up to e^16, so that its maximum matters.
std::vector<float> SeededSource(const SoftmaxCase& softmax, uint64_t seed);

double RowError(std::span<const float> x, std::span<const double> y,
                const workload::TypeRounding& rounding);
// Compares rows of `output` with the definition in double, without the subtraction of the maximum.
// The allowed error is relative to an element's value:
//   f64, f32  2^-53, 2^-24 x (64 + sqrt(n)): an exponent of up to 16 in size is rounded, which is 8
//             of the 64 units; the rounding errors of a sum of n terms grow like its square root
//   bf16      as f32, plus 2 x 2^-8: oneDNN stores the exponentials in the destination's type, so
//             that each element is rounded twice
template <class Number>  // float or double
workload::Verification CheckSoftmax(const SoftmaxCase& softmax, const std::vector<float>& source,
                                    const std::vector<Number>& output, uint64_t seed) {
  return rows::CheckRows(softmax, source, output, seed, RowError);
}

}  // namespace dlroof::softmax
