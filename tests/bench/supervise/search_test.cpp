#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "bench/supervise/supervise.h"

namespace dlroof::supervise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(ParseBisectAll, TakesTheFirstWordOfEachLine) {
  EXPECT_THAT(ParseBisectAll("c3 (dist=2)\nc2 (tag: v1, dist=1)\n\nc5 (HEAD -> main, dist=0)\n"),
              ElementsAre("c3", "c2", "c5"));
  EXPECT_THAT(ParseBisectAll(""), IsEmpty());
}

// A line of commits c0 (good), c1, ... c<last> (bad).
Search SearchOfLine(int last) {
  return Search("c0", "c" + std::to_string(last),
                [](const std::string& bad, const std::vector<std::string>& goods) {
                  int from = 0;
                  for (const auto& good : goods) from = std::max(from, std::stoi(good.substr(1)));
                  const int to = std::stoi(bad.substr(1));
                  std::vector<std::pair<int, std::string>> by_distance;
                  for (int i = from + 1; i <= to; ++i)
                    by_distance.emplace_back(std::abs(2 * i - from - to), "c" + std::to_string(i));
                  std::sort(by_distance.begin(), by_distance.end());
                  std::vector<std::string> commits;
                  for (auto& [distance, commit] : by_distance) commits.push_back(commit);
                  return commits;
                });
}

TEST(Search, FindsEachCommitOfALineInLogarithmicSteps) {
  for (int slow = 1; slow <= 20; ++slow) {
    auto search = SearchOfLine(20);
    int steps = 0;
    while (const auto commit = search.Next()) {
      ++steps;
      search.Tell(*commit,
                  std::stoi(commit->substr(1)) >= slow ? Finding::kLikeBad : Finding::kLikeGood);
    }
    EXPECT_THAT(search.Suspects(), ElementsAre("c" + std::to_string(slow)));
    EXPECT_LE(steps, 5);
  }
}

TEST(Search, SkippedCommitsBesideTheSlowOneRemainSuspects) {
  auto search = SearchOfLine(20);
  while (const auto commit = search.Next()) {
    const int number = std::stoi(commit->substr(1));
    search.Tell(*commit, number == 10 || number == 11 ? Finding::kSkipped
                         : number >= 12               ? Finding::kLikeBad
                                                      : Finding::kLikeGood);
  }
  EXPECT_THAT(search.Suspects(), UnorderedElementsAre("c10", "c11", "c12"));
}

TEST(Search, ParentAndChildNeedNoStep) {
  const auto search = SearchOfLine(1);
  EXPECT_FALSE(search.Next());
  EXPECT_THAT(search.Suspects(), ElementsAre("c1"));
}

}  // namespace
}  // namespace dlroof::supervise
