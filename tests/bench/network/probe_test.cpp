#include "bench/network/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <set>
#include <thread>

#include "baselines/cluster/network.h"
#include "baselines/cluster/network_file.h"

namespace dlroof::network {
namespace {

using testing::ElementsAre;

// Messages between threads with clocks of their own, through a network that is made up: the same
// times on every run.
struct FakeWorld {
  using MessageTime = std::function<double(int from, int to, double bytes)>;
  using SumTime = std::function<double(int ranks, double bytes)>;

  FakeWorld(int ranks, MessageTime message, SumTime sum)
      : message_seconds(std::move(message)),
        sum_seconds(std::move(sum)),
        clocks(ranks, 0.0),
        texts(ranks),
        all(ranks) {}

  struct Letter {
    double arrives, number;
  };
  MessageTime message_seconds;
  SumTime sum_seconds;
  std::vector<double> clocks;
  std::vector<std::string> texts;
  std::barrier<> all;
  std::map<std::pair<int, int>, std::queue<Letter>> letters;
  std::mutex mutex;
  std::condition_variable posted;
};

class FakeMessages : public Messages {
 public:
  FakeMessages(FakeWorld& world, int rank) : world_(world), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(world_.clocks.size()); }
  std::string Library() const override { return "made up"; }
  std::string NodeName() const override { return rank_ < 2 ? "a" : "n" + std::to_string(rank_); }
  double Now() const override { return world_.clocks[rank_]; }
  void Send(int to, std::size_t bytes) override { Post(to, static_cast<double>(bytes), 0); }
  void Receive(int from, std::size_t) override { Take(from); }
  void SendNumber(int to, double number) override { Post(to, 0, number); }
  double ReceiveNumber(int from) override { return Take(from); }
  void WaitForAll() override { world_.all.arrive_and_wait(); }
  double Sum(int ranks, std::size_t bytes) override {
    return rank_ < ranks ? world_.sum_seconds(ranks, static_cast<double>(bytes)) : 0;
  }
  std::vector<std::string> Gather(const std::string& text) override {
    world_.texts[rank_] = text;
    WaitForAll();
    return rank_ == 0 ? world_.texts : std::vector<std::string>();
  }

 private:
  void Post(int to, double bytes, double number) {
    double& clock = world_.clocks[rank_];
    clock += world_.message_seconds(rank_, to, bytes);
    const std::lock_guard lock(world_.mutex);
    world_.letters[{rank_, to}].push({clock, number});
    world_.posted.notify_all();
  }
  double Take(int from) {
    std::unique_lock lock(world_.mutex);
    auto& queue = world_.letters[{from, rank_}];
    world_.posted.wait(lock, [&] { return !queue.empty(); });
    const auto letter = queue.front();
    queue.pop();
    double& clock = world_.clocks[rank_];
    clock = std::max(clock, letter.arrives);
    return letter.number;
  }

  FakeWorld& world_;
  int rank_;
};

// Runs the probe on all ranks. Returns what rank 0 returns.
std::optional<cluster::MeasuredNetwork> Measure(FakeWorld&& world, const ProbeRules& rules = {}) {
  std::optional<cluster::MeasuredNetwork> measured;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < static_cast<int>(world.clocks.size()); ++rank)
    threads.emplace_back([&, rank] {
      FakeMessages messages(world, rank);
      auto result = MeasureNetwork(messages, rules);
      if (rank == 0) measured = std::move(result);
    });
  threads.clear();
  return measured;
}

constexpr double kLatency = 1e-5, kRate = 1e8;

double PlainMessage(int, int, double bytes) { return kLatency + bytes / kRate; }
double RingOf(int ranks, double bytes) {
  return 2.0 * (ranks - 1) * PlainMessage(0, 1, bytes / ranks);
}

