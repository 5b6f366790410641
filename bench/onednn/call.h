// The execution of a oneDNN primitive: tensors, arguments, and the prepared call that a backend
// returns. Also the calls of operators that multiply a source by weights.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bench/workload/operator_parts.h"
#include "bench/workload/products.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"

namespace dlroof::onednn {

// Common parts of all oneDNN backends: engine, types, tensor memory, pipes of implementations,
// translation of oneDNN's errors, the measured cost of a call's components (an LSTM's functions,
// GEMMs), and the loaded library: which versions are usable, and how they are threaded.

const dnnl::engine& CpuEngine();
// Returns the process's only stream, which is in order. Call wait() after every execute.
dnnl::stream& CpuStream();

// Returns what oneDNN logs while create() compiles primitives (ONEDNN_VERBOSE=profile_create).
// oneDNN logs to stdout, which is redirected to a file meanwhile. If the user has set
// ONEDNN_VERBOSE, the log has what that selects, and stdout gets the log, too.
std::string CreationLog(const std::function<void()>& create);

// Returns oneDNN's type for "f32 f16 bf16 s32 s8 u8 s4 u4" (s4 and u4 need oneDNN 3.5). Throws
// Unsupported for other types.
dnnl::memory::data_type DataType(std::string_view type);

// Returns the loaded library's version, e.g. "3.2.0 (commit ...)".
std::string Version();

// Calls a function of oneDNN that the headers of 3.2 do not declare. Throws Unsupported if the
// loaded library lacks it.
template <class Function, class... Arguments>
void CallNewer(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  if (function == nullptr) throw Unsupported("oneDNN {} has no {}", Version(), name);
  dnnl::error::wrap_c_api(function(arguments...), name);
}

dnnl::algorithm AlgorithmOf(workload::Eltwise function);

// Returns oneDNN's fpmath mode for "bf16 f16 tf32 any".
dnnl::fpmath_mode FpmathMode(std::string_view mode);

// Execute runs a primitive and waits for its end. ListedArguments converts the arguments once;
// dnnl's C++ interface would do so in each call, within the measured time.
using Arguments = std::unordered_map<int, dnnl::memory>;  // by DNNL_ARG_SRC etc.
using ArgumentList = std::vector<dnnl_exec_arg_t>;
ArgumentList ListedArguments(const Arguments& arguments);
void Execute(const dnnl::primitive& primitive, const ArgumentList& arguments);

// Returns the distinct, nonempty memory regions of the arguments. `weights`: keys of the weights.
std::vector<workload::MemoryRegion> Regions(const Arguments& arguments,
                                            const std::vector<int>& weights);

// Returns the highest ISA that oneDNN may use on this CPU, limited by ONEDNN_MAX_CPU_ISA, e.g.
// "avx512_core_vnni", or e.g. "isa_0x3fef" if dlroof does not know its name.
std::string EffectiveIsa();

// Returns the pipe for matrix work of `type` on this CPU (workload::MatrixPipe).
std::string MatrixPipe(std::string_view type, std::string_view implementation);

// Sets the number of threads of primitives created from now on. Throws Unsupported if the loaded
// library has a fixed, different number (ThreadsRefusal).
void SetThreads(int threads);

// Returns the row-major descriptor for these dimensions (1 to 6).
dnnl::memory::desc PlainDesc(const dnnl::memory::dims& dims, dnnl::memory::data_type type);

// Owns the memory of a call's tensors. Each tensor starts at a multiple of 2 MiB, as in benchdnn.
// Distances between tensors and alignment to huge pages, which affect the speed by some percent,
// are then the same in every process.
class Tensors {
 public:
  // Returns uninitialized memory.
  dnnl::memory Empty(const dnnl::memory::desc& target);
  // Returns memory of descriptor `target` with `values`, given in row-major order of the target's
  // dimensions and converted by oneDNN. Throws std::logic_error for a wrong number of values.
  dnnl::memory Filled(const dnnl::memory::desc& target, const std::vector<float>& values);
  // Return memory with all bytes 0, including the padding of blocked layouts, or 0xff, which is NaN
  // in every floating-point type: a check then detects elements that are never written.
  dnnl::memory Zeroed(const dnnl::memory::desc& target) { return Repeated(target, 0); }
  dnnl::memory Poisoned(const dnnl::memory::desc& target) { return Repeated(target, 0xff); }

