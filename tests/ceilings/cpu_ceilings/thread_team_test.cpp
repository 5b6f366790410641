#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "tests/fakes/address_space.h"

namespace dlroof::cpu_ceilings {
namespace {

TEST(ThreadTeam, RunsEveryThreadOnceAndTogether) {
  constexpr double kTaskSeconds = 1e-3;
  const auto cpu = cpu::ThisCpu();
  ThreadTeam team(cpu.allowed);
  ASSERT_EQ(team.size(), static_cast<int>(cpu.allowed.size()));
  for (int round = 0; round < 20; ++round) {
    std::vector<std::atomic<int>> runs(cpu.allowed.size());
    std::atomic<int> inside{0};
    const auto time = team.Time([&](int i) {
      ++runs[static_cast<std::size_t>(i)];
      ++inside;
      while (inside < team.size()) {  // ends only when all run at the same time
      }
      const double begin = cpu::WallSeconds();
      while (cpu::WallSeconds() - begin < kTaskSeconds) {
      }
    });
    for (auto& count : runs) EXPECT_EQ(count, 1);
    EXPECT_GE(time.seconds, kTaskSeconds);
  }
}

TEST(ThreadTeam, LooksAtTheCoresWhenItIsAskedTo) {
  ThreadTeam team({cpu::ThisCpu().allowed.front()});
  const auto nothing = [](int) {};
  EXPECT_FALSE(team.Time(nothing).core_share);
  const auto time = team.TimeWithCores(nothing);
  EXPECT_GT(time.core_share.value(), 0);
  EXPECT_LE(time.core_share.value(), 1);
  EXPECT_THROW(team.TimeWithCores([](int) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_FALSE(team.Time(nothing).core_share);
}

TEST(ThreadTeam, PassesOnWhatATaskThrowsAndStaysUsable) {
  ThreadTeam team({cpu::ThisCpu().allowed.front()});
  EXPECT_THROW(team.Run([](int) { throw std::bad_alloc(); }), std::bad_alloc);
  int runs = 0;
  team.Run([&](int) { ++runs; });
  EXPECT_EQ(runs, 1);
}

// Two stacks of 64 MiB fit into the rest of the address space, the third does not.
TEST(ThreadTeam, SaysThatAThreadCannotBeStarted) {
  const auto in_little_room = [] {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 20);
    pthread_setattr_default_np(&attributes);
    fakes::LimitAddressSpace(160 << 20);
    try {
      const ThreadTeam team(std::vector<int>(8, cpu::ThisCpu().allowed.front()));
    } catch (const std::runtime_error& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(in_little_room(), testing::ExitedWithCode(3),
              "thread [2-3] of 8 cannot be started: Resource temporarily unavailable");
}

TEST(ThreadTeam, RefusesACpuThatIsNotThere) {
  EXPECT_THROW(ThreadTeam({1 << 15}), std::runtime_error);
  EXPECT_THROW(ThreadTeam({}), std::invalid_argument);
}

}  // namespace
}  // namespace dlroof::cpu_ceilings
