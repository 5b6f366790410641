#include "ceilings/cpu_bytes_probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace dlroof {
namespace {

using testing::HasSubstr;

std::vector<BytesIsa> IsasHere() {
  const auto features = ThisCpu().features;
  std::vector<BytesIsa> usable;
  for (const auto& isa : {BytesSse2(), BytesAvx2(), BytesAvx512()})
    if (std::all_of(isa.needs.begin(), isa.needs.end(),
                    [&](const std::string& need) { return features.contains(need); }))
      usable.push_back(isa);
  return usable;
}

// Three arrays of `steps` steps: 1 2 3 ..., 0.5 everywhere, -7 everywhere.
struct Arrays {
  Workspace workspace;
  Pages pages;

  Arrays(const BytesIsa& isa, int streams, std::size_t steps) {
    const double bytes = static_cast<double>(steps * isa.step_floats * sizeof(float)) * streams;
    pages = Pages(MemoryBytes(bytes));
    LayArrays(pages.begin(), bytes, streams, isa.step_floats, workspace);
    for (std::size_t i = 0; i < workspace.floats; ++i) {
      workspace.arrays[0][i] = -7;
      if (streams > 1) workspace.arrays[1][i] = static_cast<float>(i + 1);
      if (streams > 2) workspace.arrays[2][i] = 0.5F;
    }
  }
};

// Exactly the elements of the steps that were asked for are written: the counted bytes are right.
TEST(BytesKernels, CopyAndTriadWriteWhatTheyCountAndNoMore) {
  for (const auto& isa : IsasHere()) {
    for (const Kernel copy : {isa.copy, isa.streaming_copy}) {
      Arrays arrays(isa, 2, 5);
      copy(arrays.workspace, 3);
      for (std::size_t i = 0; i < arrays.workspace.floats; ++i)
        ASSERT_EQ(arrays.workspace.arrays[0][i],
                  i < 3 * isa.step_floats ? static_cast<float>(i + 1) : -7)
            << isa.name << ' ' << i;
    }
    for (const Kernel triad : {isa.triad, isa.streaming_triad}) {
      Arrays arrays(isa, 3, 5);
      triad(arrays.workspace, 2);
      for (std::size_t i = 0; i < arrays.workspace.floats; ++i)
        ASSERT_EQ(arrays.workspace.arrays[0][i],
                  i < 2 * isa.step_floats ? static_cast<float>(i + 1) + 1.5F : -7)
            << isa.name << ' ' << i;
    }
  }
}

TEST(BytesKernels, GoOnWhereTheyStoppedAndBeginAgainAtTheEnd) {
  for (const auto& isa : IsasHere())
    for (const Kernel kernel : {isa.load, isa.copy, isa.streaming_copy}) {
      Arrays arrays(isa, 2, 5);
      kernel(arrays.workspace, 3);
      EXPECT_EQ(arrays.workspace.next, 3 * isa.step_floats) << isa.name;
      kernel(arrays.workspace, 4);
      EXPECT_EQ(arrays.workspace.next, 2 * isa.step_floats) << isa.name;
      kernel(arrays.workspace, 3);
      EXPECT_EQ(arrays.workspace.next, 0) << isa.name;
      kernel(arrays.workspace, 0);
      EXPECT_EQ(arrays.workspace.next, 0) << isa.name;
    }
}

TEST(WidestBytesIsa, FollowsTheFeatures) {
  EXPECT_STREQ(WidestBytesIsa({"sse2"}).name, "sse2");
  EXPECT_STREQ(WidestBytesIsa({"sse2", "avx2"}).name, "sse2");  // its triad needs FMA
  EXPECT_STREQ(WidestBytesIsa({"sse2", "avx2", "fma"}).name, "avx2");
  EXPECT_STREQ(WidestBytesIsa({"sse2", "avx2", "fma", "avx512f"}).name, "avx512");
}

TEST(MixesFor, AddNonTemporalStoresAtDramOnly) {
  EXPECT_EQ(MixesFor(BytesSse2(), Level::kL2).size(), 3);
  EXPECT_EQ(MixesFor(BytesSse2(), Level::kDram).size(), 5);
}

TEST(LayArrays, KeepsArraysApartAlignedAndInsideTheMemory) {
  for (const auto& isa : {BytesSse2(), BytesAvx512()})
    for (const int streams : {1, 2, 3})
      for (const double bytes : {1.0, 10e3, 1e6 + 1}) {
        const Pages pages(MemoryBytes(bytes));
        Workspace workspace;
        LayArrays(pages.begin(), bytes, streams, isa.step_floats, workspace);
        EXPECT_EQ(workspace.floats % isa.step_floats, 0);
        EXPECT_GE(workspace.floats, isa.step_floats);
        const auto* end = reinterpret_cast<const float*>(pages.begin());
        for (int i = 0; i < streams; ++i) {
          const auto* array = workspace.arrays[static_cast<std::size_t>(i)];
          EXPECT_GE(array, end);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array) % 64, 0);
          end = array + workspace.floats;
        }
        EXPECT_LE(reinterpret_cast<const char*>(end), pages.begin() + pages.size());
      }
}

