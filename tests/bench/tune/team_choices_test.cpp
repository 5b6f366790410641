#include "bench/tune/team_choices.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlroof::tune {
namespace {

// Two L3 caches of two cores each; CPU 4 is the second hardware thread of core 0, and so on.
cpu::Cpu EightCpus() {
  cpu::Cpu cpu;
  cpu.allowed = {0, 1, 2, 3, 4, 5, 6, 7};
  for (const int one : cpu.allowed) {
    cpu.topology.core_of_cpu[one] = one % 4;
    cpu.topology.node_of_cpu[one] = 0;
    cpu.topology.cache_of_cpu[Level::kL3][one] = {one % 4 / 2, 32e6};
  }
  return cpu;
}

cpu::Cpu TwoCores() {
  cpu::Cpu cpu;
  cpu.allowed = {0, 1};
  cpu.topology.core_of_cpu = {{0, 0}, {1, 1}};
  return cpu;
}

bool Has(const std::vector<tuning::Choice>& choices, const tuning::Setting& values) {
  return std::ranges::count(choices, values, &tuning::Choice::values) == 1;
}

TEST(TeamChoices, TwoCoresHaveFewerThreadsAndWaysToWait) {
  const auto choices = TeamChoices(TwoCores(), 0, true, true);
  EXPECT_EQ(choices.size(), 4U);
  EXPECT_TRUE(Has(choices, {{"threads", "1"}}));
  EXPECT_TRUE(Has(choices, {{"OMP_WAIT_POLICY", "active"}}));
  EXPECT_TRUE(Has(choices, {{"OMP_WAIT_POLICY", "passive"}}));
  EXPECT_TRUE(Has(choices, {{"GOMP_SPINCOUNT", "10000"}}));
}

TEST(TeamChoices, PinsNearApartAndTwoToACore) {
  const auto choices = TeamChoices(EightCpus(), 0, true, false);
  EXPECT_TRUE(Has(choices, {{"threads", "1"}}));
  EXPECT_TRUE(Has(choices, {{"threads", "2"}}));
  EXPECT_TRUE(Has(choices, {{"threads", "2"}, {"cpus", "0,2"}})) << "one on each L3";
  EXPECT_TRUE(Has(choices, {{"threads", "2"}, {"cpus", "0,4"}})) << "both on core 0";
  EXPECT_FALSE(Has(choices, {{"threads", "2"}, {"cpus", "0,1"}})) << "the default of two";
  EXPECT_TRUE(Has(choices, {{"threads", "4"}}));
  EXPECT_TRUE(Has(choices, {{"threads", "4"}, {"cpus", "0,1,4,5"}})) << "one L3, both threads";
  EXPECT_FALSE(Has(choices, {{"threads", "8"}})) << "the default";
}

TEST(TeamChoices, ATeamThatTheNameFixesStays) {
  for (const auto& choice : TeamChoices(EightCpus(), 2, true, true))
    EXPECT_EQ(choice.values.count("threads"), 0U);
  EXPECT_TRUE(Has(TeamChoices(EightCpus(), 2, true, true), {{"cpus", "0,4"}}));
  EXPECT_TRUE(TeamChoices(TwoCores(), 1, true, true).empty()) << "one thread waits for none";
  EXPECT_TRUE(TeamChoices(TwoCores(), 3, true, true).empty()) << "more than there are";
}

TEST(TeamChoices, NoChoiceComesTwice) {
  const auto choices = TeamChoices(EightCpus(), 0, true, true);
  for (const auto& choice : choices) EXPECT_TRUE(Has(choices, choice.values));
}

}  // namespace
}  // namespace dlroof::tune