 private:
  dnnl::memory Repeated(const dnnl::memory::desc& target, unsigned char byte);

  struct Free {
    void operator()(void* data) const;
  };
  std::vector<std::unique_ptr<void, Free>> owned_;
};

// Returns the elements of memory of any layout and type as f32, row-major.
std::vector<float> Plain(const dnnl::memory& memory);

// Throws oneDNN's error with its message and `what`: Unsupported, with the ISA, for the status
// "unimplemented", otherwise std::runtime_error, with the status.
[[noreturn]] void Rethrow(const dnnl::error& error, std::string_view what);

// Returns make(). Converts oneDNN's errors by Rethrow. `what` names the call, e.g. "conv2d f16".
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

// Returns the cost of sigmoid on `sigmoids` and tanh on `tanhs` f32 elements. It is measured once
// per process with oneDNN's primitives on 64 KiB, because the data of oneDNN's LSTM are in near
// caches. Returns nullopt if oneDNN lacks the primitives.
std::optional<PartCost> FunctionCost(double sigmoids, double tanhs);

enum class ProductBy { kMatmul, kGemm };  // the matmul primitive, or dnnl_sgemm (f32 only)
// Returns the cost of the GEMMs with matrices in the nearest caches that can hold them. The cost of
// an 8 x 8 x 8 GEMM (the overhead of a call) is subtracted from each. `type`: of both factors;
// results are f32. Returns nullopt if oneDNN has no such GEMM. Measures a size once per process.
std::optional<PartCost> ProductCost(const std::vector<workload::MatrixProducts>& products,
                                    std::string_view type, ProductBy by);

// How a oneDNN build is threaded (dnnl_version_t::cpu_runtime).
enum class Threading : unsigned {
  kSequential = DNNL_RUNTIME_SEQ,
  kOpenMp = DNNL_RUNTIME_OMP,
  kTbb = DNNL_RUNTIME_TBB,
  kThreadpool = DNNL_RUNTIME_THREADPOOL,
  kSycl = DNNL_RUNTIME_SYCL
};
// Returns e.g. "OpenMP", or "unknown threading" for a number that has no name above.
std::string_view NameOf(Threading threading);

// Returns why this program cannot use the version, or nullopt if it can: 3.2 and every later 3.x
// have all functions that this program links.
std::optional<Reason> VersionRefusal(const dnnl_version_t& version);

// Returns why a call cannot use `threads` threads on `cpus` CPUs with this threading, or nullopt if
// it can. Only OpenMP's number of threads can be chosen. TBB and SYCL use all allowed CPUs; a
// sequential library, or one with the caller's thread pool, uses one thread.
std::optional<Reason> ThreadsRefusal(Threading threading, int threads, int cpus);

Threading LoadedThreading();

// Returns whether the loaded version is 3.2. The breakdown of an LSTM's time holds for 3.2 only.
bool IsVersion32();

// Copies the contents of all tensors of a call to those of the same call with other inputs. Throws
// std::logic_error if the layouts differ.
void CopyTensors(const Arguments& from, const Arguments& to);

// A primitive with everything needed to execute it.
struct Call {
  Tensors tensors;
  dnnl::primitive primitive;
  std::string implementation;
  Arguments arguments = {};
  std::vector<int> weights = {};  // keys of `arguments` that are trained parameters
  ArgumentList listed = {};       // ListedArguments(arguments); set when these are complete

  // Add an argument and return its memory: Tensors::Filled or Tensors::Poisoned.
  const dnnl::memory& AddInput(int argument, const dnnl::memory::desc& desc,
                               const std::vector<float>& values);
  const dnnl::memory& AddOutput(int argument, const dnnl::memory::desc& desc);

