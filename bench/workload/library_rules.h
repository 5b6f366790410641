// Rules about libraries that need none of their headers: the meaning of cuDNN's statuses and
// version numbers, the variable that changes what NVIDIA's libraries compute, and the vector lanes
// and the pipe of an implementation's matrix work, derived from the implementation's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
// so that another shape, type or engine may work. Such statuses are NOT_SUPPORTED, unless a driver,
// runtime, compiler or part of cuDNN is missing, and in kDescribe BAD_PARAM, with which engines
// reject shapes. All other statuses are failures of the installation, the GPU or this program.
bool IsRefusal(int status, Stage stage);

// Why an engine that cuDNN proposes, or all engines of a heuristic, cannot be used.
struct Failure {
  std::string text;
  bool broken = false;  // the installation, the GPU or this program failed; false: not supported
};
// Throws std::runtime_error if the failure is broken, otherwise Unsupported.
[[noreturn]] void Throw(const Failure& failure);
// Calls Throw for the first broken failure, else for the first; std::logic_error for an empty list.
[[noreturn]] void ThrowFirst(const std::vector<Failure>& failures);

// Returns e.g. "9.19.0" for cuDNN's version number 91900.
std::string VersionText(std::size_t version);

// Returns why a program that was built for one major version of cuDNN cannot use the version
// `found`, with a remedy, or nullopt for the same major version (tested with 9.12 to 9.22).
std::optional<Reason> CudnnMismatch(std::size_t found, int built_for_major);

// Environment variable of NVIDIA's libraries. "0" turns TF32 off, whatever a program requests.
inline constexpr const char* kTf32Override = "NVIDIA_TF32_OVERRIDE";
// Throws Unsupported for "tf32" if the variable's value (null if not set) makes libraries compute
// in f32, and for "f32" if it may make them compute in TF32.
void RequireTf32(std::string_view type, const char* override_value);

// Returns the number of 32-bit lanes [1] in a vector of the ISA that `implementation` names, e.g.
// "brgconv:avx512_core", or else of `isa`.
std::int64_t VectorLanes(std::string_view implementation, std::string_view isa);

// Returns the pipe that executes matrix work of `type`: "f64 f32 f16 bf16 int8" or the types of
// source, weights and destination ("s8s8f32"). `implementation` is the library's name of the
// implementation ("brgconv:avx512_core_amx_bf16", "ref"). If that contains no ISA, `effective_isa`
// ("avx512_core_vnni") decides. bf16 is "bf16.matrix" on AMX, "bf16.vector" on CPUs with vdpbf16ps,
// otherwise "fp32.vector". f16 is "fp16.matrix" on AMX-FP16 and AMX 2, else "fp32.vector", because
// oneDNN converts f16 to f32 before it multiplies. Throws std::logic_error for an unknown type.
std::string MatrixPipe(std::string_view type, std::string_view implementation,
                       std::string_view effective_isa);

// Returns MatrixPipe's result if `implementation` and `type` determine it. Returns nullopt if the
// name has no ISA (e.g. "ref", "gemm:jit"), unless the type is f64 or f32.
std::optional<std::string> NamedMatrixPipe(std::string_view type, std::string_view implementation);

// The rest of this file runs this program with another file of a shared library than it was linked
// with, e.g. another version of oneDNN. The dynamic linker binds a library once, before main, so
// the program replaces itself by a new process image with LD_PRELOAD set. Needs no vendor's
// headers: modules that call a library register how to recognize it.

struct LibraryFacts {
  std::string version;    // "3.6.2"
  std::string commit;     // of its source; "" if the library does not say
  std::string threading;  // "OpenMP"
  // Whether this program sets the number of the library's threads and pins them.
  bool threads_controlled = true;
};

// A library whose file the user can choose.
struct ChoosableLibrary {
  std::string name;      // "onednn"
  std::string title;     // "oneDNN", in messages
  std::string function;  // a function that only this library defines: "dnnl_version"
  // Returns the facts of the library whose `function` is at this address.
  std::function<LibraryFacts(void* function)> facts;
  // Returns why this program cannot use that library, or nullopt if it can.
  std::function<std::optional<Reason>(void* function)> refusal;
  // A function of another library, e.g. the OpenMP runtime, that this program and the chosen
  // library both call, so that both must find it in the same file. May be "".
  std::string shared_function;
};

bool RegisterChoosableLibrary(ChoosableLibrary library);  // call it at namespace scope

struct LoadedLibrary {
  std::string name;  // "onednn"
  std::string file;  // absolute path, with symbolic links resolved
  LibraryFacts facts;
};
std::vector<LoadedLibrary> LoadedLibraries();  // the registered libraries of this process

// Makes this program use `file` as its library `name`. The first call replaces this process by the
// same program with the same arguments; the new program calls this function again, which then
// returns. Call it before anything else has an effect. Replaces the process even if the program was
// built with this file, so that all versions of a comparison are loaded in the same way. Throws
// BadInput if the build lacks the library, or if the file cannot be loaded, is another library, or
// is a version that this program cannot use. `flag` is the user's flag, for messages.
void UseLibraryFile(const std::string& name, const std::string& file, const std::string& flag);

// Returns the value of LD_PRELOAD that loads `files` after those of `before`, which may be null.
// Throws BadInput for a path that LD_PRELOAD cannot express.
std::string PreloadValue(const char* before, const std::vector<std::string>& files);

}  // namespace dlroof::workload
