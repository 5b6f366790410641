// What every oneDNN cell needs: engine, types, seeded memories, which pipe an implementation runs
// on.
#pragma once

#include <dnnl.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.h"

namespace dlroof::onednn {

const dnnl::engine& CpuEngine();

// "f32" and so on -> oneDNN's type. Throws Unsupported for a type that oneDNN's CPU engine does not
// have.
dnnl::memory::data_type DataType(std::string_view type);

// The highest ISA the library may use here, after ONEDNN_MAX_CPU_ISA: "avx512_core_vnni".
std::string EffectiveIsa();
std::string Version();

// The pipe on which matrix work of `type` runs, from the implementation's name where it says so,
// else from the effective ISA: bf16 is "bf16.matrix" with AMX, "bf16.vector" with vdpbf16ps,
// "fp32.vector" where it is emulated.
std::string MatrixPipe(std::string_view type, std::string_view implementation);

// `values` (plain row-major layout of `dims`) -> memory of descriptor `target`, reordered and
// converted by the library.
dnnl::memory Filled(const dnnl::memory::desc& target, const std::vector<float>& values);
// The other way: any memory as f32 in plain row-major layout.
std::vector<float> Plain(const dnnl::memory& memory);

// The plain row-major descriptor of these dimensions.
dnnl::memory::desc PlainDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

}  // namespace dlroof::onednn
