// Watches libgomp's parallel regions by interposition: this program defines libgomp's entry points.
// The linker prefers these functions, which call those of libgomp. While no thread is watched, each
// function costs a load and a jump.
//
// Entry points: libgomp's manual, "Implementing PARALLEL construct". Compilers up to GCC 4.8 call
// GOMP_parallel_start and GOMP_parallel_end, later compilers GOMP_parallel. Code of clang and
// Intel's compiler calls another runtime; if that is loaded, no regions are reported.
#include <dlfcn.h>
#include <fmt/format.h>
#include <omp.h>

#include "counters/cpu/clocks.h"
#include "counters/openmp/region_clock.h"

namespace dlroof::openmp {
namespace {

using Body = void (*)(void*);

struct GompWatch {
  RegionClock clock;
  Body body = nullptr;
  void* data = nullptr;
};

GompWatch& TheGompWatch() {
  static GompWatch watch;
  return watch;
}

// This thread's times while it is in a counted region, otherwise null.
thread_local ThreadInRegion* own_times = nullptr;

template <class Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool Begins() { return TheGompWatch().clock.Counts(ThisThread()) && omp_get_level() == 0; }

void Enter() {
  own_times = TheGompWatch().clock.Thread(omp_get_thread_num());
  if (own_times != nullptr) own_times->Enters(cpu::WallSeconds());
}

void Leave() {
  if (own_times != nullptr) own_times->Leaves(cpu::WallSeconds());
  own_times = nullptr;
}

void RunWatched(void*) {
  Enter();
  TheGompWatch().body(TheGompWatch().data);
  Leave();
}

void Fork(Body body, void* data) {
  auto& watch = TheGompWatch();
  watch.body = body;
  watch.data = data;
  watch.clock.Forks(cpu::WallSeconds());
}

std::optional<Reason> UnavailableReason() {
  if (dlsym(RTLD_NEXT, "GOMP_parallel") == nullptr) return Reason{"libgomp is not loaded"};
  for (const char* other : {"libomp.so.5", "libomp.so", "libiomp5.so"})
    if (void* loaded = dlopen(other, RTLD_LAZY | RTLD_NOLOAD)) {
      dlclose(loaded);
      return Reason{fmt::format("{} is loaded, whose regions cannot be seen", other)};
    }
  return std::nullopt;
}

[[maybe_unused]] const auto& libgomp_regions = TheRegionSource().emplace(RegionSource{
    "libgomp's entry points", UnavailableReason, [] { TheGompWatch().clock.Start(ThisThread()); },
    [] { return TheGompWatch().clock.Stop(); }});

}  // namespace
}  // namespace dlroof::openmp

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): libgomp's names

void GOMP_parallel_start(dlroof::openmp::Body body, void* data, unsigned threads) {
  static const auto real =
      dlroof::openmp::Real<void (*)(dlroof::openmp::Body, void*, unsigned)>("GOMP_parallel_start");
  if (!dlroof::openmp::Begins()) return real(body, data, threads);
  dlroof::openmp::Fork(body, data);
  real(dlroof::openmp::RunWatched, nullptr, threads);
  dlroof::openmp::Enter();  // the caller runs the body itself
}

void GOMP_parallel_end() {
  static const auto real = dlroof::openmp::Real<void (*)()>("GOMP_parallel_end");
  auto& clock = dlroof::openmp::TheGompWatch().clock;
  if (!clock.InsideOf(dlroof::openmp::ThisThread()) || omp_get_level() != 1) return real();
  dlroof::openmp::Leave();
  const int team = omp_get_num_threads();
  real();
  clock.Joins(team, dlroof::cpu::WallSeconds());
}

void GOMP_parallel(dlroof::openmp::Body body, void* data, unsigned threads, unsigned flags) {
  static const auto real =
      dlroof::openmp::Real<void (*)(dlroof::openmp::Body, void*, unsigned, unsigned)>(
          "GOMP_parallel");
  if (!dlroof::openmp::Begins()) return real(body, data, threads, flags);
  int team = 1;
  struct Both {
    dlroof::openmp::Body body;
    void* data;
    int* team;
  } both{body, data, &team};
  dlroof::openmp::Fork(
      [](void* argument) {
        const auto* call = static_cast<Both*>(argument);
        if (omp_get_thread_num() == 0) *call->team = omp_get_num_threads();
        call->body(call->data);
      },
      &both);
  real(dlroof::openmp::RunWatched, nullptr, threads, flags);
  dlroof::openmp::TheGompWatch().clock.Joins(team, dlroof::cpu::WallSeconds());
}

void GOMP_barrier() {
  static const auto real = dlroof::openmp::Real<void (*)()>("GOMP_barrier");
  auto* own = dlroof::openmp::own_times;
  if (own == nullptr || omp_get_level() != 1) return real();
  const double begin = dlroof::cpu::WallSeconds();
  real();
  own->Waits(dlroof::cpu::WallSeconds() - begin);
}

// NOLINTEND(readability-identifier-naming)
}
