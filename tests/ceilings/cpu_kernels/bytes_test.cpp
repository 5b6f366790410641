#include "ceilings/cpu_kernels/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "counters/cpu/cpu.h"

namespace dlroof::cpu_kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<const BytesIsa*> IsasHere() { return BytesIsasFor(cpu::ThisCpu().features); }

std::vector<std::string> NamesFor(const std::set<std::string>& features) {
  std::vector<std::string> names;
  for (const auto* isa : BytesIsasFor(features)) names.emplace_back(isa->name);
  return names;
}

std::vector<std::string> NamesOf(const BytesIsa& isa, Level level) {
  std::vector<std::string> names;
  for (const auto& mix : MixesFor(isa, level)) names.emplace_back(mix.name);
  return names;
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
TEST(RidgeKernels, DoTheMultiplyAddsThatTheyCount) {
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
}

TEST(RidgeKernels, RiseInIntensity) {
  EXPECT_EQ((RidgeRow{1, 8, nullptr}.Intensity()), 4);      // 16 flop on 4 byte
  EXPECT_EQ((RidgeRow{4, 1, nullptr}.Intensity()), 0.125);  // 2 flop on 16 byte
  for (const auto* isa : IsasHere())
    for (std::size_t i = 1; i < isa->ridge.size(); ++i)
      EXPECT_GT(isa->ridge[i].Intensity(), isa->ridge[i - 1].Intensity());
}

TEST(BytesIsasFor, AreTheOnesThatTheFeaturesAllowTheWidestFirst) {
  EXPECT_THAT(NamesFor({}), ElementsAre("sse2"));
  EXPECT_THAT(NamesFor({"sse2", "avx2"}), ElementsAre("sse2"));  // triad needs FMA
  EXPECT_THAT(NamesFor({"sse2", "avx2", "fma"}), ElementsAre("avx2", "sse2"));
  EXPECT_THAT(NamesFor({"sse2", "avx2", "fma", "avx512f"}), ElementsAre("avx512", "avx2", "sse2"));
}

TEST(MixesFor, AddNonTemporalStoresBeyondL2) {
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

}  // namespace
}  // namespace dlroof::cpu_kernels
