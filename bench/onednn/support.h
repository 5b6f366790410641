// Shared by every oneDNN cell: engine, types, seeded memories, the pipe of an implementation,
// and oneDNN's refusals as our errors.
//
// The cost of parts of a call, measured apart by the library's own primitives: the functions that a
// recurrent cell applies to each element, and matrix products of its sizes.
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
// The one stream, in order; wait() after every execute.
dnnl::stream& CpuStream();

// "f32 f16 bf16 s32 s8 u8" -> oneDNN's type. Throws Unsupported for a type that oneDNN's CPU engine
// does not have.
dnnl::memory::data_type DataType(std::string_view type);

// "bf16 f16 tf32 any" -> what may replace f32 in a product.
dnnl::fpmath_mode FpmathMode(std::string_view mode);

// Executes the primitive and waits for its end. `arguments` as ListedArguments makes them: dnnl's
// own C++ call would make such a list anew in every call, inside the timing.
using ArgumentList = std::vector<dnnl_exec_arg_t>;
ArgumentList ListedArguments(const std::unordered_map<int, dnnl::memory>& arguments);
void Execute(const dnnl::primitive& primitive, const ArgumentList& arguments);

// Where the memories of an execution lie; those of `weights` are marked as such. Empty ones are
// left out, one that is there twice is there once.
std::vector<workload::MemoryRegion> Regions(const std::unordered_map<int, dnnl::memory>& arguments,
                                            const std::vector<int>& weights);

// The highest ISA the library may use here, after ONEDNN_MAX_CPU_ISA: "avx512_core_vnni"; an ISA
// newer than this source knows is its number, "isa_0x3fef".
std::string EffectiveIsa();
// Returns the loaded library's version: "3.2.0 (commit ...)".
std::string Version();

// The pipe on which matrix work of `type` runs here; see pipe_choice.h.
std::string MatrixPipe(std::string_view type, std::string_view implementation);

// Returns `model`, or no loops with the reason where this library's version is not the one whose
// blocking the models repeat.
caches::LevelModel OfThisVersion(caches::LevelModel model);

// The threads that primitives made from here on will use.
void SetThreads(int threads);

// The plain row-major descriptor of these dimensions (1 to 6 of them).
dnnl::memory::desc PlainDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

// The memory of one call's tensors, which live as long as this does. Each begins at a multiple of
// 2 MiB, as benchdnn's do: a call's speed depends by some percent on how its tensors lie to each
// other and to huge pages, and so is the same in every process.
class Tensors {
 public:
  // Returns memory of undefined content.
  dnnl::memory Empty(const dnnl::memory::desc& target);
  // `values` (plain row-major layout of the target's dimensions) -> memory of descriptor `target`,
  // reordered and converted by the library. Throws std::logic_error when the counts differ.
  dnnl::memory Filled(const dnnl::memory::desc& target, const std::vector<float>& values);
  // Every byte zero, padding of blocked layouts too.
  dnnl::memory Zeroed(const dnnl::memory::desc& target);
  // Every byte 0xff, which is NaN in every floating type: for outputs, so that an element that is
  // never written shows.
  dnnl::memory Poisoned(const dnnl::memory::desc& target);

 private:
  struct Free {
    void operator()(void* data) const;
  };
  std::vector<std::unique_ptr<void, Free>> held_;
};

// Any memory as f32 in plain row-major layout.
std::vector<float> Plain(const dnnl::memory& memory);

// Throws `error` again as our own: "unimplemented" becomes Unsupported with the library's words,
// `what` and the ISA; anything else std::runtime_error with the words and the status.
[[noreturn]] void Rethrow(const dnnl::error& error, std::string_view what);

// make(), with oneDNN's errors translated by Rethrow. `what` names it: "conv2d bwd_data f16".
template <class Make>
auto Translated(std::string_view what, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    Rethrow(error, what);
  }
}

// Cost of a part on one thread.
struct PartCost {
  double seconds = 0;                  // [s]
  std::optional<double> instructions;  // [1] absent: not counted (instruction_count.h)
};

// The cost of `sigmoids` and `tanhs` elements of f32, by the library's own primitives on 64 kB at a
// time, as its cells apply them to what lies in the nearest caches. Absent where it has no such
// primitive. Measures once per process, steps through each primitive for at most `step_seconds`.
std::optional<PartCost> FunctionCost(double sigmoids, double tanhs, double step_seconds);

// `count` products of an m x k by a k x n matrix.
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  double count = 0;
};
enum class ProductBy { kMatmul, kGemm };  // the library's primitive, or its dnnl_sgemm (f32 only)
// The cost of the products with all factors in the nearest caches that hold them, less what 8 x 8 x
// 8 takes. `type` is of both factors, results are f32. Absent where the library has no such
// product. Measures each size once per process.
std::optional<PartCost> ProductCost(const std::vector<Product>& products, std::string_view type,
                                    ProductBy by, double step_seconds);

}  // namespace dlroof::onednn
