#include <gmock/gmock.h>

#include <sstream>

#include "baselines/compare/compare.h"
#include "baselines/compare/write_comparison.h"
#include "baselines/statistics/levels.h"
#include "tests/fakes/small_run.h"

namespace dlroof::compare {
namespace {

using fakes::Measured, fakes::Name, fakes::RunOf;
using statistics::Verdict;
using testing::HasSubstr, testing::Not;

// Returns a record of `processes` processes with eight repetitions each: of every four the first
// two take `seconds` within 0.5 %, the others 30 and 60 % more.
record::Record InProcesses(const std::string& problem, double seconds, int processes = 5) {
  auto record = Measured(problem, seconds);
  record.repetitions.clear();
  for (int process = 0; process < processes; ++process)
    for (int i = 0; i < 8; ++i) {
      const double factor = i % 4 == 3 ? 1.6 : i % 4 == 2 ? 1.3 : 1;
      record.repetitions.push_back(
          {.seconds = seconds * factor * (1 + 0.0005 * (i % 4) + 0.001 * (3 * process % 5)),
           .iterations = 1,
           .noisy = factor > 1});
      record.repetitions.back().block = process;
    }
  return record;
}

// `machine`: factor of all times.
std::vector<record::Record> Suite(double factor_of_third, double machine = 1) {
  std::vector<record::Record> records;
  for (int i = 0; i < 12; ++i)
    records.push_back(
        InProcesses("n" + std::to_string(i), machine * (i + 1) * (i == 3 ? factor_of_third : 1)));
  return records;
}

TEST(ProcessTimes, AreThoseOfEachOfThreeProcessesOrMoreOfACpu) {
  const auto times = statistics::TimesByProcess(InProcesses("n1", 2));
  ASSERT_TRUE(times);
  EXPECT_EQ(times->size(), 5);
  for (const auto& process : *times) EXPECT_EQ(process.size(), 8);
  EXPECT_NEAR(statistics::LevelOfProcesses(*times).seconds(), 2, 0.01);
  EXPECT_FALSE(statistics::TimesByProcess(InProcesses("n1", 2, 2)));
  EXPECT_TRUE(statistics::TimesByProcess(InProcesses("n1", 2, 3)));
  auto gpu = InProcesses("n1", 2);
  gpu.device = "gpu";
  EXPECT_FALSE(statistics::TimesByProcess(gpu));
  EXPECT_FALSE(statistics::TimesByProcess(Measured("n1", 2)));
  auto zero = InProcesses("n1", 2);
  zero.repetitions[4].seconds = 0;
  EXPECT_FALSE(statistics::TimesByProcess(zero));
}

TEST(ProcessTimes, NeedCoresOfTheirOwnWhereTheyAreFast) {
  auto record = InProcesses("n1", 2);
  for (auto& repetition : record.repetitions) {
    repetition.noisy = true;
    repetition.run_delay_seconds = 1;
  }
  EXPECT_TRUE(statistics::TimesByProcess(record));  // what waited for a CPU is not fast
  const auto shared = [&](double least, std::optional<double> core, std::optional<double> link) {
    auto marked = record;
    for (auto& repetition : marked.repetitions) {
      if (repetition.seconds < least) continue;
      repetition.core_share = core;
      repetition.link_share = link;
    }
    return statistics::TimesByProcess(marked).has_value();
  };
  EXPECT_FALSE(shared(0, 0.6, {}));
  EXPECT_FALSE(shared(0, {}, 0.1));
  EXPECT_TRUE(shared(0, 0.99, 0.99));
  EXPECT_TRUE(shared(2.1, 0.6, {}));  // only the slow ones
}

TEST(ProcessTimes, AComparisonJudgesTheFastestPartAndSaysSo) {
  const auto base = RunOf("b", Suite(1)), contender = RunOf("n", Suite(1.05));
  const auto result = Compare(base, contender, {});
  for (const auto& row : result.rows) {
    EXPECT_EQ(row.fastest_share, 0.25);
    EXPECT_EQ(row.verdict, row.name() == Name("n3") ? Verdict::kSlower : Verdict::kSame);
  }
  EXPECT_NEAR(*result.rows[3].before.seconds, 4, 0.02);  // not the median of all, 4.6
  EXPECT_NEAR(*result.rows[3].after.seconds, 4.2, 0.02);
  // 1 s of roof: by the same time.
  EXPECT_NEAR(*result.rows[3].before.fraction, 1 / *result.rows[3].before.seconds, 1e-9);
  std::ostringstream table;
  compare::WriteTable(result, {"b", "n"}, 200, table);
  EXPECT_THAT(table.str(),
              HasSubstr("judged 12 by the mean of the fastest 25 % of the repetitions"));
  EXPECT_THAT(table.str(), Not(HasSubstr("measure what moved")));
  std::ostringstream json;
  compare::WriteJson(result, {"b", "n"}, json);
  EXPECT_THAT(json.str(), HasSubstr("fastest_share"));
}

TEST(ProcessTimes, BesideARunOfOneProcessTheCleanTimesAreJudged) {
  std::vector<record::Record> single;
  for (int i = 0; i < 12; ++i) single.push_back(Measured("n" + std::to_string(i), i + 1));
  const auto result = Compare(RunOf("b", single), RunOf("n", Suite(1)), {});
  for (const auto& row : result.rows) EXPECT_FALSE(row.fastest_share);
}

TEST(ProcessTimes, StoredRunsOfProcessesTellTheNoiseAndARetractedVerdict) {
  const std::vector<NamedRun> stored = {RunOf("older", Suite(1.05, 1.01)),
                                        RunOf("newer", Suite(1))};
  const auto result = CompareWithStored(stored, RunOf("n", Suite(1.05)), {});
  // As slow as in the run before the newest.
  EXPECT_EQ(result.rows[3].verdict, Verdict::kAmbiguous);
  EXPECT_EQ(result.rows[4].verdict, Verdict::kSame);
  EXPECT_EQ(result.rows[4].judgement->earlier_runs, 1);
}

}  // namespace
}  // namespace dlroof::compare
