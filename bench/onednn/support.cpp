#include "bench/onednn/support.h"

#include <dnnl_debug.h>
#include <fmt/format.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "bench/library_rules/pipe_choice.h"
#include "bench/library_rules/vector_blocking.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

constexpr std::array<std::pair<std::string_view, memory::data_type>, 6> kTypes = {
    {{"f32", memory::data_type::f32},
     {"f16", memory::data_type::f16},
     {"bf16", memory::data_type::bf16},
     {"s32", memory::data_type::s32},
     {"s8", memory::data_type::s8},
     {"u8", memory::data_type::u8}}};

constexpr std::array<std::pair<std::string_view, dnnl::fpmath_mode>, 4> kFpmathModes = {
    {{"bf16", dnnl::fpmath_mode::bf16},
     {"f16", dnnl::fpmath_mode::f16},
     {"tf32", dnnl::fpmath_mode::tf32},
     {"any", dnnl::fpmath_mode::any}}};

constexpr std::array<std::pair<dnnl::cpu_isa, std::string_view>, 11> kIsas = {
    {{dnnl::cpu_isa::sse41, "sse41"},
     {dnnl::cpu_isa::avx, "avx"},
     {dnnl::cpu_isa::avx2, "avx2"},
     {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
     {dnnl::cpu_isa::avx2_vnni_2, "avx2_vnni_2"},
     {dnnl::cpu_isa::avx512_core, "avx512_core"},
     {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
     {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
     {dnnl::cpu_isa::avx512_core_fp16, "avx512_core_fp16"},
     {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
     {dnnl::cpu_isa::avx512_core_amx_fp16, "avx512_core_amx_fp16"}}};

int64_t Elements(const memory::dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Reads or writes a memory's bytes; the pointer may not outlive the mapping.
class Mapping {
 public:
  explicit Mapping(const memory& memory) : memory_(memory), bytes_(memory.map_data<char>()) {}
  ~Mapping() { memory_.unmap_data(bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  char* bytes() const { return bytes_; }

 private:
  const memory& memory_;
  char* bytes_;
};

void Reorder(memory& from, memory& to) {
  dnnl::reorder(from, to).execute(CpuStream(), from, to);
  CpuStream().wait();
}

void Fill(memory& target, int byte) {
  const auto bytes = target.get_desc().get_size();
  if (bytes == 0) return;
  const Mapping mapping(target);
  std::memset(mapping.bytes(), byte, bytes);
}

// The pool keeps its threads, so that a thread pinned once stays where it is.
void Pin(const std::vector<int>& cpus) {
  omp_set_num_threads(static_cast<int>(cpus.size()));
#pragma omp parallel
  {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cpus[static_cast<size_t>(omp_get_thread_num())], &mask);
    sched_setaffinity(0, sizeof mask, &mask);  // refused: the thread runs where it likes
  }
}

void OnThreads(const std::function<void(int)>& visit) {
#pragma omp parallel
  visit(omp_get_thread_num());
}

[[maybe_unused]] const bool support_registered = workload::RegisterLibrary(
    {"onednn",
     [] { return fmt::format("oneDNN {}, OpenMP, may use {}", Version(), EffectiveIsa()); }, Pin,
     OnThreads, SetThreads});

}  // namespace

const dnnl::engine& CpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& CpuStream() {
  static dnnl::stream stream(CpuEngine());
  return stream;
}

memory::data_type DataType(std::string_view type) {
  for (const auto& [name, value] : kTypes)
    if (name == type) return value;
  throw Unsupported("oneDNN on the CPU has no type {}", type);
}

dnnl::fpmath_mode FpmathMode(std::string_view mode) {
  for (const auto& [name, value] : kFpmathModes)
    if (name == mode) return value;
  throw std::logic_error(fmt::format("no fpmath mode {}", mode));
}

ArgumentList ListedArguments(const std::unordered_map<int, memory>& arguments) {
  ArgumentList listed;
  for (const auto& [argument, memory] : arguments) listed.push_back({argument, memory.get(true)});
  return listed;
}

void Execute(const dnnl::primitive& primitive, const ArgumentList& arguments) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), CpuStream().get(), static_cast<int>(arguments.size()),
                             arguments.data()),
      "could not execute a primitive");
  CpuStream().wait();
}

std::vector<workload::MemoryRegion> Regions(const std::unordered_map<int, memory>& arguments,
                                  const std::vector<int>& weights) {
  std::map<const void*, workload::MemoryRegion> regions;
  for (const auto& [argument, memory] : arguments) {
    const workload::MemoryRegion region{memory.get_data_handle(), memory.get_desc().get_size(),
                              std::ranges::count(weights, argument) > 0};
    if (region.bytes > 0) regions.emplace(region.begin, region);
  }
  std::vector<workload::MemoryRegion> listed;
  for (const auto& [begin, region] : regions) listed.push_back(region);
  return listed;
}

std::string EffectiveIsa() {
  const auto isa = dnnl::get_effective_cpu_isa();
  for (const auto& [value, name] : kIsas)
    if (value == isa) return std::string(name);
  return fmt::format("isa_{:#x}", static_cast<int>(isa));
}

std::string Version() {
  const auto* version = dnnl::version();
  return fmt::format("{}.{}.{} (commit {})", version->major, version->minor, version->patch,
                     version->hash);
}

std::string MatrixPipe(std::string_view type, std::string_view implementation) {
  return dlroof::library_rules::MatrixPipe(type, implementation, EffectiveIsa());
}

caches::LevelModel OfThisVersion(caches::LevelModel model) {
  const auto* version = dnnl::version();
  auto why = library_rules::WhyNoLoopsOf(version->major, version->minor);
  if (why.empty()) return model;
  return {.why_not = std::move(why)};
}

void SetThreads(int threads) { omp_set_num_threads(threads); }

memory::desc PlainDesc(const memory::dims& dims, memory::data_type type) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return {dims, type, strides};
}

