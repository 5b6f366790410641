// Layer normalization, y = (x - mean) / sqrt(variance + epsilon) of a row, times a scale and plus a
// shift per column: its names, its call, and benchdnn's driver.
#pragma once

#include "bench/benchdnn/options.h"
#include "bench/rows/rows.h"
#include "bench/workload/workload.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::layernorm {

inline constexpr float kEpsilon = 1e-5F;  // PyTorch's default

struct LayerNormCase : rows::RowsCase {
  bool scale = false, shift = false;

  bool operator==(const LayerNormCase&) const = default;
};

// Parse names of LayerNorm/cpu/onednn and of LayerNorm/cpu/reference (f64). Throw BadInput with the
// column, counted from the start of the benchmark's full name.
LayerNormCase ReadOnednnCase(const workload::BenchmarkName& name);
LayerNormCase ReadReferenceCase(const workload::BenchmarkName& name);

// Returns the call as oneDNN logs it. Its work and benchdnn's line follow from this text.
logs::PrimitiveText Logged(const LayerNormCase& norm);

extern const benchdnn::BenchdnnDriver kLnormDriver;

}  // namespace dlroof::layernorm
