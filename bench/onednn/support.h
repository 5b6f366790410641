// Common parts of all oneDNN backends: engine, types, tensor memory, pipes of implementations,
// translation of oneDNN's errors, the cost of a call's components measured with oneDNN's own
// primitives (elementwise functions of an LSTM, GEMMs), and the loaded library: which versions are
// usable, and how they are threaded.
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
// The only stream, in-order. Call wait() after every execute.
dnnl::stream& CpuStream();

// Returns oneDNN's type for "f32 f16 bf16 s32 s8 u8". Throws Unsupported for types that oneDNN does
// not support on CPUs.
dnnl::memory::data_type DataType(std::string_view type);

dnnl::algorithm AlgorithmOf(workload::Eltwise function);

// Returns oneDNN's fpmath mode for "bf16 f16 tf32 any".
dnnl::fpmath_mode FpmathMode(std::string_view mode);

// Execute runs a primitive and waits for its end. ListedArguments converts the arguments once;
// dnnl's C++ interface would do so in each call, within the measured time.
using ArgumentList = std::vector<dnnl_exec_arg_t>;
ArgumentList ListedArguments(const std::unordered_map<int, dnnl::memory>& arguments);
void Execute(const dnnl::primitive& primitive, const ArgumentList& arguments);

// Returns the distinct, nonempty memory regions of the arguments. Those of arguments whose keys are
// in `weights` are marked as weights.
std::vector<workload::MemoryRegion> Regions(const std::unordered_map<int, dnnl::memory>& arguments,
                                            const std::vector<int>& weights);

// Returns the highest ISA that oneDNN may use on this CPU, limited by ONEDNN_MAX_CPU_ISA:
// "avx512_core_vnni", or "isa_0x3fef" for one unknown to this source.
std::string EffectiveIsa();

// Returns the pipe for matrix work of `type` on this CPU (workload::MatrixPipe).
std::string MatrixPipe(std::string_view type, std::string_view implementation);

// Sets the number of threads of primitives created from now on. Throws Unsupported if the loaded
// library has a fixed, different number (ThreadsRefusal).
void SetThreads(int threads);

// Returns the row-major descriptor for these dimensions (1 to 6).
dnnl::memory::desc PlainDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

// Owns the memory of a call's tensors. Each tensor starts at a multiple of 2 MiB, as in benchdnn:
// distances between tensors and alignment to huge pages affect the speed by some percent, and this
// makes them the same in every process.
class Tensors {
 public:
  // Returns uninitialized memory.
  dnnl::memory Empty(const dnnl::memory::desc& target);
  // Returns memory of descriptor `target` with `values`, given in row-major order of the target's
  // dimensions and converted by oneDNN. Throws std::logic_error for a wrong number of values.
  dnnl::memory Filled(const dnnl::memory::desc& target, const std::vector<float>& values);
  // Returns memory with all bytes 0, including the padding of blocked layouts.
  dnnl::memory Zeroed(const dnnl::memory::desc& target);
  // Returns memory with all bytes 0xff, which is NaN in every floating-point type. For outputs, so
  // that a check detects elements that are never written.
  dnnl::memory Poisoned(const dnnl::memory::desc& target);

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::vector<std::unique_ptr<void, Free>> owned_;
};

// Returns the elements of memory of any layout and type as f32, row-major.
std::vector<float> Plain(const dnnl::memory& memory);

// Throws oneDNN's error: Unsupported for the status "unimplemented", with oneDNN's message, `what`
// and the ISA; otherwise std::runtime_error with message and status.
[[noreturn]] void Rethrow(const dnnl::error& error, std::string_view what);

// Returns make(); oneDNN's errors are translated by Rethrow. `what` names the call in messages:
// "conv2d bwd_data f16".
template <class Make>
auto Translated(std::string_view what, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    Rethrow(error, what);
  }
}

// Single-threaded cost of a component of a call, such as its sigmoids or GEMMs.
struct PartCost {
  double seconds = 0;                  // [s]
  std::optional<double> instructions;  // [1] executed; absent without a hardware counter
};

// Returns the cost of sigmoid on `sigmoids` and tanh on `tanhs` f32 elements, measured with
// oneDNN's primitives on 64 kB at a time, because oneDNN's LSTM applies them to data in near
// caches. Returns nullopt if oneDNN lacks the primitives. Measured once per process.
std::optional<PartCost> FunctionCost(double sigmoids, double tanhs);

// `count` products of an m x k and a k x n matrix.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  double count = 0;
};
enum class ProductBy { kMatmul, kGemm };  // the matmul primitive, or dnnl_sgemm (f32 only)
// Returns the cost of the GEMMs with matrices in the nearest caches that hold them, minus the cost
// of an 8 x 8 x 8 GEMM. `type`: type of both factors; results are f32. Returns nullopt if oneDNN
// has no such GEMM. Each size is measured once per process.
std::optional<PartCost> ProductCost(const std::vector<Product>& products, std::string_view type,
                                    ProductBy by);

// How a oneDNN build is threaded (dnnl_version_t::cpu_runtime).
enum class Threading { kSequential, kOpenMp, kTbb, kThreadpool, kSycl, kUnknown };
Threading ThreadingOf(unsigned cpu_runtime);
std::string_view NameOf(Threading threading);  // "OpenMP"

// Returns why this program cannot use the version, or nullopt: 3.2 and every later 3.x is accepted,
// since all functions called here exist in them.
std::optional<Reason> VersionRefusal(const dnnl_version_t& version);

// Returns why a call cannot use `threads` threads on `cpus` CPUs with this threading, or nullopt.
// Only OpenMP's number of threads can be chosen: TBB and SYCL use all allowed CPUs; a sequential
// library, or one with the caller's thread pool, uses one thread.
std::optional<Reason> ThreadsRefusal(Threading threading, int threads, int cpus);

// Returns the threading of the loaded library.
Threading LoadedThreading();
// Throws Unsupported if the loaded library cannot use `threads` threads.
void RequireThreads(int threads);

// Returns whether the loaded version is 3.2. Parts of an LSTM's time breakdown assume how that
// version divides the work.
bool IsVersion32();

// Returns the loaded library's version: "3.2.0 (commit ...)".
std::string Version();

}  // namespace dlroof::onednn
