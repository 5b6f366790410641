#include "counters/base/nearest_name.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

TEST(EditDistance, CountsEachEditOnce) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("run", "run"), 0);
  EXPECT_EQ(EditDistance("", "run"), 3);
  EXPECT_EQ(EditDistance("run", ""), 3);
  EXPECT_EQ(EditDistance("rn", "run"), 1);          // insert u
  EXPECT_EQ(EditDistance("ruun", "run"), 1);        // delete u
  EXPECT_EQ(EditDistance("ran", "run"), 1);         // replace a
  EXPECT_EQ(EditDistance("reprot", "report"), 1);   // swap r and o
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);  // k -> s, e -> i, insert g
}

TEST(NearestName, IsTheFirstOfTheMostSimilarNames) {
  EXPECT_EQ(NearestName("reprot", {"compare", "report", "run"}), "report");
  EXPECT_EQ(NearestName("tine", {"time", "tune"}), "time");
  EXPECT_EQ(NearestName("run", {"runs", "run"}), "run");
}

TEST(NearestName, IsAbsentIfNoNameIsSimilar) {
  EXPECT_EQ(NearestName("xyzzy", {"report", "run"}), std::nullopt);  // both differ in all letters
  EXPECT_EQ(NearestName("run", {}), std::nullopt);
  // One edit of three letters is allowed, two are not.
  EXPECT_EQ(NearestName("ran", {"run"}), "run");
  EXPECT_EQ(NearestName("rat", {"run"}), std::nullopt);
}

TEST(UnknownName, NamesTheNearestOneIfThereIsOne) {
  EXPECT_EQ(UnknownName("command", "reprot", "report", "dlroof"),
            "unknown command 'reprot'; did you mean 'report'? dlroof --help lists all");
  EXPECT_EQ(UnknownName("command", "xyzzy", std::nullopt, "dlroof"),
            "unknown command 'xyzzy'; dlroof --help lists all");
}

}  // namespace
}  // namespace dlroof
