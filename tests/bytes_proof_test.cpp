#include "ceilings/bytes_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "counters/cpu.h"

namespace dlroof {
namespace {

using testing::HasSubstr;

const BytesIsa& Widest() { return *BytesIsasFor(ThisCpu().features).front(); }

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

// Trap: a sum that nobody uses is deleted with its loads; the walk remains.
TEST(ProveBytesKernel, CatchesADeadSum) {
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    Advance(workspace, Widest().step_floats, iterations);
  };
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kLoad, kernel), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("touched 0 pages"));
}

// Trap: the walk begins again in the middle, so that the set is half of what is counted.
TEST(ProveBytesKernel, CatchesAWalkThroughHalfOfTheArray) {
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    const auto floats = workspace.floats;
    for (; iterations > 0; --iterations) {
      workspace.floats = floats / 2;
      Widest().load(workspace, 1);
    }
    workspace.floats = floats;
  };
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kLoad, kernel), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("touched 4 pages where its bytes are 8 pages"));
}

// Trap: the compiler prefers vectors of half the width.
TEST(ProveBytesKernel, CatchesVectorsOfHalfTheWidth) {
  const auto kernel = [](Workspace& workspace, std::int64_t iterations) {
    const auto step = Widest().step_floats;
    const auto half = Widest().vector_floats / 2;
    for (; iterations > 0; --iterations) {
      for (std::size_t i = 0; i < step; i += half) {
        float vector[32];
        const auto at = workspace.next + i;
        std::copy_n(workspace.arrays[1] + at, half, vector);
        std::copy_n(vector, half, workspace.arrays[0] + at);
      }
      Advance(workspace, step, 1);
    }
  };
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kCopy, kernel), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("another width"));
}

TEST(ProveBytesKernel, CatchesAnotherOperation) {
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kStore, Widest().update), Widest());
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("differ from those of a plain loop"));
}

// A twin that sums every second step only.
TEST(ProveBytesKernel, CatchesATwinThatSkips) {
  static const BytesIsa kSkipping = [] {
    auto isa = Widest();
    isa.sum = [](Workspace& workspace, std::int64_t iterations) {
      Widest().sum(workspace, iterations / 2);
      Advance(workspace, Widest().step_floats, iterations - iterations / 2);
    };
    return isa;
  }();
  const auto proof = ProveBytesKernel(Planted(BytesOperation::kLoad, kSkipping.load), kSkipping);
  EXPECT_FALSE(proof.passed);
  EXPECT_THAT(proof.text, HasSubstr("twin"));
}

}  // namespace
}  // namespace dlroof
