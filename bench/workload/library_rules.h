// Rules about libraries that need none of their headers: the meaning of cuDNN's statuses and
// version numbers, the variable that changes what NVIDIA's libraries compute, and the vector lanes
// and the pipe of an implementation's matrix work, derived from the implementation's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::workload {

enum class Stage {
  kDescribe,  // creating or checking a description, or compiling it into a plan
  kExecute    // executing a plan
};

// Returns whether a status (cudnnStatus_t of cuDNN 9) means that cuDNN does not support a request,
// so that another shape, type or engine may work. These are the NOT_SUPPORTED statuses, except
// those for a missing driver, runtime, compiler or part of cuDNN. During kDescribe it is also
// BAD_PARAM, with which engines reject shapes. Any other status is a failure of the installation,
// the GPU or this program.
bool IsRefusal(int status, Stage stage);

// Why a proposal of cuDNN, or all proposals of a heuristic, cannot be used.
struct Failure {
  std::string text;
  bool broken = false;  // the installation, the GPU or this program failed; false: not supported
};
bool IsBroken(const Failure& failure);
// Throws std::runtime_error if the failure is broken, otherwise Unsupported.
[[noreturn]] void Throw(const Failure& failure);
// Throws the first broken failure, or the first failure if none is broken. Throws std::logic_error
// for an empty list.
[[noreturn]] void ThrowFirst(const std::vector<Failure>& failures);

// Returns "9.19.0" for cuDNN's version number 91900.
std::string VersionText(std::size_t version);

// Returns why a program that was built for one major version of cuDNN cannot use the version
// `found`, with a remedy; nothing for the same major version (checked with 9.12 to 9.22).
std::optional<Reason> CudnnMismatch(std::size_t found, int built_for_major);

// Environment variable of NVIDIA's libraries. "0" turns TF32 off, whatever a program requests.
inline constexpr const char* kTf32Override = "NVIDIA_TF32_OVERRIDE";
// Throws Unsupported for "tf32" if the variable's value (null if not set) makes libraries compute
// in f32, and for "f32" if it may make them compute in TF32.
void RequireTf32(std::string_view type, const char* override_value);

// Returns the 32-bit lanes of a vector of the ISA that `implementation` names
// ("brgconv:avx512_core"), or else of `isa`. [1]
std::int64_t VectorLanes(std::string_view implementation, std::string_view isa);

// Returns the pipe that executes matrix work of `type`: "f64 f32 f16 bf16 int8" or the types of
// source, weights and destination ("s8s8f32"). `implementation` is the library's name of the
// implementation ("brgconv:avx512_core_amx_bf16", "ref"). If that contains no ISA, `effective_isa`
// ("avx512_core_vnni") decides. bf16 is "bf16.matrix" on AMX, "bf16.vector" on CPUs with vdpbf16ps,
// otherwise "fp32.vector". f16 is "fp16.matrix" on AMX-FP16 and AMX 2, else "fp32.vector", because
// oneDNN converts f16 to f32 before it multiplies. Throws std::logic_error for an unknown type.
std::string MatrixPipe(std::string_view type, std::string_view implementation,
                       std::string_view effective_isa);

// As MatrixPipe, for an unknown effective ISA. Returns nothing if the pipe depends on that ISA: for
// every type but f64 and f32 if `implementation` names no ISA ("ref", "gemm:jit").
std::optional<std::string> NamedMatrixPipe(std::string_view type, std::string_view implementation);

}  // namespace dlroof::workload
