// The regions of a runtime that speaks OMPT (libomp, libiomp5), whoever begins them: a compiler's
// own entry points (__kmpc_fork_call), or libgomp's, which these runtimes have as well.
//
// A runtime that is called back is slower even without a callback, so only a process that expects
// to watch is a tool. Callbacks are set when something is watched for the first time and never
// taken back: LLVM's worker threads still make their last calls of a region while the thread that
// began it goes on, and would call a null pointer.
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

// The part of OMPT's binary interface that is used here. OpenMP 5.1, chapter 4 "OMPT Interface":
// "Activating a First-Party Tool", "Monitoring Activity on the Host with OMPT", and of "OMPT Data
// Types" and "OMPT Tool Callback Signatures" the types of the same names. Runtimes have it without
// a header that each compiler finds.
namespace ompt {

// ompt_data_t: a value of ours that a runtime keeps with a region or a task, at first 0.
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
// ompt_sync_region_t: those that are no barriers.
enum SyncKind : int { kTaskwait = 5, kTaskgroup = 6, kReduction = 7 };

using Callback = void (*)();
using SetCallback = int (*)(Event, Callback);
using Lookup = Callback (*)(const char* name);

// ompt_start_tool_result_t
struct Tool {
  int (*initialize)(Lookup, int device, Data*);  // returns 0: the runtime calls it no more
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
  std::string version;                          // as the runtime says
  std::string refused;                          // why it is not watched; empty: it is
  std::atomic<ompt::SetCallback> set{nullptr};  // null: no runtime called, or it has ended
  int callbacks = -1;                           // 1: set, 0: the runtime refused, -1: not tried
  RegionClock clock;
  int team = 1;  // of the region that counts
};

OmptWatch& TheOmptWatch() {
  static OmptWatch watch;
  return watch;
}

// Returns the file that an address of code is from; empty: not known.
const char* FileOf(const void* code, const void** base = nullptr) {
  Dl_info found{};
  if (code == nullptr || dladdr(code, &found) == 0) return "";
  if (base != nullptr) *base = found.dli_fbase;
  return found.dli_fname == nullptr ? "" : found.dli_fname;
}

const void* RuntimeCode() { return reinterpret_cast<const void*>(TheOmptWatch().set.load()); }

// A region's data points to the clock where the region counts; a task's data to the thread's times.

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

// Other threads end the implicit task after the join, and left at the region's last barrier. A team
// of one has no barrier.
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

// Each kind of barrier counts, as GCC's code has one entry point for most of them.
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
  if (watch.callbacks < 0)
    watch.callbacks = Set<ompt::SyncRegion>(ompt::kSyncRegion, OnSyncRegion) &&
                      Set<ompt::ImplicitTask>(ompt::kImplicitTask, OnImplicitTask) &&
                      Set<ompt::ParallelEnd>(ompt::kParallelEnd, OnParallelEnd) &&
                      Set<ompt::ParallelBegin>(ompt::kParallelBegin, OnParallelBegin);
  return watch.callbacks == 1;
}

std::string WhyNoOmpt() {
  auto& watch = TheOmptWatch();
  if (!watch.refused.empty()) return watch.refused;
  if (watch.set.load() == nullptr)
    return "no runtime of this process that speaks OMPT has begun, or OMP_TOOL forbids it";
  if (!HasCallbacks()) return fmt::format("{} does not show each barrier", watch.version);
  return "";
}

std::string OmptName() {
  const auto file = std::filesystem::path(FileOf(RuntimeCode())).filename().string();
  return file.empty() ? "OMPT" : fmt::format("OMPT of {} ({})", file, TheOmptWatch().version);
}

[[maybe_unused]] const bool ompt_regions_registered =
    RegisterRegionSource({OmptName, WhyNoOmpt, [] { TheOmptWatch().clock.Start(ThisThread()); },
                          [] { return TheOmptWatch().clock.Stop(); }});

int Initialize(ompt::Lookup lookup, int, ompt::Data*) {
  auto& watch = TheOmptWatch();
  watch.callbacks = -1;
  watch.set = reinterpret_cast<ompt::SetCallback>(lookup("ompt_set_callback"));
  return watch.set.load() != nullptr;
}

// A runtime may end after this program's strings.
void Finalize(ompt::Data*) { TheOmptWatch().set = nullptr; }

// Returns why the runtime shall not call this program; empty: it shall.
std::string WhyRefused(std::string_view version) {
  if (!RegionsAreExpected()) return "the runtime began when nobody expected to watch it";
  if (std::getenv("OMP_TOOL_LIBRARIES") != nullptr) return "OMP_TOOL_LIBRARIES names another tool";
  if (!IsWatchedRuntime(version))
    return fmt::format("{} is a runtime whose regions were never compared", version);
  return "";
}

}  // namespace

bool OmptShows(const void* code) {
  const void *runtime = nullptr, *other = nullptr;
  FileOf(RuntimeCode(), &runtime);
  FileOf(code, &other);
  return runtime != nullptr && runtime == other && WhyNoOmpt().empty();
}

}  // namespace dlroof::openmp

// Called by a runtime when it begins, which must find this name in the program (module.cmake). One
// runtime of a process is watched, the first.
extern "C" dlroof::openmp::ompt::Tool* ompt_start_tool(unsigned, const char* version) {
  static dlroof::openmp::ompt::Tool tool{dlroof::openmp::Initialize, dlroof::openmp::Finalize, {}};
  auto& watch = dlroof::openmp::TheOmptWatch();
  if (watch.set.load() != nullptr) return nullptr;
  watch.version = version;
  watch.refused = dlroof::openmp::WhyRefused(version);
  return watch.refused.empty() ? &tool : nullptr;
}
