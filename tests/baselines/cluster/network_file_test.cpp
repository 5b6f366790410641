#include "baselines/cluster/network_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "baselines/cluster/network.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cluster {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Powers of two up to 4 MiB; each time is off by at most `noise`.
std::vector<NetworkPoint> PointsThrough(const Network& network, double noise = 0) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> off(-noise, noise);
  std::vector<NetworkPoint> points;
  for (double bytes = 8; bytes <= 4 << 20; bytes *= 2) {
    const double seconds = MessageSeconds(network, bytes) * (1 + off(random));
    points.push_back({bytes, seconds, std::pair(0.99 * seconds, 1.01 * seconds), 9});
  }
  return points;
}

MeasuredNetwork OnePair(const std::vector<NetworkPoint>& points) {
  return {.mpi = "m", .started_at = "t", .ranks = {"a", "b"}, .pairs = {{0, 1, points}}};
}

const Network kTwoProtocols{.name = "", .pieces = {{4096.0, 2e-6, 1e9}, {std::nullopt, 2e-5, 2e9}}};

TEST(FitPieces, FindsTheLineOrTheTwoProtocols) {
  const auto one = *FitPieces(PointsThrough({.name = "", .pieces = {{std::nullopt, 3e-5, 1e8}}}));
  ASSERT_EQ(one.size(), 1);
  EXPECT_NEAR(one[0].latency_seconds, 3e-5, 1e-11);
  EXPECT_NEAR(one[0].bytes_per_second, 1e8, 1e2);
  const auto two = *FitPieces(PointsThrough(kTwoProtocols));
  ASSERT_EQ(two.size(), 2);
  EXPECT_EQ(two[0].up_to_bytes, 4096);
  EXPECT_NEAR(two[0].latency_seconds, 2e-6, 1e-11);
  EXPECT_NEAR(two[1].latency_seconds, 2e-5, 1e-11);
  EXPECT_NEAR(two[1].bytes_per_second, 2e9, 1e4);
}

TEST(FitPieces, NoiseOfFivePercentMovesTheRateByLessThanThree) {
  const auto pieces = *FitPieces(PointsThrough(kTwoProtocols, 0.05));
  EXPECT_NEAR(pieces.back().bytes_per_second, 2e9, 6e7);
}

// A token bucket passes 16 KiB at once and delays later bytes.
TEST(FitNetwork, ABufferInTheMiddleDoesNotAffectTheBandwidthAndIsReported) {
  auto points = PointsThrough({.name = "", .pieces = {{std::nullopt, 1e-5, 25e6}}});
  for (auto& point : points) {
    if (point.bytes == 16384) point.seconds /= 25;
    if (point.bytes == 65536) point.seconds *= 1.4;
  }
  const auto fit = FitNetwork(OnePair(points));
  EXPECT_NEAR(Bandwidth(fit->network), 25e6, 1e4);
  EXPECT_THAT(fit->validation.reason->text, HasSubstr("the fit misses the time of "));
}

TEST(FitPieces, TimesThatDoNotGrowStillHaveALatency) {
  const auto pieces = *FitPieces({{8, 2e-6, {}, 9}, {16, 1.9e-6, {}, 9}, {32, 1.9e-6, {}, 9}});
  ASSERT_EQ(pieces.size(), 1);
  EXPECT_EQ(pieces[0].latency_seconds, 1.9e-6);
  EXPECT_GT(pieces[0].bytes_per_second, 1e12);
  EXPECT_FALSE(FitPieces({{8, 2e-6, {}, 9}, {16, 1.9e-6, {}, 9}}));
}

TEST(FitNetwork, IsValidatedOrHasAReason) {
  const auto good = FitNetwork(OnePair(PointsThrough(kTwoProtocols)));
  EXPECT_FALSE(good->validation.reason);
  EXPECT_NEAR(good->validation.doubling, 2, 0.02);
  auto bent = PointsThrough(kTwoProtocols);
  bent.back().seconds *= 1.08;
  bent[bent.size() - 2].seconds *= 0.95;
  EXPECT_THAT(FitNetwork(OnePair(bent))->validation.reason->text,
              HasSubstr("twice the bytes take 2.2"));
  auto restless = PointsThrough(kTwoProtocols);
  restless.back().ci95 = {0.9 * restless.back().seconds, 1.1 * restless.back().seconds};
  EXPECT_THAT(FitNetwork(OnePair(restless))->validation.reason->text, HasSubstr("differ by 10 %"));
  auto quick = OnePair(PointsThrough(kTwoProtocols));
  quick.allreduce = {{2, {{4 << 20, 1e-3, {}, 9}}}};  // 2.1 ms at 2 GB/s
  EXPECT_THAT(FitNetwork(quick)->validation.reason->text,
              HasSubstr("an allreduce takes 0.48 times what the bandwidth allows"));
}

TEST(ParseMeasuredNetwork, ReadsWhatIsWrittenAndScaleReadsItsFit) {
  auto measured = OnePair(PointsThrough(kTwoProtocols));
  measured.pairs[0].points[0].ci95.reset();
  measured.allreduce = {{2, {{8, 1e-5, std::pair(9e-6, 2e-5), 9}}}};
  const auto text = ToJson(measured).dump();
  const auto back = ParseMeasuredNetwork(text, "n.json");
  EXPECT_EQ(ToJson(back).dump(), text);
  const auto network = ParseNetwork(text, "n.json");
  ASSERT_EQ(network.pieces.size(), 2);
  EXPECT_NEAR(Bandwidth(network), 2e9, 1e4);
  EXPECT_FALSE(network.reason);
}

