// Stands between a library and libgomp: this program's definitions of libgomp's entry points come
// before libgomp's own, which they call. Unwatched they cost a load and a jump.
//
// Entry points: libgomp's manual, "Implementing PARALLEL construct"; the first two are those of
// compilers up to GCC 4.8, GOMP_parallel that of later ones.
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "counters/cpu/clocks.h"
#include "counters/parallel_time.h"

namespace dlroof {
namespace {

using Body = void (*)(void*);
constexpr std::size_t kMostThreads = 1024;

// A thread's times in the region that runs, on a cache line of its own.
struct alignas(64) ThreadTime {
  double seconds = 0;  // in the region's function
  double waited = 0;   // of that at barriers
};

struct Watch {
  std::atomic<bool> on{false};
  bool inside = false;  // of a region that this thread began; inner ones are part of it
  Body body = nullptr;
  void* data = nullptr;
  double fork = 0, own_begin = 0;  // [s]
  std::array<ThreadTime, kMostThreads> threads;
  RegionSums sums;
  int widest = 1;
};

Watch& TheWatch() {
  static Watch watch;
  return watch;
}

template <class Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

ThreadTime& Own() {
  return TheWatch().threads.at(static_cast<std::size_t>(omp_get_thread_num()) % kMostThreads);
}

void RunWatched(void*) {
  auto& watch = TheWatch();
  auto& own = Own();
  own = {};
  const double begin = WallSeconds();
  watch.body(watch.data);
  own.seconds = WallSeconds() - begin;
}

bool Begins() {
  auto& watch = TheWatch();
  return watch.on.load(std::memory_order_relaxed) && !watch.inside && omp_get_level() == 0;
}

void Enter(Body body, void* data) {
  auto& watch = TheWatch();
  watch.inside = true;
  watch.body = body;
  watch.data = data;
  watch.fork = WallSeconds();
}

void Leave(int team) {
  auto& watch = TheWatch();
  watch.sums.seconds += WallSeconds() - watch.fork;
  watch.sums.regions += 1;
  double longest = 0;
  for (int i = 0; i < std::min<int>(team, kMostThreads); ++i) {
    const auto& one = watch.threads.at(static_cast<std::size_t>(i));
    longest = std::max(longest, one.seconds);
    watch.sums.busy_seconds += one.seconds - one.waited;
  }
  watch.sums.longest_seconds += longest;
  watch.widest = std::max(watch.widest, team);
  watch.inside = false;
}

[[maybe_unused]] const bool libgomp_regions_registered =
    RegisterRegionSource({"libgomp's entry points",
                          [] {
                            auto& watch = TheWatch();
                            watch.sums = {};
                            watch.widest = 1;
                            watch.on = true;
                          },
                          [](int& widest) {
                            auto& watch = TheWatch();
                            watch.on = false;
                            widest = watch.widest;
                            return watch.sums;
                          }});

}  // namespace
}  // namespace dlroof

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): libgomp's names

void GOMP_parallel_start(dlroof::Body body, void* data, unsigned threads) {
  static const auto real =
      dlroof::Real<void (*)(dlroof::Body, void*, unsigned)>("GOMP_parallel_start");
  if (!dlroof::Begins()) return real(body, data, threads);
  dlroof::Enter(body, data);
  real(dlroof::RunWatched, nullptr, threads);
  dlroof::Own() = {};
  dlroof::TheWatch().own_begin = dlroof::WallSeconds();  // the caller runs the body itself
}

void GOMP_parallel_end() {
  static const auto real = dlroof::Real<void (*)()>("GOMP_parallel_end");
  auto& watch = dlroof::TheWatch();
  const bool ours = watch.inside && omp_get_thread_num() == 0 && omp_get_level() == 1;
  if (!ours) return real();
  dlroof::Own().seconds = dlroof::WallSeconds() - watch.own_begin;
  const int team = omp_get_num_threads();
  real();
  dlroof::Leave(team);
}

void GOMP_parallel(dlroof::Body body, void* data, unsigned threads, unsigned flags) {
  static const auto real =
      dlroof::Real<void (*)(dlroof::Body, void*, unsigned, unsigned)>("GOMP_parallel");
  if (!dlroof::Begins()) return real(body, data, threads, flags);
  dlroof::Enter(body, data);
  int team = 1;
  struct Both {
    dlroof::Body body;
    void* data;
    int* team;
  } both{body, data, &team};
  dlroof::TheWatch().data = &both;
  dlroof::TheWatch().body = [](void* given) {
    const auto* wanted = static_cast<Both*>(given);
    if (omp_get_thread_num() == 0) *wanted->team = omp_get_num_threads();
    wanted->body(wanted->data);
  };
  real(dlroof::RunWatched, nullptr, threads, flags);
  dlroof::Leave(team);
}

void GOMP_barrier() {
  static const auto real = dlroof::Real<void (*)()>("GOMP_barrier");
  if (!dlroof::TheWatch().inside) return real();
  const double begin = dlroof::WallSeconds();
  real();
  dlroof::Own().waited += dlroof::WallSeconds() - begin;
}

// NOLINTEND(readability-identifier-naming)
}
