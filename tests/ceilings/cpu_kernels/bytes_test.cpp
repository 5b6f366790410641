#include "ceilings/cpu_kernels/bytes.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "ceilings/cpu_kernels/flops.h"
#include "counters/base/keys.h"
#include "counters/cpu/cpu.h"
#include "tests/fakes/broken_cpu_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

using testing::ElementsAre, testing::HasSubstr;

std::vector<const BytesIsa*> IsasHere() { return BytesIsasFor(cpu::ThisCpu().features); }

std::vector<std::string> NamesFor(const std::set<std::string>& features) {
  return VectorOf<std::string>(BytesIsasFor(features), &BytesIsa::name);
}

std::vector<std::string> NamesOf(const BytesIsa& isa, Level level) {
  return VectorOf<std::string>(MixesFor(isa, level), &Mix::name);
}

// `steps` steps of as many arrays as the mix has: -7 everywhere, 1 2 3 ..., 0.5 everywhere.
struct Arrays {
  Workspace workspace;
  Pages pages;

  Arrays(const BytesIsa& isa, const Mix& mix, std::size_t steps) {
    const int streams = mix.OfStreams().arrays;
    const double bytes = static_cast<double>(steps * isa.step_floats * sizeof(float)) * streams;
    pages = Pages(MemoryBytes(bytes));
    PlaceArrays(pages.begin(), bytes, streams, isa.step_floats, workspace);
    for (std::size_t i = 0; i < workspace.floats; ++i) {
      workspace.arrays[0][i] = -7;
      if (streams > 1) workspace.arrays[1][i] = static_cast<float>(i + 1);
      if (streams > 2) workspace.arrays[2][i] = 0.5F;
    }
  }
};

// Worked by hand: what each mix leaves of -7, i + 1 and 0.5.
float Expected(const BytesIsa& isa, const Mix& mix, std::size_t i) {
  switch (mix.operation) {
    case BytesOperation::kLoad:
      return -7;
    case BytesOperation::kStore:
      return 2 + static_cast<float>(i % isa.vector_floats) / 16;
    case BytesOperation::kCopy:
      return static_cast<float>(i + 1);
    case BytesOperation::kTriad:
      return static_cast<float>(i + 1) + 1.5F;
    case BytesOperation::kUpdate:
      // 7, the lowest bits flipped as well: 7 is 0x40e00000.
      return std::bit_cast<float>(0x40e00001U + static_cast<std::uint32_t>(i % isa.vector_floats));
  }
  return 0;
}

// Exactly the elements of the steps that were asked for are written: the counted bytes are right.
TEST(BytesKernels, WriteWhatTheyCountAndNoMore) {
  for (const auto* isa : IsasHere())
    for (const auto& mix : MixesFor(*isa, Level::kDram)) {
      Arrays arrays(*isa, mix, 5);
      mix.kernel(arrays.workspace, 3);
      for (std::size_t i = 0; i < arrays.workspace.floats; ++i)
        ASSERT_EQ(arrays.workspace.arrays[0][i],
                  i < 3 * isa->step_floats ? Expected(*isa, mix, i) : -7)
            << isa->name << ' ' << mix.name << ' ' << i;
    }
}

