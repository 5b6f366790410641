#include "baselines/cluster/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "counters/base/process.h"

namespace dlroof::cluster {
namespace {

// Allreduce message by message: each node has a clock and a vector. A message starts when sender
// and receiver are free in its direction, and takes the network's time for its size.
class MadeUpAllreduce {
 public:
  // Each node i begins with a vector of `elements` numbers, all i + 1.
  MadeUpAllreduce(const Network& network, int nodes, int elements, double bytes)
      : network_(network),
        element_bytes_(bytes / elements),
        elements_(elements),
        clocks_(nodes, 0.0),
        vectors_(nodes) {
    for (int node = 0; node < nodes; ++node) vectors_[node].assign(elements, node + 1.0);
  }

  void Ring() {
    const int n = Nodes(), part = elements_ / n;
    for (int round = 0; round < 2 * (n - 1); ++round) {
      std::vector<Message> messages;
      for (int node = 0; node < n; ++node) {
        // The first n - 1 rounds add up, the others distribute the sums.
        const int shift = round < n - 1 ? round : round - n;
        const int chunk = ((node - shift) % n + n) % n;
        messages.push_back({node, (node + 1) % n, chunk * part, part, round < n - 1});
      }
      Round(messages);
    }
  }

  void RecursiveDoubling() {
    const int power = Fold();
    for (int distance = 1; distance < power; distance *= 2)
      Round(Exchanges(
          power, distance, [&](int) { return std::pair(0, elements_); }, true));
    Unfold(power);
  }

  void Tree() {
    std::vector<int> distances;
    for (int distance = 1; distance < Nodes(); distance *= 2) distances.push_back(distance);
    for (const int distance : distances) TreeRound(distance, true);
    for (auto it = distances.rbegin(); it != distances.rend(); ++it) TreeRound(*it, false);
  }

  void Rabenseifner() {
    const int power = Fold();
    // After the halving rounds node i holds the sums of its own part.
    for (int distance = power / 2, size = elements_ / 2; distance >= 1; distance /= 2, size /= 2)
      Round(Exchanges(
          power, distance, [&](int to) { return std::pair(to / distance * size, size); }, true));
    for (int distance = 1, size = elements_ / power; distance < power; distance *= 2, size *= 2)
      Round(Exchanges(
          power, distance,
          [&](int to) { return std::pair((to ^ distance) / distance * size, size); }, false));
    Unfold(power);
  }

  // [s] until the last node has finished.
  double Seconds() const { return *std::max_element(clocks_.begin(), clocks_.end()); }
  bool AllHaveTheSum() const {
    const double sum = Nodes() * (Nodes() + 1) / 2.0;
    return std::all_of(vectors_.begin(), vectors_.end(), [&](const auto& vector) {
      return std::all_of(vector.begin(), vector.end(), [&](double x) { return x == sum; });
    });
  }

 private:
  struct Message {
    int from, to, first, count;
    bool adds;
  };

  int Nodes() const { return static_cast<int>(clocks_.size()); }

  // Sends messages at the same time.
  void Round(const std::vector<Message>& messages) {
    const auto before = vectors_;
    const auto clocks = clocks_;
    for (const auto& m : messages) {
      const double end = std::max(clocks[m.from], clocks[m.to]) +
                         MessageSeconds(network_, m.count * element_bytes_);
      clocks_[m.from] = std::max(clocks_[m.from], end);
      clocks_[m.to] = std::max(clocks_[m.to], end);
      for (int i = m.first; i < m.first + m.count; ++i)
        vectors_[m.to][i] = before[m.from][i] + (m.adds ? vectors_[m.to][i] : 0);
    }
  }

  template <class RangeOfReceiver>
  std::vector<Message> Exchanges(int power, int distance, const RangeOfReceiver& range, bool adds) {
    std::vector<Message> messages;
    for (int node = 0; node < power; ++node) {
      const int to = node ^ distance;
      const auto [first, count] = range(to);
      messages.push_back({node, to, first, count, adds});
    }
    return messages;
  }

  // Nodes from the largest power of two on send their vectors to the first nodes.
  int Fold() {
    const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(Nodes())));
    std::vector<Message> messages;
    for (int node = power; node < Nodes(); ++node)
      messages.push_back({node, node - power, 0, elements_, true});
    Round(messages);
    return power;
  }
  void Unfold(int power) {
    std::vector<Message> messages;
    for (int node = power; node < Nodes(); ++node)
      messages.push_back({node - power, node, 0, elements_, false});
    Round(messages);
  }
  void TreeRound(int distance, bool towards_root) {
    std::vector<Message> messages;
    for (int node = 0; node + distance < Nodes(); node += 2 * distance)
      messages.push_back(towards_root ? Message{node + distance, node, 0, elements_, true}
                                      : Message{node, node + distance, 0, elements_, false});
    Round(messages);
  }

  Network network_;
  double element_bytes_;
  int elements_;
  std::vector<double> clocks_;
  std::vector<std::vector<double>> vectors_;
};

Network Plain(double latency, double rate) {
  return {.name = "", .pieces = {{std::nullopt, latency, rate}}};
}

constexpr Allreduce kAlgorithms[] = {Allreduce::kRing, Allreduce::kRecursiveDoubling,
                                     Allreduce::kTree, Allreduce::kRabenseifner};

// Small messages are sent eagerly, large ones by rendezvous.
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
    for (const auto algorithm : kAlgorithms)
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
  for (const auto algorithm : kAlgorithms)
    EXPECT_EQ(AllreduceSeconds(algorithm, Plain(1, 1), 1, 8), 0);
  EXPECT_EQ(AllreduceBound(Plain(1, 1), 1, 8), 0);
}

TEST(AllreduceSeconds, NoAlgorithmIsFasterThanTheBound) {
  for (const auto& network : {Plain(3e-5, 118e6), TwoPieces(), Plain(1e-12, 1e9)})
    for (int nodes = 2; nodes <= 70; ++nodes)
      for (const double bytes : {1.0, 1e4, 1e8})
        for (const auto algorithm : kAlgorithms)
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
  EXPECT_EQ(AllreduceOf(network, std::nullopt, 4, 8).seconds, 32);  // twice Rabenseifner's 16
  EXPECT_EQ(AllreduceOf(network, Allreduce::kRing, 4, 8).seconds,
            18);  // the given algorithm is not scaled
  network.allreduce_over_model = 0.5;
  EXPECT_EQ(AllreduceOf(network, std::nullopt, 4, 8).seconds, 12);
}

// Messages of 4 bytes take no time, but 2 (n-1)/n 16 bytes do not pass at more than 1 byte/s.
TEST(AllreduceOf, SmallMessagesDoNotExceedTheBandwidth) {
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
      EXPECT_NEAR(one.simulated_seconds.value() / one.closed_seconds, 1, 0.01)
          << Key(algorithm) << " on " << nodes;
    }
}

}  // namespace
}  // namespace dlroof::cluster