  void Run() const { Execute(primitive, listed); }
  std::vector<float> Values(int argument) const { return Plain(arguments.at(argument)); }
};

inline dnnl::prop_kind ForwardKind(bool training) {
  return training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
}

// Returns a call of the primitive that the descriptor describes, still without arguments.
template <class Primitive>
Call CallOf(const typename Primitive::primitive_desc& chosen) {
  return {{}, Primitive(chosen), chosen.impl_info_str()};
}

// Primitives in order of execution, with the memory of tensors that they share.
struct Sequence {
  Tensors owner{};
  std::vector<Call> steps{};
  Arguments arguments{};       // all tensors, with the same keys in all calls of a problem
  std::vector<int> weights{};  // keys of `arguments` that are trained parameters
  std::string implementation{};

  // Appends a primitive with these arguments.
  template <class Primitive>
  Call& Add(const typename Primitive::primitive_desc& chosen, const Arguments& of_step) {
    auto& step = steps.emplace_back(CallOf<Primitive>(chosen));
    step.arguments = of_step;
    return step;
  }
  // Sets what follows from the steps: their lists, `arguments`, `weights`, and as `implementation`
  // the distinct names of theirs, joined by " + ".
  void Finish();
  void Run() const {
    for (const auto& step : steps) step.Run();
  }
};

// Throws Unsupported if oneDNN computes a problem of more than 1e8 FLOPs with its reference loops.
// They are four orders of magnitude slower than its kernels (0.1 to 0.2 GFLOP/s on two cores), so
// that the run would take too long and not show the library's speed.
void RefuseReferenceLoops(std::string_view implementation, const Work& work);

// Returns the prepared call `folded` of ExplainCapabilities.
workload::PreparedCall Folded(std::shared_ptr<const Call> call, double distinct_bytes);

// Prepares the call that make(inputs_of(seed)) returns: a Call, or a type that has
// `implementation`, `arguments`, `weights` and Run(), such as several primitives in sequence. Its
// primitives use `settings.threads` threads. `what` names the call in messages, e.g. "softmax fwd
// f16". work(call) returns its modelled work. Throws Unsupported for reference loops
// (RefuseReferenceLoops). PreparedCall::verify calls before(inputs, call), runs the call, and
// returns check(inputs, call). Then it frees the inputs, which may take gigabytes and which timed
// calls do not read.
struct DoNothing {
  template <class... Arguments>
  void operator()(const Arguments&... /*unused*/) const {}
};
template <class InputsOf, class WorkOfCall, class Make, class Check, class Before = DoNothing>
workload::PreparedCall PrepareCall(const workload::RunSettings& settings, std::string_view what,
                                   const InputsOf& inputs_of, const WorkOfCall& work,
                                   const Make& make, const Check& check, Before before = {}) {
  SetThreads(settings.threads);
  const auto kept =
      std::make_shared<std::invoke_result_t<InputsOf, unsigned>>(inputs_of(settings.seed));
  auto made = Translated(what, [&] { return make(*kept); });
  constexpr bool kIsCall = std::is_base_of_v<Call, decltype(made)>;
  if constexpr (kIsCall) made.listed = ListedArguments(made.arguments);
  const auto call = std::make_shared<const decltype(made)>(std::move(made));
  workload::PreparedCall prepared{.run = [call] { call->Run(); },
                                  .algorithm = call->implementation,
                                  .isa = EffectiveIsa(),
                                  .modelled = work(*call),
                                  .memory = Regions(call->arguments, call->weights)};
  if constexpr (kIsCall) {
    RefuseReferenceLoops(call->implementation, prepared.modelled);
    prepared.explain.folded = [call](double bytes) { return Folded(call, bytes); };
  }
  prepared.verify = [call, kept, check, before] {
    before(*kept, *call);
    call->Run();
    auto found = check(*kept, *call);
    *kept = {};
    return found;
  };
  prepared.new_inputs = [call, kept, inputs_of, make](unsigned seed) {
    *kept = inputs_of(seed);
    CopyTensors(make(*kept).arguments, call->arguments);
  };
  return prepared;
}

struct ProductCall : Call {
  int output = 0;                      // key of the result in `arguments`
  std::optional<int> bias_gradient{};  // key of the bias gradient, if computed

