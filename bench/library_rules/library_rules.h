// Rules about libraries that need none of their headers: the meaning of cuDNN's statuses and
// version numbers, the variable that changes what NVIDIA's libraries compute, and the pipe on which
// an implementation's matrix work executes, derived from its name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::library_rules {

enum class Stage {
  kDescribe,  // making or checking a description, or turning it into a plan
  kExecute    // running what cuDNN has accepted before
};

// Returns whether a status (cudnnStatus_t of cuDNN 9) means that cuDNN does not support a request,
// so that another shape, type or engine may work. Any other status is a failure of the
// installation, the GPU or this program. Refusals are the NOT_SUPPORTED statuses, except those for
// a missing driver, runtime, compiler or part of cuDNN, and during kDescribe also BAD_PARAM, by
// which engines refuse shapes.
bool IsRefusal(int status, Stage stage);

// Why a proposal, or a whole heuristic, could not be used.
struct Failure {
  std::string text;
  bool broken = false;  // the installation, the GPU or this program failed; otherwise a refusal
};
bool IsBroken(const Failure& failure);
// Throws std::runtime_error if something is broken, and Unsupported for a refusal.
[[noreturn]] void Throw(const Failure& failure);
// Throws the first broken failure, or the first refusal if nothing is broken. Throws
// std::logic_error for an empty list.
[[noreturn]] void ThrowFirst(const std::vector<Failure>& failures);

// Returns "9.19.0" for cuDNN's version number 91900.
std::string VersionText(std::size_t version);

// Returns why a program that was built for one major version cannot use the cuDNN that was found,
// with a remedy. Minor versions are compatible (checked with 9.12 to 9.22).
std::optional<Reason> CudnnMismatch(std::size_t found, int built_for_major);

// A variable of NVIDIA's libraries. "0" turns TF32 off in all of them, whatever a program requests.
inline constexpr const char* kTf32Override = "NVIDIA_TF32_OVERRIDE";
// Takes the variable's value, or null if it is not set. Throws Unsupported for the type "tf32" if
// the variable turns it into f32, and for "f32" if the variable may turn it into tf32.
void RequireTf32(std::string_view type, const char* override_value);

// Returns the pipe that executes matrix work of `type`: "f64 f32 f16 bf16 int8" or a mix spelled
// source, weights, destination ("s8s8f32"). `implementation` is the library's name of its choice
// ("brgconv:avx512_core_amx_bf16", "ref"); if it names no ISA, `effective_isa` ("avx512_core_vnni")
// decides. bf16 is "bf16.matrix" on AMX, "bf16.vector" on CPUs with vdpbf16ps and "fp32.vector"
// where it is emulated. f16 is "fp16.matrix" on AMX-FP16 and "fp32.vector" elsewhere, because
// oneDNN widens f16 before it multiplies. Throws std::logic_error for an unknown type.
std::string MatrixPipe(std::string_view type, std::string_view implementation,
                       std::string_view effective_isa);

// Returns the same if the library's ISA is not known. Returns nothing if it would decide, which is
// the case for every type but f64 and f32 if `implementation` names no ISA ("ref", "gemm:jit").
std::optional<std::string> NamedMatrixPipe(std::string_view type, std::string_view implementation);

}  // namespace dlroof::library_rules
