// Writes the traces of a program as a Chrome trace (Trace Event Format), which Perfetto and
// chrome://tracing open: a row for each stream of a GPU, and one for each thread with NVTX ranges.
#pragma once

#include <iosfwd>
#include <vector>

#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

// Times are in us since the first event of all traces.
void WriteChromeTrace(const std::vector<gpu_trace::Trace>& traces, std::ostream& out);

}  // namespace dlroof::programs