// sum = sum / 2 + element, all elements 1 and all sums 0 at first: after n multiply-adds a sum is
// 2 - 2^(1-n), so 2 - sum tells n, and all sums together the number of multiply-adds. Rows with few
// enough of them per step only: beyond 20 the sums are too close to 2.
TEST(RidgeKernels, DoTheMultiplyAddsThatTheyCountAndRiseInIntensity) {
  for (const auto* isa : IsasHere())
    for (const auto& row : isa->ridge) {
      const auto counted = isa->step_floats * static_cast<std::size_t>(row.multiply_adds) /
                           static_cast<std::size_t>(row.loads);
      const Mix load = MixesFor(*isa, Level::kL1).front();
      Arrays arrays(*isa, load, 2);
      auto& workspace = arrays.workspace;
      std::fill_n(workspace.arrays[0], workspace.floats, 1.0F);
      workspace.accumulators.fill(std::byte{0});
      row.kernel(workspace, 1);
      EXPECT_EQ(workspace.next, isa->step_floats);
      if (counted > 20 * 12 * isa->vector_floats) continue;
      const auto* sums = reinterpret_cast<const float*>(workspace.accumulators.data());
      double done = 0;
      for (std::size_t i = 0; i < workspace.accumulators.size() / sizeof(float); ++i)
        if (sums[i] != 0) done += 1 - std::log2(2 - static_cast<double>(sums[i]));
      EXPECT_NEAR(done, static_cast<double>(counted), 1e-3) << isa->name << ' ' << row.Intensity();
    }
  EXPECT_EQ((RidgeRow{1, 8, nullptr}.Intensity()), 4);      // 16 flop on 4 byte
  EXPECT_EQ((RidgeRow{4, 1, nullptr}.Intensity()), 0.125);  // 2 flop on 16 byte
  for (const auto* isa : IsasHere())
    for (std::size_t i = 1; i < isa->ridge.size(); ++i)
      EXPECT_GT(isa->ridge[i].Intensity(), isa->ridge[i - 1].Intensity());
}

TEST(BytesIsasFor, AreTheOnesThatTheFeaturesAllowAndMixesAddNonTemporalStores) {
  EXPECT_THAT(NamesFor({}), ElementsAre("sse2"));
  EXPECT_THAT(NamesFor({"sse2", "avx2"}), ElementsAre("sse2"));  // triad needs FMA
  EXPECT_THAT(NamesFor({"sse2", "avx2", "fma"}), ElementsAre("avx2", "sse2"));
  EXPECT_THAT(NamesFor({"sse2", "avx2", "fma", "avx512f"}), ElementsAre("avx512", "avx2", "sse2"));
  EXPECT_THAT(NamesOf(BytesSse2(), Level::kL2),
              ElementsAre("load", "store", "copy", "triad", "update"));
  EXPECT_THAT(
      NamesOf(BytesSse2(), Level::kDram),
      ElementsAre("load", "store", "copy", "triad", "update", "store-nt", "copy-nt", "triad-nt"));
}

// McCalpin, STREAM: with write-allocate a copy moves 3 lines for the 2 it names, a triad 4 for 3.
TEST(TrafficText, KeepsNamedAndMovedBytesApart) {
  const Mix copy{"copy", BytesOperation::kCopy, false, nullptr};
  const Mix streaming{"copy-nt", BytesOperation::kCopy, true, nullptr};
  const auto text = [](BytesOperation operation, Level level) {
    return TrafficText({"", operation, false, nullptr}, level);
  };
  EXPECT_EQ(TrafficText(copy, Level::kDram),
            "2 streams named, 3 moved with write-allocate (modelled)");
  EXPECT_EQ(TrafficText(copy, Level::kL1), "");
  EXPECT_EQ(TrafficText(streaming, Level::kDram), "2 streams named and moved (modelled)");
  EXPECT_EQ(text(BytesOperation::kStore, Level::kL2),
            "1 stream named, 2 moved with write-allocate (modelled)");
  EXPECT_THAT(text(BytesOperation::kTriad, Level::kL3), HasSubstr("3 streams named, 4 moved"));
  EXPECT_THAT(text(BytesOperation::kUpdate, Level::kL3), HasSubstr("2 streams named and moved"));
  EXPECT_EQ(MovedPerNamed(copy, Level::kDram), 1.5);
  EXPECT_EQ(MovedPerNamed(copy, Level::kL1), std::nullopt);
  EXPECT_EQ(MovedPerNamed(streaming, Level::kDram), 1);
}

