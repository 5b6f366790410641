// Control groups, and what limits a process.
#include "counters/cpu/process_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace dlroof::cpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Texts = std::map<std::string, std::string>;

// Returns a reader of files that exist in the test alone.
ReadText Files(Texts files) {
  return [files = std::move(files)](const std::filesystem::path& path) {
    const auto found = files.find(path.string());
    return found == files.end() ? std::string() : found->second;
  };
}

Environment Variables(Texts variables) {
  return [variables =
              std::move(variables)](const std::string& variable) -> std::optional<std::string> {
    const auto found = variables.find(variable);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

// Four CPUs, all given, and files that exist in the test alone.
LimitFacts Facts(Texts files = {}, Texts variables = {}) {
  LimitFacts facts;
  facts.cpu.topology = {.cpus = 4};
  facts.cpu.allowed = {0, 1, 2, 3};
  facts.environment = Variables(std::move(variables));
  facts.read = Files(std::move(files));
  return facts;
}

LimitFacts OnCpus(std::vector<int> allowed) {
  auto facts = Facts();
  facts.cpu.allowed = std::move(allowed);
  return facts;
}

// Returns the limits of one kind as "found: effect".
std::vector<std::string> Found(const LimitFacts& facts, LimitKind kind) {
  std::vector<std::string> found;
  for (const auto& limit : FindLimits(facts))
    if (limit.kind == kind) found.push_back(limit.found + ": " + limit.effect);
  return found;
}

std::string Only(const LimitFacts& facts, LimitKind kind) {
  const auto found = Found(facts, kind);
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? "" : found.front();
}

TEST(FindLimits, HasNoneWhereNothingIsLimited) { EXPECT_TRUE(FindLimits(Facts()).empty()); }

TEST(FindLimits, NamesAQuotaItsFileAndWhatItStopped) {
  const auto facts = Facts({{"/proc/self/cgroup", "0::/box\n"},
                            {"/sys/fs/cgroup/box/cpu.max", "250000 100000\n"},
                            {"/sys/fs/cgroup/box/cpu.stat", "nr_periods 40\nnr_throttled 12\n"}});
  EXPECT_THAT(Only(facts, LimitKind::kCpuQuota),
              AllOf(HasSubstr("2.5 CPUs (/sys/fs/cgroup/box/cpu.max)"),
                    HasSubstr("stopped its programs in 12 of 40 periods"),
                    HasSubstr("4 threads use it up"), HasSubstr("rest of 100 ms"),
                    HasSubstr("no waiting ends that"), HasSubstr("--dlroof_threads=2")));
  const auto half = Facts({{"/proc/self/cgroup", "1:cpu:/\n"},
                           {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000"},
                           {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"}});
  EXPECT_THAT(Only(half, LimitKind::kCpuQuota),
              AllOf(HasSubstr("0.5 CPUs"), testing::Not(HasSubstr("--dlroof_threads"))));
  const auto enough =
      Facts({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "400000 100000\n"}});
  EXPECT_THAT(Only(enough, LimitKind::kCpuQuota), HasSubstr("enough for 4 threads"));
}

TEST(FindLimits, NamesWithheldCpusAndALowPriority) {
  EXPECT_THAT(Only(OnCpus({0, 1, 3}), LimitKind::kCpus), HasSubstr("3 of 4 (taskset"));
  EXPECT_THAT(Found(OnCpus({0, 1, 2, 3}), LimitKind::kCpus), testing::IsEmpty());
  auto facts = Facts();
  EXPECT_TRUE(Found(facts, LimitKind::kPriority).empty());
  facts.nice = 10;
  EXPECT_THAT(Only(facts, LimitKind::kPriority), HasSubstr("nice 10"));
}

TEST(FindLimits, NamesVariablesOfOpenMp) {
  EXPECT_THAT(Only(Facts({}, {{"OMP_PROC_BIND", "close"}}), LimitKind::kPinning),
              HasSubstr("OMP_PROC_BIND=close: OpenMP binds"));
  EXPECT_THAT(Only(Facts({}, {{"OMP_THREAD_LIMIT", "3"}}), LimitKind::kThreads),
              HasSubstr("--dlroof_threads=3"));
  EXPECT_TRUE(Found(Facts({}, {{"OMP_THREAD_LIMIT", "4"}}), LimitKind::kThreads).empty());
}

TEST(FindLimits, NamesHugePagesThatAreOff) {
  const std::string enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
  EXPECT_THAT(Only(Facts({{enabled, "always madvise [never]\n"}}), LimitKind::kHugePages),
              HasSubstr("never (" + enabled + ")"));
  EXPECT_TRUE(Found(Facts({{enabled, "always [madvise] never\n"}}), LimitKind::kHugePages).empty());
}

TEST(OpenMpThreadLimit, IsAbsentForOtherTexts) {
  EXPECT_EQ(OpenMpThreadLimit(Variables({{"OMP_THREAD_LIMIT", " 12 "}})), 12);
  for (const char* text : {"", "0", "-1", "x", "3x"})
    EXPECT_EQ(OpenMpThreadLimit(Variables({{"OMP_THREAD_LIMIT", text}})), std::nullopt) << text;
  EXPECT_EQ(OpenMpThreadLimit(Variables({})), std::nullopt);
}

TEST(FactsOfThisProcess, CanBeReadAnywhere) {
  const auto facts = FactsOfThisProcess("/sys");
  EXPECT_FALSE(facts.read("/proc/self/status").empty());
  for (const auto& limit : FindLimits(facts)) {
    EXPECT_FALSE(Key(limit.kind).empty());
    EXPECT_FALSE(limit.found.empty() || limit.effect.empty());
  }
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
