#include "baselines/network/allreduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/baselines/network/made_up_allreduce.h"

namespace dlroof {
namespace {

Network Plain(double latency, double rate) {
  return {.name = "", .pieces = {{std::nullopt, latency, rate}}};
}

// Small messages go eagerly, large ones have to ask first.
Network TwoPieces() {
  return {.name = "", .pieces = {{1000.0, 2e-6, 5e8}, {std::nullopt, 9e-6, 1e9}}};
}

double SimulatedSeconds(Allreduce algorithm, const Network& network, int nodes, double bytes) {
  MadeUpAllreduce simulated(network, nodes, nodes * 32, bytes);
  if (algorithm == Allreduce::kRing) simulated.Ring();
  if (algorithm == Allreduce::kRecursiveDoubling) simulated.RecursiveDoubling();
  if (algorithm == Allreduce::kTree) simulated.Tree();
  if (algorithm == Allreduce::kRabenseifner) simulated.Rabenseifner();
  EXPECT_TRUE(simulated.AllHaveTheSum()) << Key(algorithm) << " on " << nodes;
  return simulated.Seconds();
}

TEST(AllreduceSeconds, EqualsASimulationMessageByMessage) {
  for (const auto& network : {Plain(3e-5, 118e6), TwoPieces()})
    for (const auto algorithm : {Allreduce::kRing, Allreduce::kRecursiveDoubling, Allreduce::kTree,
                                 Allreduce::kRabenseifner})
      for (const int nodes : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17})
        for (const double bytes : {64.0, 4096.0, 1e6}) {
          const double simulated = SimulatedSeconds(algorithm, network, nodes, bytes);
          EXPECT_NEAR(AllreduceSeconds(algorithm, network, nodes, bytes), simulated,
                      1e-12 + 1e-12 * simulated)
              << Key(algorithm) << " on " << nodes << ", " << bytes << " bytes";
        }
}

// 4 nodes, 8 bytes, 1 s + 1 byte/s: ring 6 messages of 2 bytes, doubling 2 of 8, tree 4 of 8,
// Rabenseifner 2 of 4 and 2 of 2.
TEST(AllreduceSeconds, OfFourNodesByHand) {
  const auto network = Plain(1, 1);
  EXPECT_EQ(AllreduceSeconds(Allreduce::kRing, network, 4, 8), 18);
  EXPECT_EQ(AllreduceSeconds(Allreduce::kRecursiveDoubling, network, 4, 8), 18);
  EXPECT_EQ(AllreduceSeconds(Allreduce::kTree, network, 4, 8), 36);
  EXPECT_EQ(AllreduceSeconds(Allreduce::kRabenseifner, network, 4, 8), 16);
  EXPECT_EQ(AllreduceBound(network, 4, 8), 12);
}

TEST(AllreduceSeconds, OneNodeNeedsNone) {
  for (const auto algorithm : {Allreduce::kRing, Allreduce::kTree, Allreduce::kRabenseifner})
    EXPECT_EQ(AllreduceSeconds(algorithm, Plain(1, 1), 1, 8), 0);
  EXPECT_EQ(AllreduceBound(Plain(1, 1), 1, 8), 0);
}

TEST(AllreduceSeconds, NoAlgorithmIsFasterThanTheBound) {
  for (const auto& network : {Plain(3e-5, 118e6), TwoPieces(), Plain(1e-12, 1e9)})
    for (int nodes = 2; nodes <= 70; ++nodes)
      for (const double bytes : {1.0, 1e4, 1e8})
        for (const auto algorithm : {Allreduce::kRing, Allreduce::kRecursiveDoubling,
                                     Allreduce::kTree, Allreduce::kRabenseifner})
          EXPECT_GE(AllreduceSeconds(algorithm, network, nodes, bytes) * (1 + 1e-12),
                    AllreduceBound(network, nodes, bytes))
              << Key(algorithm) << " on " << nodes;
}

// Latency alone: recursive doubling sends the fewest messages. Bandwidth alone: Rabenseifner and
// the ring send the fewest bytes.
TEST(AllreduceOf, TakesTheFastestForEachSize) {
  const auto network = Plain(1e-5, 1e9);
  EXPECT_EQ(AllreduceOf(network, std::nullopt, 16, 8).algorithm, Allreduce::kRecursiveDoubling);
  EXPECT_EQ(AllreduceOf(network, std::nullopt, 16, 1e8).algorithm, Allreduce::kRabenseifner);
  EXPECT_EQ(AllreduceOf(network, std::nullopt, 13, 1e8).algorithm, Allreduce::kRing);
  EXPECT_EQ(AllreduceOf(network, Allreduce::kTree, 16, 8).algorithm, Allreduce::kTree);
}

TEST(AllreduceOf, AMeasuredRatioScalesTheFastestDownToTheBound) {
  auto network = Plain(1, 1);
  network.allreduce_over_model = 2;
  EXPECT_EQ(AllreduceOf(network, std::nullopt, 4, 8).seconds, 32);      // twice Rabenseifner's 16
  EXPECT_EQ(AllreduceOf(network, Allreduce::kRing, 4, 8).seconds, 18);  // a closed form stays one
  network.allreduce_over_model = 0.5;
  EXPECT_EQ(AllreduceOf(network, std::nullopt, 4, 8).seconds, 12);
}

// Messages of 4 bytes take no time, but 2 (n-1)/n 16 bytes do not pass at more than 1 byte/s.
TEST(AllreduceOf, SmallMessagesAreNoWayAroundTheBandwidth) {
  const Network buffered{.name = "", .pieces = {{4.0, 1e-9, 1e9}, {std::nullopt, 1, 1}}};
  EXPECT_LT(AllreduceSeconds(Allreduce::kRing, buffered, 4, 16), 1);
  EXPECT_EQ(AllreduceOf(buffered, Allreduce::kRing, 4, 16).seconds, 24);
  EXPECT_EQ(AllreduceOf(buffered, std::nullopt, 4, 16).seconds, 24);
}

TEST(Key, OfAnAlgorithmReadsBack) {
  EXPECT_EQ(AllreduceFromKey("tree"), Allreduce::kTree);
  EXPECT_EQ(AllreduceFromKey(Key(Allreduce::kRecursiveDoubling)), Allreduce::kRecursiveDoubling);
  EXPECT_FALSE(AllreduceFromKey("best"));
}

}  // namespace
}  // namespace dlroof
