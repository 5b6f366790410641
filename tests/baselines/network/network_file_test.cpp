#include "baselines/network/network_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::cluster {
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
      HasSubstr("the last piece has none"));
  EXPECT_THAT(RefusedNetwork(
                  R"({"pieces": [{"up_to_bytes": 9, "latency_seconds": 1, "bytes_per_second": 1},
                                 {"up_to_bytes": 9, "latency_seconds": 1, "bytes_per_second": 1},
                                 {"latency_seconds": 1, "bytes_per_second": 1}]})"),
              HasSubstr("n.json:2:35: 'up_to_bytes': expected more than the piece before, 9"));
}

}  // namespace
}  // namespace dlroof::cluster
