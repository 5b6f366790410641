// Eltwise, a function of each element: its names, its call, and benchdnn's driver.
#pragma once

#include "bench/benchdnn/options.h"
#include "bench/rows/rows.h"
#include "bench/workload/eltwise.h"
#include "bench/workload/workload.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::eltwise {

struct EltwiseCase : rows::RowsCase {
  workload::Eltwise function = workload::Eltwise::kRelu;

  bool operator==(const EltwiseCase&) const = default;
};

// Parse names of Eltwise/cpu/onednn and of Eltwise/cpu/reference (f64). Throw BadInput with the
// column, counted from the start of the benchmark's full name.
EltwiseCase ReadOnednnCase(const workload::BenchmarkName& name);
EltwiseCase ReadReferenceCase(const workload::BenchmarkName& name);

// Returns the call as oneDNN logs it. Its work and benchdnn's line follow from this text.
logs::PrimitiveText Logged(const EltwiseCase& eltwise);

extern const benchdnn::BenchdnnDriver kEltwiseDriver;

}  // namespace dlroof::eltwise
