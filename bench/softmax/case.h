// Softmax, y = exp(x) / sum of exp(x) over a row: its names, its call, and benchdnn's driver.
#pragma once

#include "bench/benchdnn/options.h"
#include "bench/rows/rows.h"
#include "bench/workload/workload.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::softmax {

struct SoftmaxCase : rows::RowsCase {
  bool operator==(const SoftmaxCase&) const = default;
};

// Parse names of Softmax/cpu/onednn and of Softmax/cpu/reference (f64). Throw BadInput with the
// column, counted from the start of the benchmark's full name.
SoftmaxCase ReadOnednnCase(const workload::BenchmarkName& name);
SoftmaxCase ReadReferenceCase(const workload::BenchmarkName& name);

// Returns the call as oneDNN logs it. Its work and benchdnn's line follow from this text.
logs::PrimitiveText Logged(const SoftmaxCase& softmax);

extern const benchdnn::BenchdnnDriver kSoftmaxDriver;

}  // namespace dlroof::softmax
