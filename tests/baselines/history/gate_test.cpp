#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "baselines/history/history.h"

namespace dlroof::history {
namespace {

using statistics::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A result with rows of these verdicts and ratios.
struct Result {
  std::deque<record::Record> records;
  compare::CompareResult result;

  void Add(const std::string& name, Verdict verdict, double ratio, double high) {
    const auto& record = records.emplace_back(record::Record{.name = name});
    compare::Comparison row{.base = &record, .contender = &record, .verdict = verdict};
    if (verdict != Verdict::kInsufficient)
      row.judgement = statistics::Judgement{
          .verdict = verdict, .ratio = ratio, .ci95 = {ratio - (high - ratio), high}};
    row.before.seconds = 1e-3;
    row.after.seconds = ratio * 1e-3;
    result.rows.push_back(row);
    result.min_effect = 0.05;
    CountVerdicts(result);
  }
};

TEST(UnclearNames, AreThoseThatMayBeSlowerTheMostSuspiciousFirst) {
  Result result;
  result.Add("same", Verdict::kSame, 1.0, 1.01);
  result.Add("maybe", Verdict::kAmbiguous, 1.04, 1.08);
  result.Add("rather faster", Verdict::kAmbiguous, 0.96, 1.02);
  result.Add("noisy", Verdict::kInsufficient, 1, 1);
  result.Add("slower", Verdict::kSlower, 1.1, 1.12);
  result.Add("more", Verdict::kAmbiguous, 1.2, 1.5);
  EXPECT_THAT(UnclearNames(result.result, {}), ElementsAre("slower", "more", "maybe", "noisy"));
  EXPECT_THAT(UnclearNames(result.result, {"slower", "more"}), ElementsAre("maybe", "noisy"));
}

TEST(ReplaceRows, TakesTheLaterVerdictAndCountsAnew) {
  Result result, later;
  result.Add("a", Verdict::kSlower, 1.1, 1.12);
  result.Add("b", Verdict::kAmbiguous, 1.1, 1.2);
  EXPECT_EQ(result.result.exit_code, 1);
  later.Add("a", Verdict::kSame, 1.0, 1.01);
  EXPECT_THAT(ReplaceRows(later.result, result.result), ElementsAre("a"));
  EXPECT_EQ(result.result.rows[0].verdict, Verdict::kSame);
  EXPECT_EQ(result.result.rows[1].verdict, Verdict::kAmbiguous);
  EXPECT_EQ(result.result.exit_code, 0);
}

int LinesIn(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

TEST(CommentOf, HasAtMostTenLinesAndTheWorstFirst) {
  Result result;
  for (int i = 0; i < 40; ++i)
    result.Add(fmt::format("n\n{}", i), Verdict::kSlower, 1.1 + 0.01 * i, 1.2 + 0.01 * i);
  const Report report{.result = &result.result,
                      .commit = "0123456789abcdef",
                      .branch = "main",
                      .newest_commit = "fedcba9876543210",
                      .runs = 7,
                      .again = 3,
                      .interleaved_with = "fedcba9876543210",
                      .unclear = 2};
  const auto comment = CommentOf(report);
  EXPECT_EQ(LinesIn(comment), kMaxCommentLines);
  EXPECT_THAT(comment, HasSubstr("### dlroof: 40 slower (2 could still be slower)"));
  EXPECT_LT(comment.find("n 39"), comment.find("n 38"));
  EXPECT_THAT(comment, HasSubstr("and 35 more"));
  EXPECT_THAT(comment, HasSubstr("3 measured again, interleaved with the program of fedcba987654"));
  EXPECT_THAT(comment, HasSubstr("dlroof bisect fedcba987654 0123456789ab -- "));
}

TEST(CommentOf, SaysNoCommandWithoutCommits) {
  Result result;
  result.Add("a", Verdict::kSlower, 1.1, 1.12);
  EXPECT_THAT(CommentOf({.result = &result.result, .branch = "main", .runs = 1}),
              Not(HasSubstr("bisect")));
}

// https://github.com/actions/toolkit: "%", line breaks, and in properties ":" and "," are escaped.
TEST(AnnotationsOf, EscapesWhatGithubReads) {
  Result result;
  result.Add("a,b::c\nd", Verdict::kSlower, 1.1, 1.12);
  const auto lines = AnnotationsOf({.result = &result.result, .branch = "main", .runs = 1});
  EXPECT_THAT(lines, HasSubstr("::error title=dlroof%3A a%2Cb%3A%3Ac%0Ad::a,b::c%0Ad: +10.0 %25"));
  EXPECT_EQ(LinesIn(lines), 1);
}

TEST(AnnotationsOf, HasTenErrorsAndAWarningAboutTheUnclear) {
  Result result;
  for (int i = 0; i < 12; ++i) result.Add(fmt::format("n{}", i), Verdict::kSlower, 1.1, 1.2);
  const auto lines =
      AnnotationsOf({.result = &result.result, .branch = "main", .runs = 1, .unclear = 4});
  EXPECT_EQ(LinesIn(lines), 11);
  EXPECT_THAT(lines, HasSubstr("::warning title=dlroof::4 benchmarks could be slower"));
}

}  // namespace
}  // namespace dlroof::history
