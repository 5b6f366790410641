// Parts of which operators are made: checks of a name, the work of a call by oneDNN's log, and the
// plain loops as a prepared call.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/base/work.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::workload {

// Throw BadInput with the column, counted from the start of the benchmark's full name, unless its
// direction, or its type, is one of these: "expected a type (f32, bf16), got 'int8'".
void RequireDirection(const BenchmarkName& name, const std::vector<std::string_view>& directions);
void RequireType(const BenchmarkName& name, const std::vector<std::string_view>& types);

// Returns the work of one call of an operator without matrix products that oneDNN would log as
// `text`: FLOPs and compulsory DRAM bytes by the closed form that the reader of logs uses
// (reporters/verbose/primitive_work.h), the FLOPs on fp32.vector, for which narrower types are
// widened (f64: fp64.vector), and one launch. Throws std::logic_error if there is no closed form.
Work WorkOfLogged(const logs::PrimitiveText& text);

// Returns a prepared call of plain loops in f64 on one thread, with all members but `verify` and
// `levels`. `run` owns the tensors.
PreparedCall PreparedLoops(std::function<void()> run, Work modelled,
                           const std::vector<const std::vector<double>*>& tensors);

}  // namespace dlroof::workload
