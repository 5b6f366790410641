// Layer normalization in plain loops, the reference for a library and a benchmark itself, and the
// check.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "bench/layernorm/case.h"

namespace dlroof::layernorm {

// The function that the loops apply to a double.
inline double Root(double x) { return std::sqrt(x); }

template <class Number>
struct LayerNormTensors {
  std::vector<Number> source;
  std::vector<Number> scale = {}, shift = {};  // a number per column, or empty
};

// Writes `destination`, which has as many elements as `source`; `in` has scale and shift.
template <class Number>
void RunLayerNorm(const rows::Rows& p, const std::vector<Number>& source,
                  const LayerNormTensors<Number>& in, Number epsilon,
                  std::vector<Number>& destination) {
  const Number n(static_cast<double>(p.n)), one(1.0);
  for (int64_t row = 0; row < p.m; ++row) {
    const Number* const x = source.data() + row * p.n;
    Number* const y = destination.data() + row * p.n;
    Number sum = x[0];
    for (int64_t i = 1; i < p.n; ++i) sum = sum + x[i];
    const Number mean = sum / n;
    Number squares = (x[0] - mean) * (x[0] - mean);
    for (int64_t i = 1; i < p.n; ++i) squares = squares + (x[i] - mean) * (x[i] - mean);
    const Number factor = one / Root(squares / n + epsilon);
    for (int64_t i = 0; i < p.n; ++i) {
      y[i] = (x[i] - mean) * factor;
      if (!in.scale.empty()) y[i] = y[i] * in.scale[static_cast<size_t>(i)];
      if (!in.shift.empty()) y[i] = y[i] + in.shift[static_cast<size_t>(i)];
    }
  }
}

// Returns seeded values, exact in the case's type (scale and shift in f32): a source between -1 and
// 3, so that its mean matters, a scale between 0.5 and 1.5, and a shift between -1 and 1.
LayerNormTensors<float> SeededTensors(const LayerNormCase& norm, uint64_t seed);

// Compares rows of `output` with the definition in double. The allowed error is 2^-24 (f64: 2^-53)
// x (64 + sqrt(n)) of (|x| + |mean|) x scale / root + |shift|, because a sum's rounding errors grow
// like the square root of its length and the mean is subtracted; and for bf16 2^-8 of the result.
double RowError(const LayerNormTensors<float>& in, std::span<const float> x,
                std::span<const double> y, const workload::TypeRounding& rounding);
template <class Number>  // float or double
workload::Verification CheckLayerNorm(const LayerNormCase& norm, const LayerNormTensors<float>& in,
                                      const std::vector<Number>& output, uint64_t seed) {
  const auto error = [&](auto x, auto y, const auto& rounding) {
    return RowError(in, x, y, rounding);
  };
  return rows::CheckRows(norm, in.source, output, seed, error);
}

}  // namespace dlroof::layernorm