TEST(MeasureNetwork, FindsWhatIsThere) {
  const auto measured = Measure(FakeWorld(4, PlainMessage, RingOf));
  ASSERT_TRUE(measured);
  EXPECT_THAT(measured->ranks, ElementsAre("a-rank0", "a-rank1", "n2", "n3"));
  EXPECT_EQ(measured->pairs.size(), 12);
  for (const auto& pair : measured->pairs)
    for (const auto& point : pair.points)
      EXPECT_NEAR(point.seconds, PlainMessage(0, 0, point.bytes), 1e-12);
  const auto fit = cluster::FitNetwork(*measured);
  ASSERT_EQ(fit->network.pieces.size(), 1);
  EXPECT_NEAR(fit->network.pieces[0].latency_seconds, kLatency, 1e-12);
  EXPECT_NEAR(fit->network.pieces[0].bytes_per_second, kRate, 1);
  EXPECT_EQ(fit->validation.reason, std::nullopt);
  ASSERT_EQ(measured->allreduce.size(), 2);
  EXPECT_EQ(measured->allreduce[1].nodes, 4);
  EXPECT_NEAR(measured->allreduce[1].points.back().seconds, RingOf(4, 4 << 20), 1e-12);
  // Rabenseifner has 4 latencies where the ring has 6.
  EXPECT_NEAR(*fit->network.allreduce_over_model,
              RingOf(4, 4 << 20) / (4 * kLatency + 1.5 * (4 << 20) / kRate), 1e-9);
  EXPECT_TRUE(cluster::SlowLinks(*measured).empty());
}

// From 1 to 2 half of the rate, and node 3 receives a quarter of it from everyone.
TEST(MeasureNetwork, EachDirectionIsMeasuredByItself) {
  const auto message = [](int from, int to, double bytes) {
    const double share = to == 3 ? 0.25 : from == 1 && to == 2 ? 0.5 : 1;
    return kLatency + bytes / (kRate * share);
  };
  const auto slow = cluster::SlowLinks(*Measure(FakeWorld(5, message, RingOf)));
  ASSERT_EQ(slow.size(), 2);
  EXPECT_EQ(slow[0].to, 3);
  EXPECT_FALSE(slow[0].from);
  EXPECT_NEAR(slow[0].ratio, 0.25, 0.001);
  EXPECT_EQ(slow[1].from, 1);
  EXPECT_EQ(slow[1].to, 2);
  EXPECT_NEAR(slow[1].ratio, 0.5, 0.001);
}

TEST(MeasureNetwork, ManyRanksAreMeasuredAtOnceAndTheSlowOneIsNamed) {
  const auto message = [](int from, int, double bytes) {
    return kLatency + bytes / (from == 17 ? kRate / 4 : kRate);
  };
  const auto measured = Measure(FakeWorld(33, message, RingOf), {.most_bytes = 1 << 20});
  EXPECT_TRUE(measured->pairs_at_once);
  const auto slow = cluster::SlowLinks(*measured);
  ASSERT_EQ(slow.size(), 1);
  EXPECT_EQ(slow[0].from, 17);
  EXPECT_FALSE(slow[0].to);
}

TEST(MeasureNetwork, SlowSizesHaveFewerRepetitions) {
  const auto measured =
      Measure(FakeWorld(2, PlainMessage, RingOf), {.most_bytes = 1 << 20, .most_seconds = 0.05});
  const auto& points = measured->pairs[0].points;
  EXPECT_EQ(points.front().repetitions, 9);
  EXPECT_EQ(points.back().repetitions, 4);  // 10.5 ms each
  EXPECT_FALSE(points.back().ci95);
}

TEST(Pairings, EveryPairOrEveryRankOnce) {
  EXPECT_EQ(Pairings(8, {}).size(), 28);
  const auto pairings = Pairings(9, {});
  EXPECT_EQ(pairings, Pairings(9, {}));
  ASSERT_EQ(pairings.size(), 6);
  for (const auto& pairing : pairings) {
    std::set<int> seen;
    for (const auto& [a, b] : pairing) seen.insert({a, b});
    EXPECT_EQ(seen.size(), 8);
  }
}

}  // namespace
}  // namespace dlroof::network
