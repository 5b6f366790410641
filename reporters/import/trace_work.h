// FLOPs and bytes of the operators of PyTorch that multiply matrices or convolve, by the sizes that
// a trace has of their inputs. Pure.
#pragma once

#include <optional>

#include "counters/work.h"
#include "reporters/import/trace_events.h"

namespace dlroof {

// One call: [flop] 2 per multiply-add, taps on the padding count (as Conv2D has it); [byte] each
// input and the output once, between DRAM and the caches. f32 and f64 only: nobody knows by which
// units a narrower type was multiplied. Absent for any other operator, for sizes that do not fit
// and for an operator that only calls another one, which has them.
std::optional<Work> WorkOfOp(const TraceOp& op);

}  // namespace dlroof