TEST(PlaceArrays, KeepsArraysApartAlignedAndInsideTheMemory) {
  for (const std::size_t step : {64, 256})
    for (const int streams : {1, 2, 3})
      for (const double bytes : {1.0, 10e3, 1e6 + 1}) {
        const Pages pages(MemoryBytes(bytes));
        Workspace workspace;
        PlaceArrays(pages.begin(), bytes, streams, step, workspace);
        EXPECT_EQ(workspace.floats % step, 0);
        EXPECT_GE(workspace.floats, step);
        const auto* end = reinterpret_cast<const float*>(pages.begin());
        for (int i = 0; i < streams; ++i) {
          const auto* array = workspace.arrays[i];
          EXPECT_GE(array, end);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array) % 4096, 256 * i);
          end = array + workspace.floats;
        }
        EXPECT_LE(reinterpret_cast<const char*>(end), pages.begin() + pages.size());
      }
}

TEST(Pages, AreFilledWithNumbersThatAreNeitherZeroNorDenormal) {
  const Pages pages(10000);
  const auto* floats = reinterpret_cast<const float*>(pages.begin());
  EXPECT_TRUE(std::all_of(floats, floats + 2500, [](float x) { return x > 0.7F && x < 0.8F; }));
}

const BytesIsa& Widest() {
  static const BytesIsa& widest = *BytesIsasFor(cpu::ThisCpu().features).front();
  return widest;
}

using Broken = fakes::BrokenBytes<Widest>;

// The mix with another kernel in its place, as a compiler or a mistake would have left it.
Mix Planted(BytesOperation operation, Kernel kernel) {
  return {"planted", operation, false, kernel};
}

// A kernel in a mix's place is found, for this reason.
void ExpectFound(BytesOperation operation, Kernel kernel, const char* text) {
  const auto validation = ValidateBytesKernel(Planted(operation, kernel), Widest());
  EXPECT_FALSE(validation.passed);
  EXPECT_THAT(validation.text, HasSubstr(text));
}

TEST(ValidateBytesKernel, PassesEveryKernelOfThisCpuAndCatchesMemcpyADeadSumAndHalfTheWidth) {
  for (const auto* isa : BytesIsasFor(cpu::ThisCpu().features))
    for (const auto& mix : MixesFor(*isa, Level::kDram)) {
      const auto validation = ValidateBytesKernel(mix, *isa);
      EXPECT_TRUE(validation.passed) << isa->name << ' ' << mix.name << ": " << validation.text;
      EXPECT_NE(validation.text, "");
    }
  ExpectFound(BytesOperation::kCopy, Broken::CopyByMemcpy, "memcpy");
  ExpectFound(BytesOperation::kLoad, Broken::LoadNothing, "has not loaded every vector");
  ExpectFound(BytesOperation::kStore, Widest().update, "differ from those of a plain loop");
  constexpr auto kCopy = BytesOperation::kCopy, kUpdate = BytesOperation::kUpdate;
  ExpectFound(kCopy, Broken::HalfWidth<kCopy>, "another width");
  ExpectFound(kUpdate, Broken::HalfWidth<kUpdate>, "another width");
  ExpectFound(BytesOperation::kLoad, Broken::HalfWidth<BytesOperation::kLoad>,
              "has not loaded every vector");
}

bool FreshPageIsResident() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  unsigned char resident = 0;
  if (page == MAP_FAILED || mincore(page, bytes, &resident) != 0) return false;
  munmap(page, bytes);
  return (resident & 1) != 0;
}