TEST(ParseNetwork, ReadsTheReasonOfANetworkThatIsNotValidated) {
  auto restless = PointsThrough(kTwoProtocols);
  restless.back().ci95 = {0.9 * restless.back().seconds, 1.1 * restless.back().seconds};
  EXPECT_THAT(ParseNetwork(ToJson(OnePair(restless)).dump(), "n.json").reason->text,
              HasSubstr("repetitions of the largest message differ by 10 %"));
}

TEST(ParseMeasuredNetwork, RefusesInOneSentence) {
  const auto refused = [](const std::string& text) {
    return fakes::RefusalOf([&] { ParseMeasuredNetwork(text, "n.json"); });
  };
  EXPECT_THAT(refused("{}"), HasSubstr("n.json: has no 'dlroof_net'"));
  EXPECT_THAT(refused(R"({"dlroof_net": 2})"), HasSubstr("written by a newer dlroof_net"));
  auto json = ToJson(OnePair(PointsThrough(kTwoProtocols)));
  json["pairs"][0]["to"] = 7;
  EXPECT_THAT(refused(json.dump()), HasSubstr("an index into the ranks"));
}

TEST(SlowLinks, NeedThreeRanks) {
  EXPECT_TRUE(SlowLinks(OnePair(PointsThrough(kTwoProtocols))).empty());
  EXPECT_THAT(NetworkNotes(OnePair(PointsThrough(kTwoProtocols))),
              Contains(HasSubstr("with fewer than 3 nodes nobody can say")));
}

}  // namespace
namespace {

using testing::HasSubstr;

std::string RefusedNetwork(const std::string& text) {
  return fakes::RefusalOf([&] { ParseNetwork(text, "n.json"); });
}

TEST(ParseNetwork, OnePieceOrSeveral) {
  const auto plain =
      ParseNetwork(R"({"name": "1 GbE", "latency_seconds": 3e-5, "bytes_per_second": 118e6})", "n");
  EXPECT_EQ(plain.name, "1 GbE");
  EXPECT_DOUBLE_EQ(MessageSeconds(plain, 118e6), 1.00003);
  const auto pieces = ParseNetwork(
      R"({"pieces": [{"up_to_bytes": 100, "latency_seconds": 1, "bytes_per_second": 10},
                     {"latency_seconds": 5, "bytes_per_second": 100}], "allreduce_over_model": 2})",
      "n");
  EXPECT_EQ(MessageSeconds(pieces, 100), 11);
  EXPECT_EQ(MessageSeconds(pieces, 200), 7);
  EXPECT_EQ(Bandwidth(pieces), 100);
  EXPECT_EQ(pieces.allreduce_over_model, 2);
}

TEST(ParseNetwork, AFileOfMeasurementsHasItAsAMember) {
  const auto network = ParseNetwork(
      R"({"dlroof_net": 1, "pairs": [], "network": {"latency_seconds": 1, "bytes_per_second": 2}})",
      "n");
  EXPECT_EQ(Bandwidth(network), 2);
  EXPECT_THAT(RefusedNetwork(R"({"dlroof_net": 1, "pairs": []})"),
              HasSubstr("has no 'network': dlroof_net could not fit its times"));
}

TEST(ParseNetwork, RefusesInOneSentenceWithThePlace) {
  EXPECT_THAT(RefusedNetwork("[]"), HasSubstr("n.json:1: expected an object"));
  EXPECT_THAT(RefusedNetwork("{\"latency_seconds\": 1,\n \"bandwidth\": 1}"),
              HasSubstr("n.json:2:2: unknown key 'bandwidth', expected name, latency_seconds"));
  EXPECT_THAT(RefusedNetwork(R"({"latency_seconds": 1})"),
              HasSubstr("expected 'bytes_per_second'"));
  EXPECT_THAT(RefusedNetwork(R"({"latency_seconds": 0, "bytes_per_second": 1})"),
              HasSubstr("n.json:1:2: 'latency_seconds': expected a number above 0"));
  EXPECT_THAT(RefusedNetwork(R"({"pieces": []})"), HasSubstr("at least one object"));
  EXPECT_THAT(RefusedNetwork(R"({"pieces": [{"latency_seconds": 1, "bytes_per_second": 1}],
                                 "latency_seconds": 1})"),
              HasSubstr("'latency_seconds' belongs to each of 'pieces'"));
  EXPECT_THAT(
      RefusedNetwork(
          R"({"pieces": [{"up_to_bytes": 9, "latency_seconds": 1, "bytes_per_second": 1}]})"),
      HasSubstr("not allowed in the last piece"));
  EXPECT_THAT(RefusedNetwork(
                  R"({"pieces": [{"up_to_bytes": 9, "latency_seconds": 1, "bytes_per_second": 1},
                                 {"up_to_bytes": 9, "latency_seconds": 1, "bytes_per_second": 1},
                                 {"latency_seconds": 1, "bytes_per_second": 1}]})"),
              HasSubstr("n.json:2:35: 'up_to_bytes': expected more than the piece before, 9"));
}

}  // namespace
}  // namespace dlroof::cluster
