#include "ceilings/cpu_kernels/bytes_proof.h"

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

#include "counters/cpu/cpu.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

const BytesIsa& Widest() {
  static const BytesIsa& widest = *BytesIsasFor(ThisCpu().features).front();
  return widest;
}

// The mix with another kernel in its place, as a compiler or a mistake would have left it.
Mix Planted(BytesOperation operation, Kernel kernel) {
  return {"planted", operation, false, kernel};
}

void Advance(Workspace& workspace, std::size_t floats, std::int64_t iterations) {
  workspace.next =
      (workspace.next + floats * static_cast<std::size_t>(iterations)) % workspace.floats;
}

TEST(ProveBytesKernel, PassesEveryKernelOfThisCpu) {
  auto isas = BytesIsasFor(ThisCpu().features);
  isas.push_back(&BytesPortable());
  for (const auto* isa : isas)
    for (const auto& mix : MixesFor(*isa, Level::kDram)) {
      const auto proof = ProveBytesKernel(mix, *isa);
      EXPECT_TRUE(proof.passed) << isa->name << ' ' << mix.name << ": " << proof.text;
      EXPECT_NE(proof.text, "");
    }
}

// Trap: gcc turns the loop into a call of memcpy, which uses other stores than were asked for.
TEST(ProveBytesKernel, CatchesALoopTurnedIntoMemcpy) {
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    const auto step = Widest().step_floats;
    for (; iterations > 0; --iterations) {
      // memmove is what glibc's memcpy is, and defined where the arrays overlap.
      std::memmove(workspace.arrays[0] + workspace.next, workspace.arrays[1] + workspace.next,
                   step * sizeof(float));
      Advance(workspace, step, 1);
    }
  };
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kCopy, kernel), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("memcpy"));
}

void LoadNothing(Workspace& workspace, std::int64_t iterations) {
  Advance(workspace, Widest().step_floats, iterations);
}

// Trap: a sum that nobody uses is deleted with its loads; the walk remains.
TEST(ProveBytesKernel, CatchesADeadSum) {
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kLoad, LoadNothing), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("has not loaded every vector"));
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
TEST(ProveBytesKernel, CatchesADeadSumWherePagesTellNothing) {
  if (mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "pages cannot be locked: " << std::strerror(errno);
  const auto dead = ProveBytesKernel(Planted(BytesOperation::kLoad, LoadNothing), Widest());
  const auto sound = ProveBytesKernel(Planted(BytesOperation::kLoad, Widest().load), Widest());
  const bool locked = FreshPageIsResident();
  munlockall();
  if (!locked)
    GTEST_SKIP() << "mlockall locks nothing here (sanitizers put their own in its place)";
  EXPECT_FALSE(dead.passed);
  EXPECT_THAT(dead.text, HasSubstr("has not loaded every vector"));
  EXPECT_TRUE(sound.passed) << sound.text;
  EXPECT_THAT(sound.text, HasSubstr("does not tell which pages"));
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
    Advance(workspace, Widest().step_floats, 1);
  }
  std::memcpy(workspace.folds.data(), folds.data(), folds.size() * sizeof(folds[0]));
}

TEST(ProveBytesKernel, CatchesALoadOfHalfTheVectors) {
  const auto proved = [](Kernel kernel) {
    return ProveBytesKernel(Planted(BytesOperation::kLoad, kernel), Widest());
  };
  EXPECT_THAT(proved(LoadSome<2, 1>).text, HasSubstr("has not loaded every vector"));
  EXPECT_THAT(proved(LoadSome<1, 2>).text, HasSubstr("has not loaded every vector"));
  EXPECT_TRUE(proved(LoadSome<1, 1>).passed) << proved(LoadSome<1, 1>).text;
}

// Trap: the walk begins again in the middle, so that the set is half of what is counted.
TEST(ProveBytesKernel, CatchesAWalkThroughHalfOfTheArray) {
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    const auto floats = workspace.floats;
    for (; iterations > 0; --iterations) {
      workspace.floats = floats / 2;
      Widest().store(workspace, 1);
    }
    workspace.floats = floats;
  };
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kStore, kernel), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("differ from those of a plain loop"));
}

