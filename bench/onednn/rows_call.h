// oneDNN calls of the operators on rows (bench/rows).
#pragma once

#include <fmt/format.h>

#include <dnnl.hpp>
#include <vector>

#include "bench/onednn/call.h"
#include "bench/onednn/support.h"
#include "bench/rows/operator.h"
#include "bench/rows/rows.h"
#include "bench/workload/operator_parts.h"
#include "bench/workload/workload.h"

namespace dlroof::onednn {

// Returns the descriptor of source and destination, which are stored row by row.
inline dnnl::memory::desc RowsDesc(const rows::RowsCase& one) {
  return PlainDesc({one.rows.m, one.rows.n}, DataType(one.type));
}

// Returns the call of a forward primitive, with source and destination.
template <class Primitive>
Call RowsCall(const typename Primitive::primitive_desc& chosen, const rows::Tensors<float>& in) {
  auto call = CallOf<Primitive>(chosen);
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), in.source);
  call.AddOutput(DNNL_ARG_DST, chosen.dst_desc());
  return call;
}

// Prepares the call that kMakeCall(case, inputs) returns (bench/rows/operator.h). Throws
// Unsupported if the library refuses the call, or if the machine lacks the memory.
template <auto ReadCase, auto kMakeCall>
workload::PreparedCall PrepareRows(const workload::BenchmarkName& name,
                                   const workload::RunSettings& settings) {
  const auto one = ReadCase(name);
  rows::RequireMemory(one);
  return PrepareCall(
      settings, fmt::format("{} {} {}", name.op, name.direction, name.type),
      SeededTensors(one, settings.seed),
      [&](const Call&) { return workload::WorkOfLogged(Logged(one)); },
      [&](const rows::Tensors<float>& in) { return kMakeCall(one, in); },
      [one, seed = settings.seed](const rows::Tensors<float>& in, const Call& call) {
        return rows::Check(one, in, call.Values(DNNL_ARG_DST), seed);
      });
}

}  // namespace dlroof::onednn
