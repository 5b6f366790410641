// Layer normalization in plain loops, the reference for a library and a benchmark itself, and the
// check.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/layernorm/case.h"
#include "bench/rows/rows.h"
#include "bench/workload/output_check.h"

namespace dlroof::layernorm {

// Indices of the parameters in rows::Tensors: a number per column, or none.
enum Parameter : size_t { kScale, kShift };

// Writes `destination`, which has as many elements as the source.
void RunLoops(const LayerNormCase& norm, const rows::Tensors<double>& in,
              std::vector<double>& destination);

// Returns seeded values, exact in the case's type (scale and shift in f32): a source between -1 and
// 3, so that its mean matters, a scale between 0.5 and 1.5, and a shift between -1 and 1.
rows::Tensors<float> SeededTensors(const LayerNormCase& norm, uint64_t seed);

// Compares a row with the definition in double. The allowed error is 2^-24 (f64: 2^-53) x (64 +
// sqrt(n)) of (|x| + |mean|) x scale / root + |shift|, because a sum's rounding errors grow like
// the square root of its length and the mean is subtracted; and for bf16 2^-8 of the result.
double RowError(const LayerNormCase& norm, const rows::Tensors<float>& in, std::span<const float> x,
                std::span<const double> y, const workload::TypeRounding& rounding);

}  // namespace dlroof::layernorm