// Pages are the only look at what is loaded beside the arrays.
TEST(ProveBytesKernel, CatchesAKernelThatTouchesMore) {
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    const volatile float* end = workspace.arrays[0] + workspace.floats;
    static_cast<void>(*end);
    Widest().load(workspace, iterations);
  };
  const auto sound = ProveBytesKernel(Planted(BytesOperation::kLoad, Widest().load), Widest());
  if (sound.text.find("does not tell") != std::string::npos) GTEST_SKIP() << sound.text;
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kLoad, kernel), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("touched 5 pages where its bytes are 4 pages"));
}

// Trap: the compiler prefers vectors of half the width.
template <BytesOperation kOperation>
void HalfWidth(Workspace& workspace, std::int64_t iterations) {
  constexpr std::size_t kMost = 32;
  const auto step = Widest().step_floats;
  const auto half = Widest().vector_floats / 2;
  const auto* from = workspace.arrays[kOperation == BytesOperation::kLoad ? 0 : 1];
  std::uint32_t folds[kFolds * kMost] = {};
  for (; iterations > 0; --iterations) {
    for (std::size_t i = 0; i < step; i += half) {
      std::uint32_t vector[kMost];
      const auto at = workspace.next + i;
      std::memcpy(vector, from + at, half * sizeof(float));
      // As faithful as it can be: bits as in the whole vector.
      for (std::size_t j = 0; kOperation == BytesOperation::kUpdate && j < half; ++j)
        vector[j] ^= kFlippedBits[(i + j) % (2 * half)];
      for (std::size_t j = 0; j < half; ++j) folds[i / half % kFolds * half + j] ^= vector[j];
      if (kOperation != BytesOperation::kLoad)
        std::memcpy(workspace.arrays[0] + at, vector, half * sizeof(float));
    }
    Advance(workspace, step, 1);
  }
  std::memcpy(workspace.folds.data(), folds, kFolds * half * sizeof(folds[0]));
}

TEST(ProveBytesKernel, CatchesVectorsOfHalfTheWidth) {
  const auto text = [](BytesOperation operation, Kernel kernel) {
    const auto proof = ProveBytesKernel(Planted(operation, kernel), Widest());
    return proof.passed ? "passed: " + proof.text : proof.text;
  };
  EXPECT_THAT(text(BytesOperation::kCopy, HalfWidth<BytesOperation::kCopy>),
              HasSubstr("another width"));
  EXPECT_THAT(text(BytesOperation::kUpdate, HalfWidth<BytesOperation::kUpdate>),
              HasSubstr("another width"));
  EXPECT_THAT(text(BytesOperation::kLoad, HalfWidth<BytesOperation::kLoad>),
              HasSubstr("has not loaded every vector"));
}

// Half of each vector is left out, or a fill of one element by a library takes its place.
TEST(ProveBytesKernel, CatchesAStoreOfLessThanTheVector) {
  const auto half = [](Workspace& workspace, std::int64_t iterations) {
    for (; iterations > 0; --iterations) {
      for (std::size_t i = 0; i < Widest().step_floats; ++i)
        if (i % Widest().vector_floats < Widest().vector_floats / 2)
          workspace.arrays[0][workspace.next + i] = kStoredVector[i % Widest().vector_floats];
      Advance(workspace, Widest().step_floats, 1);
    }
  };
  const auto filled = [](Workspace& workspace, std::int64_t iterations) {
    for (; iterations > 0; --iterations) {
      std::fill_n(workspace.arrays[0] + workspace.next, Widest().step_floats, kStoredVector[0]);
      Advance(workspace, Widest().step_floats, 1);
    }
  };
  for (const Kernel kernel : {Kernel(half), Kernel(filled)}) {
    const auto proof = ProveBytesKernel(Planted(BytesOperation::kStore, kernel), Widest());
    EXPECT_FALSE(proof.passed);
    EXPECT_THAT(proof.text, HasSubstr("differ from those of a plain loop"));
  }
}

TEST(ProveBytesKernel, CatchesAnotherOperation) {
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kStore, Widest().update), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("differ from those of a plain loop"));
}

}  // namespace
}  // namespace dlroof
