// Pipe of matrix work, from names alone: the library's choice, and the instruction set that it may
// use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlroof::library_rules {

// `type`: "f64 f32 f16 bf16 int8" or a mix spelled source, weights, destination ("s8s8f32").
// `implementation`: the library's name for what it chose ("brgconv:avx512_core_amx_bf16", "ref").
// Where it names no ISA, `effective_isa` ("avx512_core_vnni") decides. The pipe is the one that
// executes: bf16 is "bf16.matrix" on AMX, "bf16.vector" where vdpbf16ps exists and "fp32.vector"
// where it is emulated; f16 is "fp16.matrix" on AMX-FP16, else "fp32.vector", since oneDNN widens
// f16 before it multiplies. Throws std::logic_error for an unknown type.
std::string MatrixPipe(std::string_view type, std::string_view implementation,
                       std::string_view effective_isa);

// The same where nobody says what the library may use: absent where that would decide, which is for
// every type but f64 and f32 when `implementation` names no ISA ("ref", "gemm:jit").
std::optional<std::string> NamedMatrixPipe(std::string_view type, std::string_view implementation);

}  // namespace dlroof::library_rules
