// Regions that begin at libgomp's entry points, as oneDNN's and this program's do, are seen
// whichever runtime has them: ctest runs the tests EntryPointRegions under libgomp, and under
// libomp where it is. Regions that begin at LLVM's own entry point, as code of clang does, only
// OMPT shows.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>

#include "counters/base/files.h"
#include "counters/base/parallel_time.h"
#include "counters/cpu/clocks.h"
#include "counters/openmp/region_clock.h"

extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_parallel_start(void (*body)(void*), void* data, unsigned threads);
void GOMP_parallel_end();
void GOMP_barrier();
}

namespace dlroof::openmp {
namespace {

using testing::StartsWith;

[[maybe_unused]] const bool expected_by_these_tests = ExpectRegions();

void Spin(double seconds) {
  for (const double begin = cpu::WallSeconds(); cpu::WallSeconds() - begin < seconds;) {
  }
}

// The first thread to come works `longer`, the others 1 ms.
struct Work {
  double longer;
  bool barrier = false;
  std::atomic<int> came{0};
};
void WorkOne(void* data) {
  auto& work = *static_cast<Work*>(data);
  Spin(work.came.fetch_add(1) == 0 ? work.longer : 1e-3);
  if (work.barrier) GOMP_barrier();
}

void Region(double longer, bool barrier = false) {
  Work work{longer, barrier};
  GOMP_parallel(WorkOne, &work, 2, 0);
}

// As compilers up to GCC 4.8, and so oneDNN's, write a region.
void OldRegion(double longer) {
  Work work{longer};
  GOMP_parallel_start(WorkOne, &work, 2);
  WorkOne(&work);
  GOMP_parallel_end();
}

template <class Call>
RegionWatch::Watched Watch(const Call& call) {
  Region(1e-5);  // the runtime begins
  RegionWatch watch(AllRegionSources());
  watch.Begin();
  call();
  const auto watched = watch.End();
  EXPECT_TRUE(watched) << NoRegionsReason(AllRegionSources()).value_or(Reason()).text;
  return watched.value_or(RegionWatch::Watched());
}

TEST(EntryPointRegions, HowManyAndHowLongOfOldCompilersToo) {
  for (const bool old : {false, true}) {
    SCOPED_TRACE(old);
    const auto [sums, team] = Watch([&] {
                                for (int i = 0; i < 4; ++i) old ? OldRegion(3e-3) : Region(3e-3);
                              }).seen;
    EXPECT_EQ(sums.regions, 4);
    EXPECT_EQ(team, 2);
    EXPECT_GE(sums.longest_seconds, 4 * 3e-3);
    EXPECT_GE(sums.busy_seconds, 4 * 4e-3);
    EXPECT_GE(sums.seconds, sums.longest_seconds);
  }
}

TEST(EntryPointRegions, TheSourceNamesTheRuntime) {
  const auto watched = Watch([] {});
  const char* preloaded = std::getenv("LD_PRELOAD");
  if (preloaded != nullptr && std::string_view(preloaded).find("libomp") != std::string_view::npos)
    EXPECT_TRUE(watched.source.starts_with("OMPT of libomp")) << watched.source;
  else
    EXPECT_EQ(watched.source, "libgomp's entry points");
}

TEST(EntryPointRegions, WaitsAtBarriersAreNotBusy) {
  // Both threads are in the region for 20 ms, and one of them waits for 19 ms. Another program may
  // keep it from working or from waiting: one clean try of 20 is enough.
  for (int i = 0; i < 20; ++i) {
    const auto sums = Watch([] { Region(20e-3, true); }).seen.sums;
    EXPECT_GE(sums.longest_seconds, 20e-3);
    EXPECT_GE(sums.busy_seconds, 20e-3);
    if (sums.busy_seconds < 2 * sums.longest_seconds - 10e-3) return;
  }
  FAIL() << "no thread waited";
}

TEST(EntryPointRegions, InnerOnesArePartOfTheOuterOne) {
  const auto watched = Watch([] { GOMP_parallel([](void*) { Region(1e-3); }, nullptr, 2, 0); });
  EXPECT_EQ(watched.seen.sums.regions, 1);
  EXPECT_GE(watched.seen.sums.busy_seconds, 2 * 1e-3);
}

TEST(EntryPointRegions, ThoseOfAnotherThreadDoNotCount) {
  const auto watched = Watch([] { std::thread([] { Region(1e-4), OldRegion(1e-4); }).join(); });
  EXPECT_EQ(watched.seen, RegionsSeen());
}

TEST(EntryPointRegions, ATeamOfOne) {
  const auto watched = Watch([] {
    Work work{2e-3};
    GOMP_parallel(WorkOne, &work, 1, 0);
  });
  EXPECT_EQ(watched.seen.sums.regions, 1);
  EXPECT_EQ(watched.seen.widest_team, 1);
  EXPECT_GE(watched.seen.sums.busy_seconds, 2e-3);
  EXPECT_EQ(watched.seen.sums.busy_seconds, watched.seen.sums.longest_seconds);
}

TEST(EntryPointRegions, NothingThatIsNotWatched) {
  const auto watched = Watch([] {});
  EXPECT_EQ(watched.seen, RegionsSeen());
}

// The compiler's interface of LLVM's runtime (kmp.h: ident_t, kmpc_micro).
struct Place {
  std::int32_t reserved = 0, flags = 2, more[2] = {};
  const char* source = ";test;test;0;0;;";
};
using Microtask = void (*)(std::int32_t* global, std::int32_t* number, ...);
using ForkCall = void (*)(Place*, std::int32_t arguments, Microtask, ...);
using Barrier = void (*)(Place*, std::int32_t global);

struct Libomp {
  ForkCall fork = nullptr;
  Barrier barrier = nullptr;
};

// The test programs have no libomp, so it is loaded here, beside libgomp.
const Libomp& TheLibomp() {
  static const Libomp found = [] {
    Libomp libomp;
    if (void* library = dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL)) {
      libomp.fork = reinterpret_cast<ForkCall>(dlsym(library, "__kmpc_fork_call"));
      libomp.barrier = reinterpret_cast<Barrier>(dlsym(library, "__kmpc_barrier"));
    }
    return libomp;
  }();
  return found;
}

Place place;

void WorkUnevenly(std::int32_t*, std::int32_t* number, ...) { Spin(*number == 0 ? 4e-3 : 1e-3); }
void WorkAndWait(std::int32_t* global, std::int32_t* number, ...) {
  Spin(*number == 0 ? 20e-3 : 1e-3);
  TheLibomp().barrier(&place, *global);
}

template <class Call>
RegionWatch::Watched WatchTwice(const Call& call) {
  call();  // the runtime begins
  RegionWatch watch(AllRegionSources());
  watch.Begin();
  call();
  return watch.End().value_or(RegionWatch::Watched());
}

struct OmptRegions : testing::Test {
  void SetUp() override {
    if (TheLibomp().fork == nullptr)
      GTEST_SKIP() << "libomp.so.5 is not installed (apt-get install libomp5)";
  }
};

TEST(WatchedRuntimes, OnlyKnownRuntimesAreWatched) {
  EXPECT_TRUE(IsWatchedRuntime("LLVM OMP version: 5.0.20140926"));
  EXPECT_TRUE(IsWatchedRuntime("Intel(R) OMP version: 5.0.20230622"));
  EXPECT_FALSE(IsWatchedRuntime("NVHPC OpenMP 24.1"));
  EXPECT_FALSE(IsWatchedRuntime(""));
}

TEST_F(OmptRegions, ThoseOfTheRuntimesOwnEntryPoint) {
  const auto fork = TheLibomp().fork;
  const auto watched = WatchTwice([&] {
    for (int i = 0; i < 3; ++i) fork(&place, 0, WorkUnevenly);
  });
  EXPECT_THAT(watched.source, StartsWith("OMPT of libomp"));
  const auto& [sums, team] = watched.seen;
  EXPECT_EQ(sums.regions, 3);
  EXPECT_GE(team, 1);
  EXPECT_GE(sums.longest_seconds, 3 * 4e-3);
  EXPECT_GE(sums.busy_seconds, 3 * (4e-3 + (team - 1) * 1e-3));
  EXPECT_GE(sums.seconds, sums.longest_seconds);
}

TEST_F(OmptRegions, NeitherItsBarriersNorItsEndAreBusy) {
  const auto& libomp = TheLibomp();
  // All wait for the first thread's 20 ms. Another program may keep a thread from working or from
  // waiting: one clean try of 20 is enough.
  for (int i = 0; i < 20; ++i) {
    const auto seen = WatchTwice([&] { libomp.fork(&place, 0, WorkAndWait); }).seen;
    if (seen.widest_team < 2) GTEST_SKIP() << "one CPU: no thread waits for another";
    EXPECT_GE(seen.sums.longest_seconds, 20e-3);
    const int others = seen.widest_team - 1;
    if (seen.sums.busy_seconds < seen.widest_team * seen.sums.longest_seconds - others * 10e-3)
      return;
  }
  FAIL() << "no thread waited";
}

// As clang compiles it.
TEST_F(OmptRegions, ThoseOfAClangCompiledLibrary) {
  const TemporaryFolder folder;
  const auto source = folder / "regions.cpp", library = folder / "regions.so";
  std::ofstream(source) << "volatile int sum;\n"
                           "extern \"C\" void Run() {\n"
                           "#pragma omp parallel num_threads(2)\n"
                           "  {\n"
                           "#pragma omp for\n"
                           "    for (int i = 0; i < 100; ++i) sum = i;\n"
                           "#pragma omp barrier\n"
                           "  }\n"
                           "}\n";
  const auto compile = fmt::format("clang++ -fopenmp -O1 -shared -fPIC -o '{}' '{}' 2> '{}'",
                                   library, source, folder / "why");
  if (std::system(compile.c_str()) != 0) GTEST_SKIP() << "no clang++ that compiles OpenMP is here";
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr) << dlerror();
  const auto run = reinterpret_cast<void (*)()>(dlsym(loaded, "Run"));
  const auto watched = WatchTwice([&] { run(), run(); });
  EXPECT_THAT(watched.source, StartsWith("OMPT of libomp"));
  EXPECT_EQ(watched.seen.sums.regions, 2);
  EXPECT_EQ(watched.seen.widest_team, 2);
  EXPECT_GT(watched.seen.sums.busy_seconds, 0);
}

}  // namespace
}  // namespace dlroof::openmp