// Where all pages are resident at once no page tells who touched it.
TEST(ValidateBytesKernel, CatchesADeadSumWherePagesTellNothing) {
  if (mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "pages cannot be locked: " << std::strerror(errno);
  const auto dead =
      ValidateBytesKernel(Planted(BytesOperation::kLoad, Broken::LoadNothing), Widest());
  const auto sound = ValidateBytesKernel(Planted(BytesOperation::kLoad, Widest().load), Widest());
  const bool locked = FreshPageIsResident();
  munlockall();
  if (!locked)
    GTEST_SKIP() << "mlockall locks nothing here (sanitizers put their own in its place)";
  EXPECT_FALSE(dead.passed);
  EXPECT_THAT(dead.text, HasSubstr("has not loaded every vector"));
  EXPECT_TRUE(sound.passed) << sound.text;
  EXPECT_THAT(sound.text, HasSubstr("does not report which pages"));
}

// Every second vector alone, or one of them twice: the pages, and what is walked, are the same.
template <std::size_t kEvery, std::size_t kTimes>
void LoadSome(Workspace& workspace, std::int64_t iterations) {
  const auto width = Widest().vector_floats;
  std::vector<std::uint32_t> folds(kFolds * width);
  for (; iterations > 0; --iterations) {
    for (std::size_t i = 0; i < Widest().step_floats; ++i)
      for (std::size_t times = i / width == 3 ? kTimes : 1; times > 0; --times)
        if (i / width % kEvery == 0)
          folds[i % folds.size()] ^=
              std::bit_cast<std::uint32_t>(workspace.arrays[0][workspace.next + i]);
    Broken::Advance(workspace, 1);
  }
  std::memcpy(workspace.folds.data(), folds.data(), folds.size() * sizeof(folds[0]));
}

TEST(ValidateBytesKernel, CatchesALoadOfHalfTheVectorsAndCatchesAWalkThroughHalfOfTheArray) {
  ExpectFound(BytesOperation::kLoad, LoadSome<2, 1>, "has not loaded every vector");
  ExpectFound(BytesOperation::kLoad, LoadSome<1, 2>, "has not loaded every vector");
  const auto whole = ValidateBytesKernel(Planted(BytesOperation::kLoad, LoadSome<1, 1>), Widest());
  EXPECT_TRUE(whole.passed) << whole.text;
  // Trap: the walk begins again in the middle, so that the set is half of what is counted.
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    const auto floats = workspace.floats;
    for (; iterations > 0; --iterations) {
      workspace.floats = floats / 2;
      Widest().store(workspace, 1);
    }
    workspace.floats = floats;
  };
  ExpectFound(BytesOperation::kStore, kernel, "differ from those of a plain loop");
}

// Pages are the only look at what is loaded beside the arrays.
TEST(ValidateBytesKernel, CatchesAKernelThatTouchesMore) {
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    const volatile float* end = workspace.arrays[0] + workspace.floats;
    static_cast<void>(*end);
    Widest().load(workspace, iterations);
  };
  const auto sound = ValidateBytesKernel(Planted(BytesOperation::kLoad, Widest().load), Widest());
  if (sound.text.find("does not report") != std::string::npos) GTEST_SKIP() << sound.text;
  ExpectFound(BytesOperation::kLoad, kernel, "accessed 5 pages, and its bytes are on 4 pages");
}

// Half of each vector is left out, or a fill of one element by a library takes its place.
TEST(ValidateBytesKernel, CatchesAStoreOfLessThanTheVector) {
  const auto half = [](Workspace& workspace, std::int64_t iterations) {
    for (; iterations > 0; --iterations) {
      for (std::size_t i = 0; i < Widest().step_floats; ++i)
        if (i % Widest().vector_floats < Widest().vector_floats / 2)
          workspace.arrays[0][workspace.next + i] = kStoredVector[i % Widest().vector_floats];
      Broken::Advance(workspace, 1);
    }
  };
  const auto filled = [](Workspace& workspace, std::int64_t iterations) {
    for (; iterations > 0; --iterations) {
      std::fill_n(workspace.arrays[0] + workspace.next, Widest().step_floats, kStoredVector[0]);
      Broken::Advance(workspace, 1);
    }
  };
  for (const Kernel kernel : {Kernel(half), Kernel(filled)})
    ExpectFound(BytesOperation::kStore, kernel, "differ from those of a plain loop");
}

