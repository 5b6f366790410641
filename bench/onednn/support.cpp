#include <dnnl_debug.h>
#include <fmt/format.h>
#include <omp.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "bench/onednn/call.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/memory.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "counters/perf/perf_events.h"

namespace dlroof::onednn {
namespace {

using dnnl::memory;

// The last two are missing in oneDNN 3.2's headers and have these numbers since 3.5
// (dnnl_common_types.h).
constexpr auto kS4 = static_cast<memory::data_type>(11), kU4 = static_cast<memory::data_type>(12);
constexpr KeyRow<memory::data_type> kTypes[] = {{memory::data_type::f32, "f32"},
                                                {memory::data_type::f16, "f16"},
                                                {memory::data_type::bf16, "bf16"},
                                                {memory::data_type::s32, "s32"},
                                                {memory::data_type::s8, "s8"},
                                                {memory::data_type::u8, "u8"},
                                                {kS4, "s4"},
                                                {kU4, "u4"}};

constexpr KeyRow<dnnl::fpmath_mode> kFpmathModes[] = {{dnnl::fpmath_mode::bf16, "bf16"},
                                                      {dnnl::fpmath_mode::f16, "f16"},
                                                      {dnnl::fpmath_mode::tf32, "tf32"},
                                                      {dnnl::fpmath_mode::any, "any"}};

// oneDNN's ISAs and their names. The last two are missing in oneDNN 3.2's headers and have these
// numbers since 3.9. Since 3.5 avx10_1_512 is another name of avx512_core_fp16, and
// avx10_1_512_amx_fp16 of avx512_core_amx_fp16.
constexpr KeyRow<dnnl::cpu_isa> kIsas[] = {
    {dnnl::cpu_isa::sse41, "sse41"},
    {dnnl::cpu_isa::avx, "avx"},
    {dnnl::cpu_isa::avx2, "avx2"},
    {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
    {dnnl::cpu_isa::avx2_vnni_2, "avx2_vnni_2"},
    {dnnl::cpu_isa::avx512_core, "avx512_core"},
    {dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni"},
    {dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16"},
    {dnnl::cpu_isa::avx512_core_fp16, "avx512_core_fp16"},
    {dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx"},
    {dnnl::cpu_isa::avx512_core_amx_fp16, "avx512_core_amx_fp16"},
    {static_cast<dnnl::cpu_isa>(0x201ff), "avx10_2_512"},
    {static_cast<dnnl::cpu_isa>(0x22fff), "avx10_2_512_amx_2"}};

int64_t Elements(const memory::dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

void Reorder(memory& from, memory& to) {
  dnnl::reorder(from, to).execute(CpuStream(), from, to);
  CpuStream().wait();
}

// While an object of this class exists, stdout goes to a file and oneDNN logs to it.
class LogFile {
 public:
  LogFile() {
    std::fflush(stdout);
    if (file_.get() < 0 || stdout_.get() < 0) return;
    dup2(file_.get(), STDOUT_FILENO);
    if (!users_choice()) dnnl::set_verbose(2);
  }
  ~LogFile() {
    if (!users_choice()) dnnl::set_verbose(0);
    std::fflush(stdout);
    if (stdout_.get() >= 0) dup2(stdout_.get(), STDOUT_FILENO);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  static bool users_choice() {
    return std::getenv("ONEDNN_VERBOSE") != nullptr || std::getenv("DNNL_VERBOSE") != nullptr;
  }
  std::string Text() const {
    std::fflush(stdout);
    std::string text(static_cast<size_t>(std::max(lseek(file_.get(), 0, SEEK_END), off_t{0})), ' ');
    const auto bytes = pread(file_.get(), text.data(), text.size(), 0);
    return text.substr(0, static_cast<size_t>(std::max(bytes, ssize_t{0})));
  }

 private:
  const Descriptor file_{memfd_create("dlroof oneDNN log", MFD_CLOEXEC)},
      stdout_{dup(STDOUT_FILENO)};
};

// Pins OpenMP's threads. They stay pinned, because OpenMP reuses them. A primitive that runs on
// fewer threads than it was created for computes a wrong result. So Pin overrides OMP_DYNAMIC and
// OMP_MAX_ACTIVE_LEVELS=0, which allow fewer threads, and throws if there still are fewer. Does
// nothing for other threadings: TBB and SYCL would use only the CPUs of the calling thread.
void Pin(const std::vector<int>& cpus) {
  if (LoadedThreading() != Threading::kOpenMp) return;
  omp_set_dynamic(0);
  omp_set_max_active_levels(std::max(1, omp_get_max_active_levels()));
  omp_set_num_threads(static_cast<int>(cpus.size()));
  int team = 0;
#pragma omp parallel
  {
#pragma omp single
    team = omp_get_num_threads();
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cpus[static_cast<size_t>(omp_get_thread_num())], &mask);
    sched_setaffinity(0, sizeof mask, &mask);  // on failure the thread stays unpinned
  }
  if (static_cast<size_t>(team) < cpus.size())
    throw std::runtime_error(fmt::format(
        "OpenMP started {} threads of the {} that it was asked for", team, cpus.size()));
}

void OnThreads(const std::function<void(int)>& visit) {
  if (LoadedThreading() != Threading::kOpenMp) return visit(0);
#pragma omp parallel
  visit(omp_get_thread_num());
}

[[maybe_unused]] const bool support_registered =
    workload::RegisterLibrary({"onednn",
                               [] {
                                 return fmt::format("oneDNN {}, {}, may use {}", Version(),
                                                    NameOf(LoadedThreading()), EffectiveIsa());
                               },
                               Pin, OnThreads});

}  // namespace

const dnnl::engine& CpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& CpuStream() {
  static dnnl::stream stream(CpuEngine());
  return stream;
}

std::string CreationLog(const std::function<void()>& create) {
  std::string log;
  {
    const LogFile file;
    create();
    log = file.Text();
  }
  if (LogFile::users_choice()) std::fputs(log.c_str(), stdout);
  return log;
}

memory::data_type DataType(std::string_view type) {
  if (const auto found = ValueIn(kTypes, type)) return *found;
  throw Unsupported("oneDNN on the CPU has no type {}", type);
}

dnnl::algorithm AlgorithmOf(workload::Eltwise function) {
  constexpr dnnl::algorithm kAlgorithms[] = {
      // in the order of Eltwise
      dnnl::algorithm::eltwise_relu, dnnl::algorithm::eltwise_gelu_erf,
      dnnl::algorithm::eltwise_gelu_tanh, dnnl::algorithm::eltwise_logistic,
      dnnl::algorithm::eltwise_tanh};
  return kAlgorithms[static_cast<size_t>(function)];
}

dnnl::fpmath_mode FpmathMode(std::string_view mode) {
  if (const auto found = ValueIn(kFpmathModes, mode)) return *found;
  throw std::logic_error(fmt::format("no fpmath mode {}", mode));
}

ArgumentList ListedArguments(const Arguments& arguments) {
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

std::vector<workload::MemoryRegion> Regions(const Arguments& arguments,
                                            const std::vector<int>& weights) {
  std::map<const void*, workload::MemoryRegion> regions;
  for (const auto& [argument, memory] : arguments) {
    const workload::MemoryRegion region{memory.get_data_handle(), memory.get_desc().get_size(),
                                        std::ranges::count(weights, argument) > 0};
    if (region.bytes > 0) regions.emplace(region.begin, region);
  }
  return VectorOf<workload::MemoryRegion>(regions, [](const auto& row) { return row.second; });
}

std::string EffectiveIsa() {
  const auto isa = dnnl::get_effective_cpu_isa();
  for (const auto& [value, name] : kIsas)
    if (value == isa) return std::string(name);
  return fmt::format("isa_{:#x}", static_cast<int>(isa));
}

std::string MatrixPipe(std::string_view type, std::string_view implementation) {
  return dlroof::workload::MatrixPipe(type, implementation, EffectiveIsa());
}

void SetThreads(int threads) {
  if (LoadedThreading() != Threading::kOpenMp) {
    const int cpus = static_cast<int>(cpu::ThisCpu().allowed.size());
    if (const auto reason = ThreadsRefusal(LoadedThreading(), threads, cpus))
      throw Unsupported(reason->text);
  }
  omp_set_num_threads(threads);
}

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
  owned_.emplace_back(data);
  return {target, CpuEngine(), data};
}

memory Tensors::Filled(const memory::desc& target, const std::vector<float>& values) {
  if (Elements(target.get_dims()) != static_cast<int64_t>(values.size()))
    throw std::logic_error(
        fmt::format("{} values for {} elements", values.size(), Elements(target.get_dims())));
  return Translated("converting inputs", [&] {
    memory filled = Empty(target);
    if (const auto type = target.get_data_type(); type == kS4 || type == kU4) {
      memory packed = Empty(PlainDesc(target.get_dims(), type));
      const auto bytes = workload::Encoded(values, type == kS4 ? "s4" : "u4");
      std::memcpy(packed.get_data_handle(), bytes.data(), bytes.size());
      if (packed.get_desc() == target) return packed;
      Reorder(packed, filled);
      return filled;
    }
    // oneDNN's interface has no const pointers, but a reorder does not write its source.
    memory plain(PlainDesc(target.get_dims(), memory::data_type::f32), CpuEngine(),
                 const_cast<float*>(values.data()));
    Reorder(plain, filled);
    return filled;
  });
}

memory Tensors::Repeated(const memory::desc& target, unsigned char byte) {
  memory filled = Empty(target);
  if (target.get_size() > 0) std::memset(filled.get_data_handle(), byte, target.get_size());
  return filled;
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

namespace {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;

class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { SetThreads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Returns numbers from -2 to 2, none of them denormal.
std::vector<float> Numbers(const Dims& dims) {
  std::vector<float> numbers(static_cast<std::size_t>(Elements(dims)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 64) / 16 - 2;
  return numbers;
}

// Returns the time of one execution [s]: the minimum of ten tries of half a millisecond each,
// because other programs only slow tries down. Long executions have fewer tries (0.5 s in all).
double FastestSeconds(const std::function<void()>& run) {
  constexpr int kTries = 10;
  constexpr double kTrySeconds = 5e-4, kMaxSeconds = 0.5;
  const auto calls_take = [&](int calls) {
    const double begin = cpu::WallSeconds();
    for (int call = 0; call < calls; ++call) run();
    return cpu::WallSeconds() - begin;
  };
  calls_take(1);
  double fastest = calls_take(1);
  const int calls = std::max(1, static_cast<int>(kTrySeconds / std::max(fastest, 1e-8)));
  const cpu::Budget budget(kMaxSeconds);
  for (int i = 0; i < kTries && !budget.IsSpent(); ++i)
    fastest = std::min(fastest, calls_take(calls) / calls);
  return fastest;
}

PartCost CostOf(const std::function<void()>& run) {
  return {FastestSeconds(run), perf::CountInstructions(run)};
}

PartCost CostOf(const dnnl::primitive& primitive, const Arguments& arguments) {
  const auto listed = ListedArguments(arguments);
  return CostOf([&] { Execute(primitive, listed); });
}

// Adds `count` x `cost` to `sum`. If `cost` or `sum` lacks instructions, `sum` has none afterwards.
void Add(double count, const PartCost& cost, PartCost& sum) {
  sum.seconds += count * cost.seconds;
  if (sum.instructions && cost.instructions)
    *sum.instructions += count * *cost.instructions;
  else
    sum.instructions.reset();
}

// Returns cost(product or function) on one thread, or nullopt if oneDNN lacks it.
template <class Cost, class What>
std::optional<PartCost> Measured(Cost cost, const What& what) {
  const OneThread one_thread;
  try {
    return cost(what);
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

PartCost CostOfElement(dnnl::algorithm function) {
  const Dims shape = {16384};
  const auto desc = PlainDesc(shape, Type::f32);
  Tensors tensors;
  const dnnl::eltwise_forward primitive(dnnl::eltwise_forward::primitive_desc(
      CpuEngine(), dnnl::prop_kind::forward_inference, function, desc, desc, 0.0F, 0.0F));
  PartCost cost{0, 0};
  Add(1 / static_cast<double>(shape[0]),
      CostOf(primitive, {{DNNL_ARG_SRC, tensors.Filled(desc, Numbers(shape))},
                         {DNNL_ARG_DST, tensors.Empty(desc)}}),
      cost);
  return cost;
}

PartCost CostOfProduct(std::int64_t m, std::int64_t n, std::int64_t k, Type type) {
  const auto any = [](const Dims& dims, Type of) {
    return dnnl::memory::desc(dims, of, dnnl::memory::format_tag::any);
  };
  const dnnl::matmul::primitive_desc chosen(CpuEngine(), PlainDesc({m, k}, type), any({k, n}, type),
                                            PlainDesc({m, n}, Type::f32));
  Tensors tensors;
  return CostOf(dnnl::matmul(chosen),
                {{DNNL_ARG_SRC, tensors.Filled(chosen.src_desc(), Numbers({m, k}))},
                 {DNNL_ARG_WEIGHTS, tensors.Filled(chosen.weights_desc(), Numbers({k, n}))},
                 {DNNL_ARG_DST, tensors.Empty(chosen.dst_desc())}});
}

PartCost CostOfGemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto a = Numbers({m, k}), b = Numbers({k, n});
  auto c = Numbers({m, n});
  return CostOf([&] {
    const auto status =
        dnnl_sgemm('N', 'N', m, n, k, 1.0F, a.data(), k, b.data(), n, 0.0F, c.data(), n);
    if (status != dnnl_success) throw dnnl::error(status, "sgemm");
  });
}

struct MeasuredProduct {
  std::int64_t m, n, k;
  Type type;
  ProductBy by;

  auto operator<=>(const MeasuredProduct&) const = default;
};

PartCost CostOf(const MeasuredProduct& product) {
  const auto& [m, n, k, type, by] = product;
  return by == ProductBy::kGemm ? CostOfGemm(m, n, k) : CostOfProduct(m, n, k, type);
}

// Returns the product's cost without the overhead of the call: subtracts the cost of an 8x8x8
// product, which is nearly all overhead.
PartCost CostWithoutCall(const MeasuredProduct& product) {
  auto cost = CostOf(product);
  Add(-1, CostOf({8, 8, 8, product.type, product.by}), cost);
  cost.seconds = std::max(0.0, cost.seconds);
  if (cost.instructions) cost.instructions = std::max(0.0, *cost.instructions);
  return cost;
}

}  // namespace

std::optional<PartCost> FunctionCost(double sigmoids, double tanhs) {
  static const auto sigmoid = Measured(CostOfElement, dnnl::algorithm::eltwise_logistic),
                    tanh = Measured(CostOfElement, dnnl::algorithm::eltwise_tanh);
  if (!sigmoid || !tanh) return std::nullopt;
  PartCost cost{0, 0};
  Add(sigmoids, *sigmoid, cost);
  Add(tanhs, *tanh, cost);
  return cost;
}

std::optional<PartCost> ProductCost(const std::vector<workload::MatrixProducts>& products,
                                    std::string_view type, ProductBy by) {
  static std::map<MeasuredProduct, std::optional<PartCost>> measured;
  PartCost sum{0, 0};
  for (const auto& [m, n, k, count] : products) {
    const MeasuredProduct product{m, n, k, DataType(type), by};
    auto known = measured.find(product);
    if (known == measured.end())
      known = measured.emplace(product, Measured(CostWithoutCall, product)).first;
    if (!known->second) return std::nullopt;
    Add(static_cast<double>(count), *known->second, sum);
  }
  return sum;
}

namespace {

constexpr int kMajor = 3, kMinMinor = 2;

constexpr KeyRow<Threading> kThreadings[] = {{Threading::kSequential, "sequential"},
                                             {Threading::kOpenMp, "OpenMP"},
                                             {Threading::kTbb, "TBB"},
                                             {Threading::kThreadpool, "threadpool"},
                                             {Threading::kSycl, "SYCL"}};

std::string NumberOf(const dnnl_version_t& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

const dnnl_version_t& VersionBy(void* dnnl_version_function) {
  return *reinterpret_cast<const dnnl_version_t* (*)()>(dnnl_version_function)();
}

workload::LibraryFacts FactsOf(void* function) {
  const auto& version = VersionBy(function);
  const Threading threading{version.cpu_runtime};
  return {.version = NumberOf(version),
          .commit = version.hash,
          .threading = std::string(NameOf(threading)),
          .threads_controlled = threading == Threading::kOpenMp};
}

[[maybe_unused]] const bool choosable_registered = workload::RegisterChoosableLibrary(
    {.name = "onednn",
     .title = "oneDNN",
     .function = "dnnl_version",
     .facts = FactsOf,
     .refusal = [](void* function) { return VersionRefusal(VersionBy(function)); },
     .shared_function = "omp_get_max_threads"});

}  // namespace

std::string_view NameOf(Threading threading) {
  for (const auto& [known, name] : kThreadings)
    if (known == threading) return name;
  return "unknown threading";
}

std::optional<Reason> VersionRefusal(const dnnl_version_t& version) {
  if (version.major == kMajor && version.minor >= kMinMinor) return std::nullopt;
  return Reason{fmt::format("oneDNN {}, expected {}.{} or a newer {}.x", NumberOf(version), kMajor,
                            kMinMinor, kMajor)};
}

std::optional<Reason> ThreadsRefusal(Threading threading, int threads, int cpus) {
  if (threading == Threading::kOpenMp) return std::nullopt;
  const bool single = threading == Threading::kSequential || threading == Threading::kThreadpool;
  const int used = single ? 1 : cpus;
  if (threads == used) return std::nullopt;
  const auto cure = single ? std::string("use --dlroof_threads=1")
                           : std::string("start the program on that many CPUs: taskset --cpu-list");
  return Reason{fmt::format(
      "this oneDNN's threading is {}, not OpenMP: it runs on {} thread{} here, and the number "
      "cannot be set to {} ({})",
      NameOf(threading), used, used == 1 ? "" : "s", threads, cure)};
}

Threading LoadedThreading() { return Threading{dnnl::version()->cpu_runtime}; }

bool IsVersion32() {
  const auto* version = dnnl::version();
  return version->major == 3 && version->minor == 2;
}

std::string Version() {
  const auto* version = dnnl::version();
  return fmt::format("{} (commit {})", NumberOf(*version), version->hash);
}

}  // namespace dlroof::onednn
