#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "counters/cpu/cpu.h"
#include "tests/fakes/broken_cpu_kernels.h"

namespace dlroof::cpu_kernels {
namespace {

using testing::HasSubstr;

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

TEST(ValidateBytesKernel, PassesEveryKernelOfThisCpu) {
  for (const auto* isa : BytesIsasFor(cpu::ThisCpu().features))
    for (const auto& mix : MixesFor(*isa, Level::kDram)) {
      const auto validation = ValidateBytesKernel(mix, *isa);
      EXPECT_TRUE(validation.passed) << isa->name << ' ' << mix.name << ": " << validation.text;
      EXPECT_NE(validation.text, "");
    }
}

TEST(ValidateBytesKernel, CatchesALoopTurnedIntoMemcpy) {
  ExpectFound(BytesOperation::kCopy, Broken::CopyByMemcpy, "memcpy");
}

TEST(ValidateBytesKernel, CatchesADeadSum) {
  ExpectFound(BytesOperation::kLoad, Broken::LoadNothing, "has not loaded every vector");
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

TEST(ValidateBytesKernel, CatchesALoadOfHalfTheVectors) {
  ExpectFound(BytesOperation::kLoad, LoadSome<2, 1>, "has not loaded every vector");
  ExpectFound(BytesOperation::kLoad, LoadSome<1, 2>, "has not loaded every vector");
  const auto whole = ValidateBytesKernel(Planted(BytesOperation::kLoad, LoadSome<1, 1>), Widest());
  EXPECT_TRUE(whole.passed) << whole.text;
}

// Trap: the walk begins again in the middle, so that the set is half of what is counted.
TEST(ValidateBytesKernel, CatchesAWalkThroughHalfOfTheArray) {
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

TEST(ValidateBytesKernel, CatchesVectorsOfHalfTheWidth) {
  constexpr auto kCopy = BytesOperation::kCopy, kUpdate = BytesOperation::kUpdate;
  ExpectFound(kCopy, Broken::HalfWidth<kCopy>, "another width");
  ExpectFound(kUpdate, Broken::HalfWidth<kUpdate>, "another width");
  ExpectFound(BytesOperation::kLoad, Broken::HalfWidth<BytesOperation::kLoad>,
              "has not loaded every vector");
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

TEST(ValidateBytesKernel, CatchesAnotherOperation) {
  ExpectFound(BytesOperation::kStore, Widest().update, "differ from those of a plain loop");
}

}  // namespace
}  // namespace dlroof::cpu_kernels
