#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/roofline/op_words.h"

namespace dlroof {
namespace {

using testing::Contains;
using testing::ElementsAre;

constexpr const char* kConv = "n16c64h56w56k64r3s3_s2p0:1x0:1";

TEST(ProblemParts, AreKeysWithTheirValuesAndPlaces) {
  const auto parts = ProblemParts(kConv);
  ASSERT_EQ(parts.size(), 9u);
  EXPECT_EQ(parts[0].key, "n");
  EXPECT_EQ(parts[0].value, "16");
  EXPECT_EQ(parts[7].key, "_s");
  EXPECT_EQ(parts[8].key, "_p");
  EXPECT_EQ(parts[8].value, "0:1x0:1");
  EXPECT_EQ(std::string(kConv).substr(parts[2].value_begin, parts[2].end - parts[2].value_begin),
            "56");
}

TEST(WithValue, ReplacesTheValue) {
  EXPECT_THAT(WithValue(kConv, {"batch", "n"}, "4"), ElementsAre("n4c64h56w56k64r3s3_s2p0:1x0:1"));
  EXPECT_THAT(WithValue(kConv, {"stride", "_s", "_p"}, "4"),
              ElementsAre("n16c64h56w56k64r3s3_s4p0:1x0:1"));
}

TEST(WithValue, KeepsASquareSquareAndItsPadding) {
  EXPECT_THAT(WithValue("n1c3h3w3k3r3s3_p3", {"image", "h", "w _p"}, "9"),
              ElementsAre("n1c3h9w9k3r3s3_p3"));
  EXPECT_THAT(WithValue("n1c3h3w7k3r3s3", {"image", "h", "w _p"}, "9"),
              ElementsAre("n1c3h9w7k3r3s3"))
      << "it was no square";
}

TEST(WithValue, OffersTheTextsOfAKeyThatMayBeLeftOut) {
  EXPECT_THAT(WithValue("t1n1i8h8l2", {"layers", "l"}, "1"), ElementsAre("t1n1i8h8l1", "t1n1i8h8"));
  EXPECT_THAT(WithValue("r3s3_s2", {"stride", "_s", "_p"}, "1"), Contains("r3s3"));
  EXPECT_THAT(WithValue("t1n1i8h8bi", {"layers", "l"}, "2"), Contains("t1n1i8h8l2bi"));
  EXPECT_THAT(WithValue("r3s3", {"stride", "_s", "_p"}, "2"), ElementsAre("r3s3_s2"));
  EXPECT_THAT(WithValue("r3s3_p1", {"stride", "_s", "_p"}, "2"), Contains("r3s3_s2p1"));
  EXPECT_THAT(WithValue("r3s3", {"stride", "_s", "_p"}, "1"), ElementsAre("r3s3"));
}

}  // namespace
}  // namespace dlroof