constexpr double kKib = 1024, kMib = 1024 * 1024;

// `cpus` CPUs, a core each, with own L1 and L2 and one L3.
Topology Caches(int cpus, double l1, double l2, double l3) {
  Topology topology;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    if (l1 > 0) topology.cache_of_cpu[Level::kL1][cpu] = {cpu, l1};
    if (l2 > 0) topology.cache_of_cpu[Level::kL2][cpu] = {cpu, l2};
    if (l3 > 0) topology.cache_of_cpu[Level::kL3][cpu] = {0, l3};
  }
  return topology;
}

TEST(ChooseWorkingSets, FitTheirLevelAndNotTheNearerOne) {
  const auto topology = Caches(4, 32 * kKib, kMib, 36 * kMib);
  const auto chosen = ChooseWorkingSets(topology, {0, 1}, 1e12);
  EXPECT_EQ(chosen.sets.at(Level::kL1).bytes, 16 * kKib);
  EXPECT_EQ(chosen.sets.at(Level::kL2).bytes, 512 * kKib);
  // Two threads share L3: 18 MiB each; sqrt(1 * 18) = 4.24 MiB.
  EXPECT_NEAR(chosen.sets.at(Level::kL3).bytes / kMib, 4.243, 0.001);
  EXPECT_EQ(chosen.sets.at(Level::kDram).bytes, 4 * 36 * kMib / 2);
  EXPECT_EQ(chosen.sets.at(Level::kDram).doubt, "");
  EXPECT_TRUE(chosen.absent.empty());
}

TEST(ChooseWorkingSets, SharesTheCachesOfSiblings) {
  Topology topology;
  for (const int cpu : {0, 1}) topology.cache_of_cpu[Level::kL1][cpu] = {0, 48 * kKib};
  const auto chosen = ChooseWorkingSets(topology, {0, 1}, 1e12);
  EXPECT_EQ(chosen.sets.at(Level::kL1).bytes, 12 * kKib);
}

TEST(ChooseWorkingSets, LeavesL3OutWhereItIsNotMuchMoreThanL2) {
  const auto chosen = ChooseWorkingSets(Caches(4, 32 * kKib, kMib, 7 * kMib), {0, 1, 2, 3}, 1e12);
  EXPECT_FALSE(chosen.sets.contains(Level::kL3));
  EXPECT_THAT(chosen.absent.at(Level::kL3), HasSubstr("less than twice"));
  // One thread has all 7 MiB: at least 3 x L2, so that L2 keeps nothing.
  const auto alone = ChooseWorkingSets(Caches(4, 32 * kKib, kMib, 7 * kMib), {0}, 1e12);
  EXPECT_NEAR(alone.sets.at(Level::kL3).bytes / kMib, 3, 1e-9);
}

TEST(ChooseWorkingSets, SaysWhenMemoryIsTooSmallForDram) {
  const auto topology = Caches(2, 32 * kKib, 2 * kMib, 480 * kMib);
  const auto chosen = ChooseWorkingSets(topology, {0, 1}, 960 * kMib);
  EXPECT_EQ(chosen.sets.at(Level::kDram).bytes, 240 * kMib);
  EXPECT_THAT(chosen.sets.at(Level::kDram).doubt, HasSubstr("only 1.0 x the last-level caches"));
}

TEST(ChooseWorkingSets, CountsTheLastLevelOfEverySocketInUse) {
  Topology topology;
  for (const int cpu : {0, 1}) topology.cache_of_cpu[Level::kL3][cpu] = {cpu, 10 * kMib};
  const auto both = ChooseWorkingSets(topology, {0, 1}, 1e12);
  EXPECT_EQ(both.sets.at(Level::kDram).bytes, 40 * kMib);  // 80 MiB over two threads
  const auto one = ChooseWorkingSets(topology, {1}, 1e12);
  EXPECT_EQ(one.sets.at(Level::kDram).bytes, 40 * kMib);
}

TEST(ChooseWorkingSets, ToleratesMissingCaches) {
  const auto nothing = ChooseWorkingSets({}, {0}, std::nullopt);
  EXPECT_EQ(nothing.absent.size(), 3);
  EXPECT_EQ(nothing.sets.size(), 1);
  EXPECT_THAT(nothing.sets.at(Level::kDram).doubt, HasSubstr("no cache size is known"));
  const auto no_l3 = ChooseWorkingSets(Caches(1, 32 * kKib, 256 * kKib, 0), {0}, 1e12);
  EXPECT_TRUE(no_l3.absent.contains(Level::kL3));
  EXPECT_EQ(no_l3.sets.at(Level::kDram).bytes, kMib);
}

}  // namespace
}  // namespace dlroof
