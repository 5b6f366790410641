#include "counters/base/parallel_time.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

RegionSource Source(const std::string& name, const std::string& reason, double regions,
                    double seconds, std::vector<std::string>* begun = nullptr) {
  return {.name = [name] { return name; },
          .unavailable =
              [reason] { return reason.empty() ? std::nullopt : std::optional(Reason{reason}); },
          .begin =
              [=] {
                if (begun != nullptr) begun->push_back(name);
              },
          .end =
              [=] {
                return RegionsSeen{{regions, seconds, seconds, seconds}, 2};
              }};
}

std::optional<RegionWatch::Watched> WatchedBy(const std::vector<RegionSource>& sources) {
  RegionWatch watch(sources);
  watch.Begin();
  return watch.End();
}

TEST(RegionWatch, TheSourceCountsThatSeesTheProcess) {
  std::vector<std::string> begun;
  const std::vector<RegionSource> sources = {Source("a", "OMPT counts these regions", 3, 9, &begun),
                                             Source("b", "", 3, 2, &begun)};
  const auto watched = WatchedBy(sources);
  ASSERT_TRUE(watched);
  EXPECT_EQ(watched->source, "b");
  EXPECT_EQ(watched->seen, (RegionsSeen{{3, 2, 2, 2}, 2}));
  EXPECT_EQ(begun, std::vector<std::string>{"b"});
  EXPECT_EQ(NoRegionsReason(sources), std::nullopt);
}

TEST(RegionWatch, OfTwoRuntimesTheOneCountsWhoseRegionsTookLongest) {
  EXPECT_EQ(WatchedBy({Source("few", "", 9, 1), Source("long", "", 1, 2), Source("none", "", 0, 0)})
                ->source,
            "long");
}

TEST(RegionWatch, WithoutRegionsTheFirstSourceCounts) {
  EXPECT_EQ(WatchedBy({Source("first", "", 0, 0), Source("second", "", 0, 0)})->source, "first");
}

TEST(RegionWatch, NoNumberWhereASourceDidNotSeeAll) {
  auto blind = Source("blind", "", 1, 1);
  blind.end = [] { return std::nullopt; };
  EXPECT_FALSE(WatchedBy({Source("sees", "", 1, 1), blind}));
}

TEST(RegionWatch, SaysWhyNoSourceSeesTheProcess) {
  const std::vector<RegionSource> sources = {Source("a", "no runtime", 1, 1),
                                             Source("b", "forbidden", 1, 1)};
  EXPECT_EQ(NoRegionsReason(sources), Reason{"a: no runtime; b: forbidden"});
  EXPECT_EQ(NoRegionsReason({}), Reason{"this build cannot watch any OpenMP runtime"});
  EXPECT_FALSE(WatchedBy(sources));
}

}  // namespace
}  // namespace dlroof
