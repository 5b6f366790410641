#include "bench/cluster_run/node_system.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "counters/base/files.h"

namespace dlroof::cluster_run {
namespace {

// Between the two 10 + 0 + 10 + 70 + 0 + 0 + 0 + 10 units passed, 10 of them stolen; guests' times,
// the last two, are part of user and nice.
TEST(StealShare, IsOfAllCpusTime) {
  EXPECT_DOUBLE_EQ(*StealShare("cpu  100 0 50 800 0 0 0 5 0 0\ncpu0 1\n",
                               "cpu  110 0 60 870 0 0 0 15 9 0\ncpu0 1\n"),
                   0.1);
  EXPECT_FALSE(StealShare("cpu  1 2 3 4\n", "cpu  1 2 3 9\n"));  // an old kernel
  EXPECT_FALSE(StealShare("", ""));
  EXPECT_FALSE(StealShare("cpu  1 0 0 0 0 0 0 0\n", "cpu  1 0 0 0 0 0 0 0\n"));
}

TEST(SystemOf, ReadsGovernorAndClockLimits) {
  const TemporaryFolder folder;
  const std::filesystem::path cpus = std::filesystem::path(folder / "devices/system/cpu");
  std::filesystem::create_directories(cpus / "cpu0/cpufreq");
  std::filesystem::create_directories(cpus / "cpufreq");
  EXPECT_FALSE(SystemOf(folder / "").contains("governor"));
  std::ofstream(cpus / "cpu0/cpufreq/scaling_governor") << "powersave\n";
  std::ofstream(cpus / "cpu0/cpufreq/scaling_min_freq") << "800000\n";
  std::ofstream(cpus / "cpu0/cpufreq/scaling_max_freq") << "3600000\n";
  std::ofstream(cpus / "cpufreq/boost") << "0\n";
  const auto system = SystemOf(folder / "");
  EXPECT_EQ(system.at("governor"), "powersave");
  EXPECT_EQ(system.at("clock limits"), "800 to 3600 MHz, boost off");
  EXPECT_FALSE(system.at("kernel").empty());
}

// A quota of half a CPU; 3 of 8 periods pass while it is watched.
TEST(LoadWatch, CountsFromItsBegin) {
  std::string stat = "nr_periods 100\nnr_throttled 50\nthrottled_time 7\n";
  cpu::LimitFacts facts;
  facts.read = [&stat](const std::filesystem::path& path) -> std::string {
    if (path == "/proc/self/cgroup") return "0::/job\n";
    if (path == "/sys/fs/cgroup/job/cpu.max") return "50000 100000\n";
    if (path == "/sys/fs/cgroup/job/cpu.stat") return stat;
    return "";
  };
  const LoadWatch watch(facts);
  stat = "nr_periods 108\nnr_throttled 53\nthrottled_usec 9\n";
  const auto load = watch.Load();
  EXPECT_EQ(load.quota_cpus, 0.5);
  EXPECT_EQ(load.periods, 8);
  EXPECT_EQ(load.throttled, 3);
  EXPECT_FALSE(load.steal_share);
}

}  // namespace
}  // namespace dlroof::cluster_run
