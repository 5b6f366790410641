#include "baselines/network/smpi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/process.h"

namespace dlroof::cluster {
namespace {

using testing::HasSubstr;

TEST(SmpiPlatform, APathHasTwoLinks) {
  const Network network{.name = "", .pieces = {{8.0, 1, 1}, {std::nullopt, 3e-5, 1.18e8}}};
  EXPECT_THAT(SmpiPlatform(network, 4), HasSubstr("radical=\"0-3\""));
  EXPECT_THAT(SmpiPlatform(network, 4), HasSubstr("bw=\"118000000Bps\" lat=\"1.5e-05s\""));
}

TEST(SmpiTrace, HasOneAllreduceForEachRank) {
  EXPECT_EQ(SmpiTrace(2, 7),
            "0 init\n0 allreduce 7 0 1\n0 finalize\n1 init\n1 allreduce 7 0 1\n1 finalize\n");
}

TEST(SimulateAllreduce, AgreesWithTheClosedFormsWithinOnePercent) {
  if (!IsInPath("smpirun")) GTEST_SKIP() << "smpirun is not installed";
  const Network network{.name = "", .pieces = {{std::nullopt, 3e-5, 1.18e8}}};
  for (const auto algorithm : {Allreduce::kRing, Allreduce::kRecursiveDoubling, Allreduce::kTree,
                               Allreduce::kRabenseifner})
    for (const int nodes : {2, 4, 12, 16}) {
      const auto one = SimulateAllreduce(network, algorithm, nodes, 5e6);
      EXPECT_GE(one.bytes, 5e6);
      EXPECT_LT(one.bytes, 5e6 + 4 * nodes);
      EXPECT_NEAR(one.simulated_seconds / one.closed_seconds, 1, 0.01)
          << Key(algorithm) << " on " << nodes;
    }
}

}  // namespace
}  // namespace dlroof::cluster