// A core that executes the chain's 3 cycles per multiplication at 1 GHz, or the kernel's cycles if
// these are more.
std::vector<ClockTrial> Trials(double kernel_cycles, double delay = 1) {
  std::vector<ClockTrial> trials;
  for (const int multiplications : {3, 4, 6, 12})
    trials.push_back(
        {multiplications, 1e-9 * std::max(kernel_cycles, 3 * multiplications * delay)});
  return trials;
}

TEST(ChooseClock, TakesTheShortestChainThatIsLongerThanTheKernelAndNotDelayed) {
  EXPECT_EQ(ChooseClock(8e-9, Trials(8), false), 0);    // 9 cycles
  EXPECT_EQ(ChooseClock(9e-9, Trials(9), false), 1);    // 9 is not longer than 9
  EXPECT_EQ(ChooseClock(16e-9, Trials(16), false), 2);  // 18
  EXPECT_EQ(ChooseClock(40e-9, Trials(40), false), std::nullopt);
  EXPECT_EQ(ChooseClock(8e-9, {}, false), std::nullopt);
  // The kernel delays the two shortest chains by a third: they would show a clock that is too low.
  auto trials = Trials(8);
  trials[0].seconds *= 1.33;
  trials[1].seconds *= 1.33;
  EXPECT_EQ(ChooseClock(8e-9, trials, false), 0);
  EXPECT_EQ(ChooseClock(8e-9, trials, true), 2);
  EXPECT_EQ(ChooseClock(30e-9, Trials(30), true), std::nullopt);  // only the longest is longer
  EXPECT_EQ(ChooseClock(30e-9, Trials(30), false), 3);
}

TEST(FindLoadClock, HasNoClockWithoutClockKernels) {
  const FlopsProbe without{.key = "fp32.vector.sse2", .kernel = nullptr};
  EXPECT_FALSE(FindLoadClock(without, [](Kernel, std::int64_t) -> double {
    ADD_FAILURE() << "nothing to run";
    return 1;
  }));
}

void First(Workspace&, std::int64_t) {}
void Second(Workspace& workspace, std::int64_t) { ++workspace.next; }
void Third(Workspace& workspace, std::int64_t) { ++workspace.floats; }

// The kernel needs 10 ns, its clocks 9 ns (of 3 multiplications, bound by the kernel) and 18 ns.
TEST(FindLoadClock, TimesTheKernelAndItsClocks) {
  const FlopsProbe probe{
      .key = "k", .vector_bytes = 64, .kernel = First, .clocks = {{3, Second}, {6, Third}}};
  const auto found = FindLoadClock(probe, [](Kernel kernel, std::int64_t iterations) {
    return 1e-9 * static_cast<double>(iterations) * (kernel == Third ? 18 : 10);
  });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->clock.multiplications, 6);
  EXPECT_EQ(found->iterations, 4444);  // 80 us
}

TEST(Clocks, OfEachKernelDoItsWorkAndHaveRisingChains) {
  const auto workspace = std::make_unique<Workspace>();
  int clocks = 0;
  for (auto probe : FlopsProbesFor(cpu::ThisCpu().features))
    for (const auto& clock : std::vector(probe.clocks)) {
      probe.kernel = clock.kernel;
      const auto validation = ValidateFlopsKernel(probe, *workspace);
      EXPECT_TRUE(validation.passed) << probe.key << ": " << validation.text;
      ++clocks;
    }
  EXPECT_GT(clocks, 20);
  for (const auto& probe : AllFlopsProbes())
    for (std::size_t i = 1; i < probe.clocks.size(); ++i)
      EXPECT_GT(probe.clocks[i].multiplications, probe.clocks[i - 1].multiplications) << probe.key;
}

}  // namespace
}  // namespace dlroof::cpu_kernels
