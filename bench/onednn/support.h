// Shared by all oneDNN backends: engine, types, memory of tensors, the pipe of an implementation,
// translation of oneDNN's errors, and the cost of parts of a call, measured separately with the
// library's own primitives (elementwise functions of an LSTM, matrix products).
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/workload/workload.h"

namespace dlroof::onednn {

const dnnl::engine& CpuEngine();
// The only stream, which is in-order. Call wait() after every execute.
dnnl::stream& CpuStream();

// Returns oneDNN's type for "f32 f16 bf16 s32 s8 u8". Throws Unsupported for a type that oneDNN's
// CPU engine lacks.
dnnl::memory::data_type DataType(std::string_view type);

// Returns oneDNN's mode for "bf16 f16 tf32 any".
dnnl::fpmath_mode FpmathMode(std::string_view mode);

// Executes the primitive and waits for its end. ListedArguments prepares the arguments; dnnl's C++
// interface would make such a list in every call, inside the timing.
using ArgumentList = std::vector<dnnl_exec_arg_t>;
ArgumentList ListedArguments(const std::unordered_map<int, dnnl::memory>& arguments);
void Execute(const dnnl::primitive& primitive, const ArgumentList& arguments);

// Returns the distinct, non-empty memory regions of an execution's arguments. Those whose key is in
// `weights` are marked as weights.
std::vector<workload::MemoryRegion> Regions(const std::unordered_map<int, dnnl::memory>& arguments,
                                            const std::vector<int>& weights);

// Returns the highest ISA that the library may use on this CPU, limited by ONEDNN_MAX_CPU_ISA:
// "avx512_core_vnni", or the number of an ISA that is newer than this source, "isa_0x3fef".
std::string EffectiveIsa();
// Returns the loaded library's version: "3.2.0 (commit ...)".
std::string Version();

// Returns the pipe of matrix work of `type` on this CPU, see library_rules::MatrixPipe.
std::string MatrixPipe(std::string_view type, std::string_view implementation);

// Returns `model`, or a model without loops and with a reason if the loaded library is not of the
// version whose blocking the models reproduce.
caches::LevelModel OfThisVersion(caches::LevelModel model);

// Sets the number of threads of primitives that are created from now on.
void SetThreads(int threads);

// Returns the row-major descriptor of these dimensions (1 to 6 of them).
dnnl::memory::desc PlainDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

// Owns the memory of one call's tensors. Each tensor begins at a multiple of 2 MiB, as in benchdnn:
// the position of tensors relative to each other and to huge pages changes a call's speed by some
// percent, and this way it is the same in every process.
class Tensors {
 public:
  // Returns uninitialized memory.
  dnnl::memory Empty(const dnnl::memory::desc& target);
  // Returns memory with descriptor `target` and these values, which are in row-major order of the
  // target's dimensions; the library reorders and converts them. Throws std::logic_error if the
  // number of values is wrong.
  dnnl::memory Filled(const dnnl::memory::desc& target, const std::vector<float>& values);
  // Returns memory in which every byte is 0, including the padding of blocked layouts.
  dnnl::memory Zeroed(const dnnl::memory::desc& target);
  // Returns memory in which every byte is 0xff, which is NaN in every floating type. Used for
  // outputs, so that the check detects elements that are never written.
  dnnl::memory Poisoned(const dnnl::memory::desc& target);

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::vector<std::unique_ptr<void, Free>> owned_;
};

// Returns the content of any memory as f32 in row-major order.
std::vector<float> Plain(const dnnl::memory& memory);

// Translates oneDNN's error: "unimplemented" becomes Unsupported with the library's message, `what`
// and the ISA; any other status becomes std::runtime_error with the message and the status.
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

// Cost of a part of a call on one thread.
struct PartCost {
  double seconds = 0;                  // [s]
  std::optional<double> instructions;  // [1] if they could be counted (instruction_count.h)
};

// Returns the cost of `sigmoids` and `tanhs` f32 elements, measured with the library's own
// primitives on 64 kB at a time, because the library's LSTM applies them to data in near caches.
// Returns nothing if the library lacks the primitives. Measures once per process, and steps through
// each primitive for at most `step_seconds`.
std::optional<PartCost> FunctionCost(double sigmoids, double tanhs, double step_seconds);

// `count` products of an m x k by a k x n matrix.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  double count = 0;
};
enum class ProductBy { kMatmul, kGemm };  // the library's primitive, or its dnnl_sgemm (f32 only)
// Returns the cost of the products with all factors in the nearest caches that can hold them, less
// the cost of an 8 x 8 x 8 product. `type` is the type of both factors; results are f32. Returns
// nothing if the library lacks such a product. Measures each size once per process.
std::optional<PartCost> ProductCost(const std::vector<Product>& products, std::string_view type,
                                    ProductBy by, double step_seconds);

}  // namespace dlroof::onednn
