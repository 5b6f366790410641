// Meaning of cuDNN's statuses, its numbers of its versions, and the variable that changes what it
// computes. Plain numbers, no CUDA.
//
// Pipe of matrix work, from names alone: the library's choice, and the instruction set that it may
// use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::library_rules {

// Kind of a request to cuDNN.
enum class Stage {
  kDescribe,  // a description is made, checked or turned into a plan
  kExecute    // what it has accepted before is to run
};

// Returns whether a status (cudnnStatus_t of cuDNN 9) says that cuDNN cannot do the request, so
// that another shape, type or engine may do; anything else is a failure of the installation, of the
// GPU or of this program. Refusals are the kinds of NOT_SUPPORTED but those that name a driver, a
// runtime, a compiler or a part of cuDNN that is missing; of BAD_PARAM (a shape that an engine
// cannot take is refused so) only while something is described.
bool IsRefusal(int status, Stage stage);

// Why a proposal, or a whole heuristic, could not be used.
struct WhyNot {
  std::string words;
  bool broken = false;  // no refusal: the installation, the GPU or this program failed
};
// Throws the first: std::runtime_error the first that broke, else Unsupported the first of all.
// Throws std::logic_error for none.
[[noreturn]] void ThrowFirst(const std::vector<WhyNot>& failures);
// Throws it: std::runtime_error where something broke, else Unsupported.
[[noreturn]] void Throw(const WhyNot& why);
bool Broken(const WhyNot& why);

// 91900 -> "9.19.0".
std::string VersionText(std::size_t version);

// Why a program built for one major version cannot use the cuDNN that was found, with the cure;
// empty: it can, for minor versions of one major version serve each other's programs (checked with
// 9.12 to 9.22).
std::string WhyNotThisVersion(std::size_t found, int built_for_major);

// NVIDIA's libraries read it: "0" turns TF32 off in all of them, whatever a program asks for.
inline constexpr const char* kTf32Override = "NVIDIA_TF32_OVERRIDE";
// Throws Unsupported for the type "tf32" where the variable (its value, null where it is not set)
// would make it f32, and for "f32" where it is set to something else, which may make it tf32.
void RequireTf32(std::string_view type, const char* override_value);

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
