#include "counters/cpu/control_groups.h"

#include <gtest/gtest.h>

#include <map>

namespace dlroof::cpu {
namespace {

// Returns a reader of files that exist in the test alone.
ReadText Files(std::map<std::string, std::string> files) {
  return [files = std::move(files)](const std::filesystem::path& path) {
    const auto found = files.find(path.string());
    return found == files.end() ? std::string() : found->second;
  };
}

TEST(ParseControlGroups, KnowsBothVersions) {
  EXPECT_EQ(ParseControlGroups("0::/user.slice\n", "memory"),
            (std::vector<ControlGroup>{{true, "/user.slice"}}));
  EXPECT_EQ(ParseControlGroups("5:cpu,memory:/a\n4:cpuset:/b\n0::/\n", "memory"),
            (std::vector<ControlGroup>{{false, "/a"}, {true, "/"}}));
  EXPECT_EQ(ParseControlGroups("3:cpuset:/a\n2:cpuacct,cpu:/b\n", "cpu"),
            (std::vector<ControlGroup>{{false, "/b"}}));
  EXPECT_TRUE(ParseControlGroups("garbage\n1:\n:::\n", "cpu").empty());
}

TEST(FoldersOf, BeginsWithTheMountThatIsTheGroupInAContainer) {
  EXPECT_EQ(FoldersOf({false, "/a/b"}, "cpu", "/sys"),
            (std::vector<GroupFolder>{{false, "/sys/fs/cgroup/cpu"},
                                      {false, "/sys/fs/cgroup/cpu/a"},
                                      {false, "/sys/fs/cgroup/cpu/a/b"}}));
  EXPECT_EQ(FoldersOf({true, "/../x"}, "cpu", "/s"),
            (std::vector<GroupFolder>{{true, "/s/fs/cgroup"}, {true, "/s/fs/cgroup/unified"}}));
}

TEST(SmallestQuota, IsThatOfTheGroupOrOfAParent) {
  const auto read = Files({{"/sys/fs/cgroup/pod/cpu.max", "150000 100000\n"},
                           {"/sys/fs/cgroup/pod/box/cpu.max", "max 100000\n"}});
  const auto quota = SmallestQuota("0::/pod/box\n", "/sys", read).value();
  EXPECT_EQ(quota.cpus, 1.5);
  EXPECT_DOUBLE_EQ(quota.period_seconds, 0.1);
  EXPECT_EQ(quota.file, "/sys/fs/cgroup/pod/cpu.max");
  EXPECT_EQ(quota.stat, "/sys/fs/cgroup/pod/cpu.stat");
  EXPECT_EQ(SmallestQuota("0::/other\n", "/sys", read), std::nullopt);
}

TEST(SmallestQuota, OfVersionOneHasItsPeriodInAnotherFile) {
  const auto read = Files({{"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                           {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                           {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n"},
                           {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "200000\n"}});
  const auto quota = SmallestQuota("1:cpu,cpuacct:/a\n", "/sys", read).value();
  EXPECT_EQ(quota.cpus, 0.25);
  EXPECT_DOUBLE_EQ(quota.period_seconds, 0.2);
  EXPECT_EQ(quota.file, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us");
}

TEST(SmallestQuota, IsAbsentWhereAFileHasAnotherText) {
  for (const char* text : {"", "max", "x 100000", "50000", "50000 0", "-1 100000"})
    EXPECT_EQ(SmallestQuota("0::/\n", "/sys", Files({{"/sys/fs/cgroup/cpu.max", text}})),
              std::nullopt)
        << text;
}

TEST(ParseThrottling, ReadsBothVersions) {
  EXPECT_EQ(ParseThrottling("nr_periods 40\nnr_throttled 12\nthrottled_time 500000000\n"),
            (Throttling{40, 12, 0.5}));
  EXPECT_EQ(ParseThrottling("usage_usec 9\nnr_periods 4\nnr_throttled 1\nthrottled_usec 250000\n"),
            (Throttling{4, 1, 0.25}));
  EXPECT_EQ(ParseThrottling("usage_usec 9\n"), std::nullopt);
  EXPECT_EQ(ParseThrottling(""), std::nullopt);
}

TEST(Throttling, IsCountedBetweenTwoReadings) {
  EXPECT_EQ((Throttling{40, 12, 0.5} - Throttling{30, 10, 0.25}), (Throttling{10, 2, 0.25}));
  EXPECT_EQ((Throttling{10, 2, 0.25} + Throttling{1, 1, 0.25}), (Throttling{11, 3, 0.5}));
}

}  // namespace
}  // namespace dlroof::cpu
