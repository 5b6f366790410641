#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/roofline/roofline.h"
#include "tests/fakes/small_roofline.h"

namespace dlroof::roofline {
namespace {

machine::Machine Caches(const std::string& device) {
  return {.device = device,
          .cache_bytes = {{Level::kL1, 48e3}, {Level::kL2, 1e6}, {Level::kL3, 30e6}}};
}

record::Record Call(const std::string& cache, std::optional<int> threads = 1) {
  record::Record record;
  record.device = "cpu";
  record.cache = cache;
  record.threads = threads;
  return record;
}

TEST(HoldingCache, IsTheNearestThatTheTensorsOfAWarmCallFit) {
  const auto machine = Caches("cpu");
  EXPECT_EQ(HoldingCache(Call("warm"), machine, 48e3), Level::kL1);
  EXPECT_EQ(HoldingCache(Call("warm"), machine, 98e3), Level::kL2);
  EXPECT_EQ(HoldingCache(Call("warm"), machine, 30e6), Level::kL3);
  EXPECT_EQ(HoldingCache(Call("warm"), machine, 31e6), std::nullopt);
  EXPECT_EQ(HoldingCache(Call("warm", std::nullopt), machine, 98e3), Level::kL2);
}

TEST(HoldingCache, CountsTheL1AndL2OfAllThreads) {
  const auto machine = Caches("cpu");
  EXPECT_EQ(HoldingCache(Call("warm", 4), machine, 190e3), Level::kL1);
  EXPECT_EQ(HoldingCache(Call("warm", 4), machine, 4e6), Level::kL2);
  EXPECT_EQ(HoldingCache(Call("warm", 4), machine, 31e6), std::nullopt);  // one L3
}

TEST(HoldingCache, IsNotKnownOfOtherCalls) {
  const auto machine = Caches("cpu");
  EXPECT_EQ(HoldingCache(Call("cold"), machine, 1), std::nullopt);
  EXPECT_EQ(HoldingCache(Call("cold-weights"), machine, 1), std::nullopt);
  auto other = Call("warm");
  other.cache.reset();
  EXPECT_EQ(HoldingCache(other, machine, 1), std::nullopt);
  EXPECT_EQ(HoldingCache(Call("warm"), {}, 1), std::nullopt);
}

TEST(HoldingCache, OfAGpuIsL2) {
  auto call = Call("warm", 108);
  call.device = "gpu";
  EXPECT_EQ(HoldingCache(call, Caches("gpu"), 40e3), Level::kL2);
  EXPECT_EQ(HoldingCache(call, Caches("gpu"), 2e6), std::nullopt);
}

// 98 KB at 50 byte/s of L2 take 1960 s, at 10 byte/s of DRAM they would take 9800 s and bind.
TEST(HoldingCache, ChoosesWhereModelledBytesStandBeforeTheBound) {
  auto machine = fakes::SmallMachine();
  machine.cache_bytes = {{Level::kL1, 48e3}, {Level::kL2, 1e6}};
  auto record = fakes::Measured(20000, 300000, 98e3);  // arithmetic 3000 s
  record.cache = "cold";
  EXPECT_EQ(Place(record, &machine).time->bound_level, Level::kDram);
  record.cache = "warm";
  const auto warm = Place(record, &machine);
  EXPECT_EQ(warm.time->bound, Bound::kCompute);
  EXPECT_FALSE(warm.time->memory_seconds.contains(Level::kDram));
  EXPECT_EQ(warm.classic.at(0).level, Level::kL2);
  EXPECT_THAT(warm.asides, testing::Contains(testing::HasSubstr("its tensors fit L2")));
  EXPECT_EQ(PlaceTime(record, 20000, machine)->bound, Bound::kCompute);
  record.work[Provenance::kMeasured].bytes[Level::kDram] = 98e3;  // counted: not moved
  EXPECT_EQ(Place(record, &machine).time->bound_level, Level::kDram);
}

// The bytes of the cache that a model of the loops knows are not replaced.
TEST(HoldingCache, LeavesBytesThatAreKnownAtThatCache) {
  auto machine = fakes::SmallMachine();
  machine.cache_bytes = {{Level::kL2, 1e6}};
  auto record = fakes::Measured(20000, 1, 98e3);
  record.work[Provenance::kModelled].bytes[Level::kL2] = 5e5;
  EXPECT_DOUBLE_EQ(Place(record, &machine).time->memory_seconds.at(Level::kL2), 5e5 / 50);
}

}  // namespace
}  // namespace dlroof::roofline