  // Adds the result's memory, initialized with `addend`, or with NaN if `addend` is empty.
  void AddResult(int argument, const dnnl::memory::desc& desc,
                 const std::vector<float>& addend = {});
  // Adds the case's bias and scales.
  void AddVariant(const workload::ProductCase& product, const workload::ProductScales& scales,
                  const workload::ProductInputs& inputs, const dnnl::memory::desc& bias);

  workload::ProductOutput<float> Output() const;
};

// Returns attributes with the case's fpmath mode, post-ops and scales. If bit i of `weights_mask`
// is set, the weights have separate scales along dimension i.
dnnl::primitive_attr AttributesOf(const workload::ProductCase& product,
                                  const workload::ProductScales& scales, int weights_mask);

// Returns the propagation kind of a forward call, or of a backward call's forward hint (training).
dnnl::prop_kind ForwardKind(const workload::ProductCase& product);

// Each of these three returns the call of one direction from its primitive descriptor.
template <class Primitive>
ProductCall ForwardCall(const typename Primitive::primitive_desc& chosen,
                        const workload::ProductCase& product, const workload::ProductScales& scales,
                        const workload::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), inputs.source);
  call.AddInput(DNNL_ARG_WEIGHTS, chosen.weights_desc(), inputs.weights);
  call.AddResult(DNNL_ARG_DST, chosen.dst_desc(), inputs.addend);
  call.AddVariant(product, scales, inputs, chosen.bias_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardDataCall(const typename Primitive::primitive_desc& chosen,
                             const workload::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), inputs.destination);
  call.AddInput(DNNL_ARG_WEIGHTS, chosen.weights_desc(), inputs.weights);
  call.AddResult(DNNL_ARG_DIFF_SRC, chosen.diff_src_desc());
  return call;
}

template <class Primitive>
ProductCall BackwardWeightsCall(const typename Primitive::primitive_desc& chosen,
                                const workload::ProductCase& product,
                                const workload::ProductInputs& inputs) {
  ProductCall call{CallOf<Primitive>(chosen)};
  call.AddInput(DNNL_ARG_DIFF_DST, chosen.diff_dst_desc(), inputs.destination);
  call.AddInput(DNNL_ARG_SRC, chosen.src_desc(), inputs.source);
  call.AddResult(DNNL_ARG_DIFF_WEIGHTS, chosen.diff_weights_desc());
  if (product.bias) {
    call.bias_gradient = DNNL_ARG_DIFF_BIAS;
    call.AddOutput(DNNL_ARG_DIFF_BIAS, chosen.diff_bias_desc());
  }
  return call;
}

// Throws Unsupported for an int8 gradient, with the message `int8_gradient_reason`, and if memory
// does not suffice for the call. Call it before allocating memory.
void RequireSupport(const workload::ProductCase& product, const workload::ProductSizes& sizes,
                    std::string_view int8_gradient_reason);

// Returns the pipe of the matrix work. With an fpmath mode oneDNN may compute f32 in bf16. Then the
// implementation's name contains "amx" or "bf16", ISAs that f32 itself cannot use.
std::string PipeOf(const workload::ProductCase& product, const std::string& implementation);

// Prepares the call returned by make(inputs). `what` names the call in messages.
template <class Case, class Make>
workload::PreparedCall PrepareProduct(const Case& product, const workload::RunSettings& settings,
                                      std::string_view what, const Make& make) {
  return PrepareCall(
      settings, what, [product](unsigned seed) { return workload::SeededInputs(product, seed); },
      [product](const auto& call) {
        return workload::ProductWork(product, PipeOf(product, call.implementation));
      },
      make,
      [product, seed = settings.seed](const auto& inputs, const ProductCall& call) {
        return workload::CheckOutput(product, inputs, call.Output(), seed);
      },
      // With the sum post-op each call adds to the previous result.
      [](workload::ProductInputs& inputs, const ProductCall& call) {
        if (!inputs.addend.empty()) inputs.addend = call.Output().values;
      });
}

}  // namespace dlroof::onednn
