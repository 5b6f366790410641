// Common parts of all oneDNN backends: engine, types, memory of tensors, the pipe of an
// implementation, translation of oneDNN's errors, the cost of components of a call, measured with
// the library's own primitives (an LSTM's elementwise functions, GEMMs), and the loaded library:
// which versions this program can use, and how they run on threads.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/workload/operator_parts.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"

namespace dlroof::onednn {

const dnnl::engine& CpuEngine();
// The only stream; it is in-order. Call wait() after every execute.
dnnl::stream& CpuStream();

// Returns oneDNN's type for "f32 f16 bf16 s32 s8 u8". Throws Unsupported for a type that oneDNN
// does not support on CPUs.
dnnl::memory::data_type DataType(std::string_view type);

dnnl::algorithm AlgorithmOf(workload::Eltwise function);

// Returns oneDNN's fpmath mode for "bf16 f16 tf32 any".
dnnl::fpmath_mode FpmathMode(std::string_view mode);

// Execute runs a primitive and waits until it has finished. ListedArguments converts its arguments
// once; dnnl's C++ interface would convert them in every call, within the measured time.
using ArgumentList = std::vector<dnnl_exec_arg_t>;
ArgumentList ListedArguments(const std::unordered_map<int, dnnl::memory>& arguments);
void Execute(const dnnl::primitive& primitive, const ArgumentList& arguments);

// Returns the memory regions of an execution's arguments, each once and without empty ones. A
// region is marked as weights if its argument's key is in `weights`.
std::vector<workload::MemoryRegion> Regions(const std::unordered_map<int, dnnl::memory>& arguments,
                                            const std::vector<int>& weights);

// Returns the highest ISA that the library may use on this CPU, limited by ONEDNN_MAX_CPU_ISA:
// "avx512_core_vnni", or the number of an ISA that is newer than this source, "isa_0x3fef".
std::string EffectiveIsa();

// Returns the pipe of matrix work of `type` on this CPU (workload::MatrixPipe).
std::string MatrixPipe(std::string_view type, std::string_view implementation);

// Sets the number of threads of primitives that are created from now on. Throws Unsupported if the
// loaded library has its own number of threads, and that is another one (library.h).
void SetThreads(int threads);

// Returns the row-major descriptor of these dimensions (1 to 6 of them).
dnnl::memory::desc PlainDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

// Owns the memory of one call's tensors. Each tensor begins at a multiple of 2 MiB, as in benchdnn,
// because a call's speed depends by some percent on the distances between tensors and on their
// alignment to huge pages. So these are the same in every process.
class Tensors {
 public:
  // Returns uninitialized memory.
  dnnl::memory Empty(const dnnl::memory::desc& target);
  // Returns memory with descriptor `target` that contains `values`, which are in row-major order of
  // the target's dimensions. The library reorders and converts them. Throws std::logic_error if the
  // number of values is wrong.
  dnnl::memory Filled(const dnnl::memory::desc& target, const std::vector<float>& values);
  // Returns memory in which every byte is 0, including the padding of blocked layouts.
  dnnl::memory Zeroed(const dnnl::memory::desc& target);
  // Returns memory in which every byte is 0xff, which is NaN in every floating-point type. Used for
  // outputs, so that the check detects elements that are never written.
  dnnl::memory Poisoned(const dnnl::memory::desc& target);

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::vector<std::unique_ptr<void, Free>> owned_;
};

// Returns the elements of memory of any layout and type, as f32 in row-major order.
std::vector<float> Plain(const dnnl::memory& memory);

// Throws oneDNN's error as Unsupported for the status "unimplemented", with the library's message,
// `what` and the ISA; otherwise as std::runtime_error with the message and the status.
[[noreturn]] void Rethrow(const dnnl::error& error, std::string_view what);

// Returns make(), with oneDNN's errors translated by Rethrow. `what` names the call in messages:
// "conv2d bwd_data f16".
template <class Make>
auto Translated(std::string_view what, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    Rethrow(error, what);
  }
}

// Cost of a component of a call (its sigmoids, its GEMMs) on one thread.
struct PartCost {
  double seconds = 0;                  // [s]
  std::optional<double> instructions;  // [1] absent without a hardware counter
};

// Returns the cost of applying sigmoid to `sigmoids` and tanh to `tanhs` f32 elements, measured
// with the library's primitives on 64 kB at a time, because the library's LSTM applies them to data
// in near caches. Returns nothing if the library lacks the primitives. Measures once per process.
std::optional<PartCost> FunctionCost(double sigmoids, double tanhs);

// `count` GEMMs, each of an m x k and a k x n matrix.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  double count = 0;
};
enum class ProductBy { kMatmul, kGemm };  // the matmul primitive, or dnnl_sgemm (f32 only)
// Returns the cost of the GEMMs with all matrices in the nearest caches that can contain them,
// minus the cost of an 8 x 8 x 8 GEMM. `type` is the type of both factors; results are f32. Returns
// nothing if the library has no GEMM of this type. Measures each size once per process.
std::optional<PartCost> ProductCost(const std::vector<Product>& products, std::string_view type,
                                    ProductBy by);

// How a library runs its loops on several threads: dnnl_version_t::cpu_runtime.
enum class Threading { kSequential, kOpenMp, kTbb, kThreadpool, kSycl, kUnknown };
Threading ThreadingOf(unsigned cpu_runtime);
std::string_view NameOf(Threading threading);  // "OpenMP"

// Returns why this program cannot use the version, nothing for 3.2 and every later 3.x: it calls
// only functions that all of these have.
std::optional<Reason> VersionRefusal(const dnnl_version_t& version);

// Returns why a call cannot use `threads` threads with this threading on `cpus` CPUs. Only the
// number of OpenMP's threads is ours to choose: TBB and SYCL use every CPU that the process may
// use, and a library without threads, or whose threads come from the caller's pool, uses one.
std::optional<Reason> ThreadsRefusal(Threading threading, int threads, int cpus);

// The threading of the library that this process uses.
Threading LoadedThreading();
// Throws Unsupported if the library that this process uses cannot use `threads` threads.
void RequireThreads(int threads);

// Returns whether the loaded version is 3.2. Some of the breakdown of an LSTM's time assumes how
// that version divides the work.
bool IsVersion32();

// Returns the loaded library's version: "3.2.0 (commit ...)".
std::string Version();

}  // namespace dlroof::onednn
