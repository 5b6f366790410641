// Watches the regions of a runtime that supports OMPT (libomp, libiomp5), whether they begin at its
// own entry points (__kmpc_fork_call) or at libgomp's, which these runtimes have as well.
//
// A registered tool slows the runtime down even without callbacks, so this program registers only
// if it expects to watch. It sets the callbacks when it first watches and never removes them:
// LLVM's worker threads may still report the end of a region after the master has gone on, and
// would call a null pointer.
#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "counters/cpu/clocks.h"
#include "counters/openmp/region_clock.h"

namespace dlroof::openmp {

// The part of OMPT's binary interface that this file uses. OpenMP 5.1, chapter 4 "OMPT Interface":
// "Activating a First-Party Tool", "Monitoring Activity on the Host with OMPT", and the types of
// the same names in "OMPT Data Types" and "OMPT Tool Callback Signatures". Declared here because
// not every compiler has omp-tools.h.
namespace ompt {

// ompt_data_t: a value of the tool that the runtime stores with a region or a task, initially 0.
union Data {
  std::uint64_t value;
  void* pointer;
};

// ompt_callbacks_t
enum Event : int { kParallelBegin = 3, kParallelEnd = 4, kImplicitTask = 7, kSyncRegion = 23 };
// ompt_scope_endpoint_t
enum Endpoint : int { kBegin = 1, kEnd = 2 };
// ompt_set_result_t: the callback is called each time.
constexpr int kAlways = 5;
// ompt_sync_region_t: the kinds that are not barriers.
enum SyncKind : int { kTaskwait = 5, kTaskgroup = 6, kReduction = 7 };

using Callback = void (*)();
using SetCallback = int (*)(Event, Callback);
using Lookup = Callback (*)(const char* name);

// ompt_start_tool_result_t
struct Tool {
  int (*initialize)(Lookup, int device, Data*);  // returns 0 to deactivate the tool
  void (*finalize)(Data*);
  Data data;
};

// ompt_callback_parallel_begin_t, ompt_callback_parallel_end_t
using ParallelBegin = void (*)(Data* task, const void* frame, Data* region, unsigned asked,
                               int flags, const void* code);
using ParallelEnd = void (*)(Data* region, Data* task, int flags, const void* code);
// ompt_callback_implicit_task_t: `region` is null at the end.
using ImplicitTask = void (*)(Endpoint, Data* region, Data* task, unsigned team, unsigned thread,
                              int flags);
// ompt_callback_sync_region_t: `region` is null at the end of a region's last barrier.
using SyncRegion = void (*)(SyncKind, Endpoint, Data* region, Data* task, const void* code);

}  // namespace ompt

bool IsWatchedRuntime(std::string_view version) {
  return version.starts_with("LLVM OMP") || version.starts_with("Intel(R) OMP");
}

namespace {

struct OmptWatch {
  std::string version;                          // of the runtime
  std::optional<Reason> refused;                // why this program does not watch the runtime
  std::atomic<ompt::SetCallback> set{nullptr};  // null before the runtime starts and after its end
  std::optional<bool> has_callbacks;            // set by the first attempt to set callbacks
  RegionClock clock;
  int team = 1;  // threads of the region that counts
};

OmptWatch& TheOmptWatch() {
  static OmptWatch watch;
  return watch;
}

// Returns the file that contains the code, or "" if it is unknown.
const char* FileOf(const void* code, const void** base = nullptr) {
  Dl_info found{};
  if (code == nullptr || dladdr(code, &found) == 0) return "";
  if (base != nullptr) *base = found.dli_fbase;
  return found.dli_fname == nullptr ? "" : found.dli_fname;
}

const void* RuntimeCode() { return reinterpret_cast<const void*>(TheOmptWatch().set.load()); }

// The data of a region that counts points to the clock, the data of a task to the thread's times.

void OnParallelBegin(ompt::Data*, const void*, ompt::Data* region, unsigned, int, const void*) {
  auto& clock = TheOmptWatch().clock;
  if (!clock.Counts(ThisThread())) return;
  region->pointer = &clock;
  clock.Forks(cpu::WallSeconds());
}

void OnParallelEnd(ompt::Data* region, ompt::Data*, int, const void*) {
  auto& clock = TheOmptWatch().clock;
  if (region->pointer != &clock || !clock.InsideOf(ThisThread())) return;
  clock.Joins(TheOmptWatch().team, cpu::WallSeconds());
}

// Threads leave a region at its last barrier; the workers' implicit tasks may end after the join. A
// team of one thread has no barrier.
void OnImplicitTask(ompt::Endpoint endpoint, ompt::Data* region, ompt::Data* task, unsigned team,
                    unsigned thread, int) {
  auto& clock = TheOmptWatch().clock;
  auto* first = clock.Thread(0);
  if (endpoint == ompt::kEnd) {
    if (task->pointer == first && clock.InsideOf(ThisThread())) first->Leaves(cpu::WallSeconds());
    return;
  }
  if (region == nullptr || region->pointer != &clock) return;
  auto* own = clock.Thread(static_cast<int>(thread));
  if (own == first) TheOmptWatch().team = static_cast<int>(team);
  task->pointer = own;
  if (own != nullptr) own->Enters(cpu::WallSeconds());
}

// All kinds of barriers count, as libgomp's entry points do not distinguish most of them.
void OnSyncRegion(ompt::SyncKind kind, ompt::Endpoint endpoint, ompt::Data* region,
                  ompt::Data* task, const void*) {
  if (kind == ompt::kTaskwait || kind == ompt::kTaskgroup || kind == ompt::kReduction) return;
  if (region == nullptr || task == nullptr || task->pointer == nullptr) return;
  auto& own = *static_cast<ThreadInRegion*>(task->pointer);
  if (endpoint == ompt::kBegin) own.BeginsBarrier(cpu::WallSeconds());
  if (endpoint == ompt::kEnd) own.EndsBarrier(cpu::WallSeconds());
}

template <class Function>
bool Set(ompt::Event event, Function callback) {
  return TheOmptWatch().set.load()(event, reinterpret_cast<ompt::Callback>(callback)) ==
         ompt::kAlways;
}

bool HasCallbacks() {
  auto& watch = TheOmptWatch();
  if (!watch.has_callbacks)
    watch.has_callbacks = Set<ompt::SyncRegion>(ompt::kSyncRegion, OnSyncRegion) &&
                          Set<ompt::ImplicitTask>(ompt::kImplicitTask, OnImplicitTask) &&
                          Set<ompt::ParallelEnd>(ompt::kParallelEnd, OnParallelEnd) &&
                          Set<ompt::ParallelBegin>(ompt::kParallelBegin, OnParallelBegin);
  return *watch.has_callbacks;
}

std::optional<Reason> OmptUnavailableReason() {
  auto& watch = TheOmptWatch();
  if (watch.refused) return watch.refused;
  if (watch.set.load() == nullptr)
    return Reason{
        "no runtime with OMPT support has started in this process, or OMP_TOOL disables it"};
  if (!HasCallbacks())
    return Reason{fmt::format("{} does not report every barrier", watch.version)};
  return std::nullopt;
}

std::string OmptName() {
  const auto file = std::filesystem::path(FileOf(RuntimeCode())).filename().string();
  return file.empty() ? "OMPT" : fmt::format("OMPT of {} ({})", file, TheOmptWatch().version);
}

[[maybe_unused]] const bool ompt_regions_registered = RegisterRegionSource(
    {OmptName, OmptUnavailableReason, [] { TheOmptWatch().clock.Start(ThisThread()); },
     [] { return TheOmptWatch().clock.Stop(); }});

int Initialize(ompt::Lookup lookup, int, ompt::Data*) {
  auto& watch = TheOmptWatch();
  watch.has_callbacks.reset();
  watch.set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  return watch.set.load() != nullptr;
}

// A runtime may end after the destructors of this program's static variables.
void Finalize(ompt::Data*) { TheOmptWatch().set = nullptr; }

// Returns why this program does not register as a tool of the runtime.
std::optional<Reason> RefusalReason(std::string_view version) {
  if (!RegionsAreExpected())
    return Reason{"the runtime started before this program asked to watch regions"};
  if (std::getenv("OMP_TOOL_LIBRARIES") != nullptr)
    return Reason{"OMP_TOOL_LIBRARIES names another tool"};
  if (!IsWatchedRuntime(version))
    return Reason{fmt::format("{} is not a supported runtime (LLVM's or Intel's)", version)};
  return std::nullopt;
}

}  // namespace

bool OmptShows(const void* code) {
  const void *runtime = nullptr, *other = nullptr;
  FileOf(RuntimeCode(), &runtime);
  FileOf(code, &other);
  return runtime != nullptr && runtime == other && !OmptUnavailableReason();
}

}  // namespace dlroof::openmp

// A runtime calls this function when it starts, by its name in the program (module.cmake). Only the
// first runtime of a process is watched.
extern "C" dlroof::openmp::ompt::Tool* ompt_start_tool(unsigned, const char* version) {
  static dlroof::openmp::ompt::Tool tool{dlroof::openmp::Initialize, dlroof::openmp::Finalize, {}};
  auto& watch = dlroof::openmp::TheOmptWatch();
  if (watch.set.load() != nullptr) return nullptr;
  watch.version = version;
  watch.refused = dlroof::openmp::RefusalReason(version);
  return watch.refused ? nullptr : &tool;
}
