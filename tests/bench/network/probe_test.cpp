#include "bench/network/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "baselines/network/allreduce.h"
#include "baselines/network/network_fit.h"
#include "baselines/network/slow_links.h"
#include "tests/bench/network/fake_messages.h"

namespace dlroof {
namespace {

using testing::ElementsAre;

constexpr double kLatency = 1e-5, kRate = 1e8;

double PlainMessage(int, int, double bytes) { return kLatency + bytes / kRate; }
double RingOf(int ranks, double bytes) {
  return 2.0 * (ranks - 1) * PlainMessage(0, 1, bytes / ranks);
}

TEST(MeasureNetwork, FindsWhatIsThere) {
  const auto measured = FakeWorld(4, PlainMessage, RingOf).Measure({});
  ASSERT_TRUE(measured);
  EXPECT_THAT(measured->ranks, ElementsAre("a-rank0", "a-rank1", "n2", "n3"));
  EXPECT_EQ(measured->pairs.size(), 12);
  for (const auto& pair : measured->pairs)
    for (const auto& point : pair.points)
      EXPECT_NEAR(point.seconds, PlainMessage(0, 0, point.bytes), 1e-12);
  const auto fit = FitNetwork(*measured);
  ASSERT_EQ(fit->network.pieces.size(), 1);
  EXPECT_NEAR(fit->network.pieces[0].latency_seconds, kLatency, 1e-12);
  EXPECT_NEAR(fit->network.pieces[0].bytes_per_second, kRate, 1);
  EXPECT_EQ(fit->proof.doubt, "");
  ASSERT_EQ(measured->allreduce.size(), 2);
  EXPECT_EQ(measured->allreduce[1].nodes, 4);
  EXPECT_NEAR(measured->allreduce[1].points.back().seconds, RingOf(4, 4 << 20), 1e-12);
  // Rabenseifner has 4 latencies where the ring has 6.
  EXPECT_NEAR(*fit->network.allreduce_over_model,
              RingOf(4, 4 << 20) / (4 * kLatency + 1.5 * (4 << 20) / kRate), 1e-9);
  EXPECT_TRUE(SlowLinks(*measured).empty());
}

// From 1 to 2 half of the rate, and node 3 receives a quarter of it from everyone.
TEST(MeasureNetwork, EachDirectionIsMeasuredByItself) {
  const auto message = [](int from, int to, double bytes) {
    const double share = to == 3 ? 0.25 : from == 1 && to == 2 ? 0.5 : 1;
    return kLatency + bytes / (kRate * share);
  };
  const auto slow = SlowLinks(*FakeWorld(5, message, RingOf).Measure({}));
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
  const auto measured = FakeWorld(33, message, RingOf).Measure({.most_bytes = 1 << 20});
  EXPECT_TRUE(measured->pairs_at_once);
  const auto slow = SlowLinks(*measured);
  ASSERT_EQ(slow.size(), 1);
  EXPECT_EQ(slow[0].from, 17);
  EXPECT_FALSE(slow[0].to);
}

TEST(MeasureNetwork, SlowSizesHaveFewerRepetitions) {
  const auto measured =
      FakeWorld(2, PlainMessage, RingOf).Measure({.most_bytes = 1 << 20, .most_seconds = 0.05});
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
}  // namespace dlroof