void Tensors::Free::operator()(void* data) const { std::free(data); }

memory Tensors::Empty(const memory::desc& target) {
  constexpr size_t kAlignment = size_t{2} << 20;
  const size_t bytes = target.get_size();
  if (bytes == 0) return {target, CpuEngine(), nullptr};
  void* data = nullptr;
  if (posix_memalign(&data, kAlignment, bytes) != 0) throw std::bad_alloc();
  held_.emplace_back(data);
  return {target, CpuEngine(), data};
}

memory Tensors::Filled(const memory::desc& target, const std::vector<float>& values) {
  if (Elements(target.get_dims()) != static_cast<int64_t>(values.size()))
    throw std::logic_error(
        fmt::format("{} values for {} elements", values.size(), Elements(target.get_dims())));
  return Translated("converting inputs", [&] {
    memory filled = Empty(target);
    // oneDNN takes no pointer to const; a reorder only reads its source.
    memory plain(PlainDesc(target.get_dims(), memory::data_type::f32), CpuEngine(),
                 const_cast<float*>(values.data()));
    Reorder(plain, filled);
    return filled;
  });
}

memory Tensors::Zeroed(const memory::desc& target) {
  memory zeroed = Empty(target);
  Fill(zeroed, 0);
  return zeroed;
}

memory Tensors::Poisoned(const memory::desc& target) {
  memory poisoned = Empty(target);
  Fill(poisoned, 0xff);
  return poisoned;
}

std::vector<float> Plain(const memory& memory) {
  return Translated("reading outputs", [&] {
    const auto desc = PlainDesc(memory.get_desc().get_dims(), memory::data_type::f32);
    std::vector<float> values(static_cast<size_t>(Elements(desc.get_dims())));
    dnnl::memory plain(desc, CpuEngine(), values.data());
    dnnl::memory from = memory;
    Reorder(from, plain);
    return values;
  });
}

void Rethrow(const dnnl::error& error, std::string_view what) {
  if (error.status == dnnl_unimplemented)
    throw Unsupported("oneDNN {}: {} ({}, {})", Version(), error.what(), what, EffectiveIsa());
  throw std::runtime_error(fmt::format("oneDNN {}: {}: {} (status {})", Version(), what,
                                       error.what(), dnnl_status2str(error.status)));
}

}  // namespace dlroof::onednn
