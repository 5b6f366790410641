#include "counters/base/parallel_time.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

RegionSource Source(const std::string& name, std::optional<Reason> reason) {
  return {.name = name, .unavailable = [reason] { return reason; }, .begin = {}, .end = {}};
}

TEST(FindRegionSource, IsTheFirstThatSeesTheProcess) {
  const std::vector<RegionSource> sources = {Source("a", Reason{"no runtime"}), Source("b", {})};
  ASSERT_NE(FindRegionSource(sources), nullptr);
  EXPECT_EQ(FindRegionSource(sources)->name, "b");
  EXPECT_EQ(NoRegionsReason(sources), std::nullopt);
}

TEST(FindRegionSource, WithoutOneThereIsAReason) {
  EXPECT_EQ(NoRegionsReason({Source("a", Reason{"no runtime"})}), Reason{"no runtime"});
  EXPECT_EQ(NoRegionsReason({}), Reason{"this build cannot watch any OpenMP runtime"});
  EXPECT_EQ(FindRegionSource({}), nullptr);
}

}  // namespace
}  // namespace dlroof
