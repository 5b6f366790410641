#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baselines/cluster/node_effects.h"
#include "counters/base/error.h"
#include "tests/baselines/cluster/fake_nodes.h"

namespace dlroof::cluster {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// The fakes have a DRAM roof of 10 B/s times the node's speed; n1 takes the node's seconds.
TEST(Requirements, NodesThatMissALimitAreNamed) {
  const auto cluster = Gathered({{"n1", 2, 1}, {"n2", 3, 1}, {"n3", 2, 0.5}});
  const auto limits = ParseRequirements(
      fmt::format(R"({{"roofs": {{"cpu.dram": 9}}, "times": {{"{}": 2.5}}}})", fakes::Name("n1")),
      "r.json");
  const auto unmet = UnmetOf(cluster, limits);
  ASSERT_THAT(unmet, SizeIs(2));
  EXPECT_EQ(unmet[0].node, 1);
  EXPECT_EQ(unmet[0].value, 3);
  EXPECT_EQ(unmet[1].what, "cpu.dram");
  EXPECT_EQ(TextOf(unmet[1], cluster), "n3: cpu.dram is 5.00 B/s, at least 9.00 B/s required");
  const auto absent = UnmetOf(cluster, ParseRequirements(R"({"times": {"gone": 1}})", "r.json"));
  ASSERT_THAT(absent, SizeIs(3));
  EXPECT_THAT(TextOf(absent[0], cluster), HasSubstr("gone was not measured"));
}

TEST(Requirements, OtherFilesAreRefused) {
  for (const char* text : {"[]", "{}", R"({"roofs": {}})", R"({"roof": {"cpu.dram": 1}})",
                           R"({"roofs": {"cpu.dram": -1}})", R"({"roofs": 3})"})
    EXPECT_THROW(ParseRequirements(text, "r.json"), BadInput) << text;
}

}  // namespace
}  // namespace dlroof::cluster
