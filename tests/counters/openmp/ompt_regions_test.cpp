// Regions that begin at LLVM's own entry point, as code of clang does: only OMPT shows them. The
// test programs have no libomp, so it is loaded here, beside libgomp.
#include "counters/openmp/ompt_regions.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "counters/base/folders.h"
#include "counters/cpu/clocks.h"
#include "counters/parallel_time.h"

namespace dlroof {
namespace {

using testing::StartsWith;

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

[[maybe_unused]] const bool expected_by_ompt_tests = ExpectRegions();

Place place;

void StayBusy(double seconds) {
  for (const double begin = WallSeconds(); WallSeconds() - begin < seconds;) {
  }
}

void WorkUnevenly(std::int32_t*, std::int32_t* number, ...) {
  StayBusy(*number == 0 ? 4e-3 : 1e-3);
}
void WorkAndWait(std::int32_t* global, std::int32_t* number, ...) {
  StayBusy(*number == 0 ? 20e-3 : 1e-3);
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

TEST(OmptRegions, OnlyKnownRuntimesAreWatched) {
  EXPECT_TRUE(IsWatchedRuntime("LLVM OMP version: 5.0.20140926"));
  EXPECT_TRUE(IsWatchedRuntime("Intel(R) OMP version: 5.0.20230622"));
  EXPECT_FALSE(IsWatchedRuntime("NVHPC OpenMP 24.1"));
  EXPECT_FALSE(IsWatchedRuntime(""));
}

TEST(OmptRegions, ThoseOfTheRuntimesOwnEntryPoint) {
  const auto fork = TheLibomp().fork;
  if (fork == nullptr) GTEST_SKIP() << "libomp.so.5 is not installed (apt-get install libomp5)";
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

TEST(OmptRegions, NeitherItsBarriersNorItsEndAreBusy) {
  const auto& libomp = TheLibomp();
  if (libomp.fork == nullptr)
    GTEST_SKIP() << "libomp.so.5 is not installed (apt-get install libomp5)";
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
TEST(OmptRegions, ThoseOfAClangCompiledLibrary) {
  if (TheLibomp().fork == nullptr)
    GTEST_SKIP() << "libomp.so.5 is not installed (apt-get install libomp5)";
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
}  // namespace dlroof
